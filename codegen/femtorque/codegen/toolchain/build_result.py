"""Files of an image in its folder. build.json contains its identity and sizes."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDERS = ("application", "chip", "emitted")  # of sources, below src/
PRODUCTS = ("firmware.elf", "firmware.bin", "build.json")


@dataclass(frozen=True)
class BuildResult:
    """The content of build.json, and the path of the image. Sizes are in bytes."""

    name: str
    board: str
    digest: str  # 64 hexadecimal digits
    compiler: str
    flash_bytes: int
    ram_bytes: int
    stack_bytes: int
    stack_reserved: int
    stack_path: tuple[str, ...]
    elf: Path
    image: Path


def record(out: Path, result: BuildResult) -> None:
    """Write build.json. The file contains no path and no date, so equal inputs give bit-identical files."""
    fields = {k: v for k, v in asdict(result).items() if k not in ("elf", "image")}
    text = json.dumps(fields | _hashes(out), indent=2)
    place(out / "build.json", (text + "\n").encode())


def place(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it. If the process is interrupted, the old file remains."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
    except OSError as error:  # Python's error for a full disk names no file
        error.filename = str(path)
        raise
    part.replace(path)


def existing(out: Path, digest: str) -> BuildResult | None:
    """Return the image of an earlier build, if it is complete and has this configuration."""
    try:
        fields = json.loads((out / "build.json").read_text(encoding="utf-8"))
        if fields["digest"] != digest or any(fields.pop(name) != value for name, value in _hashes(out).items()):
            return None
        fields["stack_path"] = tuple(fields["stack_path"])
        return BuildResult(**fields, elf=out / "firmware.elf", image=out / "firmware.bin")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _hashes(out: Path) -> dict[str, str]:
    return {f"{kind}_sha256": hashlib.sha256((out / f"firmware.{kind}").read_bytes()).hexdigest()
            for kind in ("elf", "bin")}
