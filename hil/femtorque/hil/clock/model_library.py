"""Compiles the C of the processor, the peripherals and the buses, and libraries of further C that calls it."""

from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.codegen.toolchain import host_compiler

_HIL = Path(__file__).parents[1]
EXCEPTIONS = 144
PLACES = 4096  # for registers


@cache
def library(*more: Path) -> tuple[cffi.FFI, Any]:
    """Return (ffi, lib). more: C files of another package, compiled into a second library with the same types."""
    own = host_compiler.texts(_HIL / "chip", "*.[ch]") | host_compiler.texts(_HIL / "bus", "*.[ch]")
    if not more:
        return host_compiler.build_by_headers(own)
    return host_compiler.build_above(library()[0], own, {path.name: path.read_text(encoding="utf-8") for path in more})


def interface() -> dict[str, str]:
    """Return the headers and the C of time, pins and memory, for C that is connected to the chip."""
    return host_compiler.texts(_HIL / "chip", "*.h", "seconds.c", "pins.c", "memory.c") | host_compiler.texts(
        _HIL / "bus", "*.h")
