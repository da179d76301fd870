"""The processor in C (core.c and the files that it includes), compiled once."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import cffi
from unicorn import Uc
from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from femtorque.codegen.toolchain import host_compiler

EXCEPTIONS = 144
PLACES = 1024  # for registers


@cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib)."""
    return host_compiler.build_by_headers(host_compiler.texts(Path(__file__).parent, "*.[ch]"))


def interface() -> dict[str, str]:
    """The C's headers, and the sources of a pin's level and of memory, for other C that is connected to the chip."""
    return host_compiler.texts(Path(__file__).parent, "*.h", "pins.c", "memory.c")


def unicorn_calls(uc: Uc) -> dict[str, Any]:
    """`unicorn` of the C for one instance."""
    ffi, _ = library()
    assert uc._uch is not None
    functions = {
        "start": (uclib.uc_emu_start, "int (*)(void *, uint64_t, uint64_t, uint64_t, size_t)"),
        "stop": (uclib.uc_emu_stop, "int (*)(void *)"),
        "read": (uclib.uc_reg_read_batch, "int (*)(void *, const int *, void **, int)"),
        "write": (uclib.uc_reg_write_batch, "int (*)(void *, const int *, void *const *, int)"),
    }
    calls = {name: ffi.cast(kind, ctypes.cast(function, ctypes.c_void_p).value)
             for name, (function, kind) in functions.items()}
    names = {name: getattr(arm, f"UC_ARM_REG_{name.upper()}")
             for name in ("pc", "sp", "xpsr", "control", "primask", "basepri", "faultmask", "fpscr")}
    frame = [*(arm.UC_ARM_REG_R0 + i for i in range(4)), arm.UC_ARM_REG_R12, arm.UC_ARM_REG_LR]
    return {"engine": ffi.cast("void *", uc._uch.value), **calls, **names, "frame": frame,
            "floats": [arm.UC_ARM_REG_D0 + i for i in range(8)]}
