"""All C of the processor, its parts, the buses around it and the drives on them, compiled once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.codegen.toolchain import host_compiler

_HIL = Path(__file__).parents[1]
EXCEPTIONS = 144
PLACES = 4096  # for registers


@cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib)."""
    rooms = [host_compiler.texts(_HIL / room, "*.[ch]") for room in ("chip", "bus", "drives")]
    families = [host_compiler.texts(folder, f"{folder.name}.[ch]")
                for folder in sorted((_HIL / "drives" / "families").iterdir())]
    return host_compiler.build_by_headers({name: text for room in rooms + families for name, text in room.items()})


def interface() -> dict[str, str]:
    """The C's headers, and the sources of time, a pin's level and memory, for other C that is connected to the chip."""
    return host_compiler.texts(_HIL / "chip", "*.h", "seconds.c", "pins.c", "memory.c") | host_compiler.texts(
        _HIL / "bus", "*.h")
