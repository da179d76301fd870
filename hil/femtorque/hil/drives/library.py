"""Compiles the C of the drives and their families once."""

from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.hil.clock import model_library as chip
from femtorque.hil.drives import families


@cache
def library() -> tuple[cffi.FFI, Any]:
    """Return (ffi, lib)."""
    folders = [folder for place in families.__path__ for folder in sorted(Path(place).iterdir())]
    return chip.library(*sorted(Path(__file__).parent.glob("*.[ch]")),
                        *(path for folder in folders for path in sorted(folder.glob(f"{folder.name}.[ch]"))))
