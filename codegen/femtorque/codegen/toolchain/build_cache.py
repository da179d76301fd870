"""Cache of earlier results of `build`. With equal input, it saves emission, compilation and measurement. The key of a
result covers the mechanism and every program file that may affect the result. An image in its folder counts only if all
sources of its build are unchanged there."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from femtorque.codegen.common import FIRMWARE, entry_of, house, kept, key_of, sources
from femtorque.codegen.emit import compiler_identity
from femtorque.codegen.mechanism import Mechanism, canonical
from femtorque.codegen.toolchain.build_result import FOLDERS, BuildResult, existing

ROOMS = (house("codegen"), FIRMWARE, house("hil"), house("host"))
PACKAGES = ("numpy", "scipy", "jinja2", "unicorn", "capstone", "platformio", "scons")
LATER = ".platformio/appstate.json"  # PlatformIO modifies this file


@dataclass(frozen=True)
class Known:
    """Results of one input."""

    key: str

    @staticmethod
    def of(mechanism: Mechanism, feedforward: bool, pil: bool) -> Known:
        variables = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("PLATFORMIO_"))
        return Known(key_of(canonical(mechanism), str(feedforward), str(pil), sys.version, compiler_identity(),
                            *map(_version, PACKAGES), *variables,
                            *(part for room in ROOMS for part in sources(room))))

    def image(self, out: Path) -> BuildResult | None:
        """Return the image in a folder, if a build wrote the image and all sources there."""
        found = self._read("image")
        out = out.resolve()
        if found is None or any(_hash(out / name) != value for name, value in found["files"].items()):
            return None
        here = (path for folder in FOLDERS for path in (out / "src" / folder).rglob("*") if path.is_file())
        if any(path.relative_to(out).as_posix() not in found["files"] for path in here):
            return None
        return existing(out, found["digest"])

    def keep_image(self, digest: str, files: dict[str, bytes]) -> None:
        """Store the image's digest, and hashes of the project's files by path."""
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != LATER}
        self._write("image", {"digest": digest, "files": hashes})

    def cost(self) -> dict[str, Any] | None:
        """Return the measured cost of the image on the virtual board."""
        return self._read("cost")

    def keep_cost(self, cost: dict[str, Any]) -> None:
        self._write("cost", cost)

    def _read(self, what: str) -> dict[str, Any] | None:
        try:
            found = json.loads((entry_of(key_of(what, self.key)) / what).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _write(self, what: str, value: dict[str, Any]) -> None:
        text = json.dumps(value)

        def make(entry: Path) -> None:
            (entry / what).write_text(text, encoding="utf-8")

        kept(key_of(what, self.key), make, lambda entry: self._read(what) == json.loads(text))


def _hash(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # of an extra
        return ""
