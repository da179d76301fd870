"""Calls that pass C functions and memory to Unicorn. Unicorn's Python binding does not offer these calls."""

import ctypes
from typing import Any

import cffi
from unicorn import Uc, UcError, arm_const as arm, unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from femtorque.hil.clock import library

_FFI = cffi.FFI()
_FFI.cdef("""
int uc_mmio_map(void *engine, uint64_t start, uint64_t size, void *read, void *user, void *write, void *user2);
int uc_mem_map_ptr(void *engine, uint64_t start, uint64_t size, uint32_t rights, void *memory);
""")
_LIB = _FFI.dlopen(uclib._name)


def _engine(uc: Uc) -> Any:
    assert uc._uch is not None
    return _FFI.cast("void *", uc._uch.value)


def _check(status: int) -> None:
    if status:
        raise UcError(status)


def hook(uc: Uc, kind: int, function: Any, user: Any, start: int = 1, end: int = 0) -> None:
    """Have Unicorn call a C function with a C pointer at addresses [start, end], by default at all."""
    pointers = (int(_FFI.cast("uintptr_t", pointer)) for pointer in (function, user))
    status = uclib.uc_hook_add(uc._uch, ctypes.byref(ctypes.c_size_t()), kind, *map(ctypes.c_void_p, pointers),
                               ctypes.c_uint64(start), ctypes.c_uint64(end))
    _check(status)


def grant_pages(uc: Uc, by_hook: bool) -> None:
    """Let a hook decide the access rights of memory pages, or restore Unicorn's rules."""
    uc.ctl(const.UC_CTL_TLB_TYPE, const.UC_CTL_IO_WRITE,
           ctypes.c_uint(const.UC_TLB_VIRTUAL if by_hook else const.UC_TLB_CPU))
    uc.ctl(const.UC_CTL_TLB_FLUSH, const.UC_CTL_IO_WRITE)


def map_peripherals(uc: Uc, start: int, size: int, read: Any, write: Any, user: Any) -> None:
    """Route accesses to addresses [start, start + size) to two C functions, each with a C pointer."""
    pointers = [_FFI.cast("void *", int(_FFI.cast("uintptr_t", pointer))) for pointer in (read, user, write, user)]
    _check(_LIB.uc_mmio_map(_engine(uc), start, size, *pointers))


def map_memory(uc: Uc, start: int, memory: Any, rights: int) -> Any:
    """Map a buffer of whole pages. The caller keeps the result as long as `uc` exists."""
    held = _FFI.from_buffer(memory, require_writable=True)
    _check(_LIB.uc_mem_map_ptr(_engine(uc), start, len(memory), rights, held))
    return held


def unicorn_calls(uc: Uc) -> dict[str, Any]:
    """Return the fields of C's struct `unicorn` for one instance."""
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
