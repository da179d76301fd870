"""The identity of a configuration: the SHA-256 digest of all inputs that affect the chip's results. The inputs are the
canonical mechanism, all emitted sources, the hand-written firmware without unused drive families, the build flags, the
compiler, and the version in ABOUT. The emitted sources contain the data of board, gains, templates and message table.
The first two bytes of the digest are the tag that every frame carries."""

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from femtorque.codegen.board import Board, families
from femtorque.codegen.common import FIRMWARE, PREBUILT, template
from femtorque.codegen.drive import of_families
from femtorque.codegen.mechanism import Mechanism, canonical

SOURCE_SUFFIXES = {".c", ".h", ".s", ".S", ".ld", ".ini", ".py", ".json", ".j2"}
COMPILER = "arm-none-eabi-gcc"
IDENTITY = "compiler.txt"  # of prebuilt images


@dataclass(frozen=True)
class Context:
    """Context of ft_digest.h.j2."""

    digest: bytes
    name: str
    board: str
    pil: int
    version: str


@cache
def compiler_identity() -> str:
    """Return the first line that the ARM compiler prints for --version.

    Without a compiler on PATH, return the line of the compiler that built this installation's images. Without these
    images, name PlatformIO's compiler."""
    path = shutil.which(COMPILER)
    if path is None:
        brought = PREBUILT / IDENTITY
        return brought.read_text(encoding="utf-8") if brought.is_file() else "platformio/toolchain-gccarmnoneeabi"
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


@cache
def firmware_files() -> tuple[Path, ...]:
    """Return the paths of the hand-written sources of an image, sorted, without tests, proofs and build results."""
    skip = {"test", ".pio", "__pycache__", "images"}
    files = (p for p in FIRMWARE.rglob("*") if p.is_file() and p.suffix in SOURCE_SUFFIXES)
    return tuple(sorted(p for p in files if not skip.intersection(p.relative_to(FIRMWARE).parts)))


def digest(mechanism: Mechanism, emitted: dict[str, str], compiler: str | None = None) -> bytes:
    """Return the digest, 32 bytes. emitted: {file name: text} of every emitted source but the digest's header."""
    h = hashlib.sha256()

    def add(name: str, text: bytes) -> None:
        h.update(f"{name}\0{len(text)}\0".encode())
        h.update(text)

    add("version", version("femtorque").encode())
    add("mechanism", canonical(mechanism).encode())
    add("compiler", (compiler or compiler_identity()).encode())
    for name in sorted(emitted):
        add(f"emitted/{name}", emitted[name].encode())
    for path in firmware_files():
        add(path.relative_to(FIRMWARE).as_posix(), path.read_bytes())
    own = {family.c for family in families(mechanism)}
    for path in of_families():
        if path.parent.name in own:
            add(path.name, path.read_bytes())
    return h.digest()


def on_board(board: Board, pil: bool) -> str:
    """Return the board's name as the image reports it."""
    return board.name + ("-pil" if pil else "")


def render(mechanism: Mechanism, board: Board | None, value: bytes, pil: bool = False) -> dict[str, str]:
    """Return ft_digest.h: the digest, the tag of frames and the names that the message IDENT reports."""
    context = Context(
        digest=value, name=mechanism.name, board=on_board(board, pil) if board else "none", pil=int(pil),
        version=version("femtorque"),
    )
    return {"ft_digest.h": template("ft_digest.h", trim=False).render(vars(context))}
