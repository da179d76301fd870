"""The compiled C of the coupler (coupled.c)."""

from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.clock import interface
from femtorque.hil.plant import header


@cache
def library() -> tuple[cffi.FFI, Any]:
    """Return (ffi, lib)."""
    own = host_compiler.texts(Path(__file__).parent, "coupled.[ch]", "drv8301.[ch]", "bus_steps.[ch]", "ticks.[ch]")
    return host_compiler.build_by_headers(header() | interface() | own)
