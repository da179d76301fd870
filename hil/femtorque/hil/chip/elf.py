"""The linked image: the bytes for flash, and the addresses of the symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from femtorque.codegen.common.errors import BadInput

_ENTRY = struct.Struct("<IIIBBH")  # name, value, size, type and binding, visibility, section
_OBJECT, _FUNCTION = 1, 2


@dataclass(frozen=True)
class Symbol:
    """Address and size in bytes. The returned address of a function does not have the Thumb bit."""

    address: int
    size: int

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True)
class Image:
    """flash: bytes from address `start`; gaps are 0xFF as in erased flash. symbols: functions and objects by name."""

    start: int
    flash: bytes
    symbols: dict[str, Symbol]

    @staticmethod
    def load(path: str | Path, start: int, size: int) -> Image:
        """Return the contents of an ELF file that are placed in flash, at [start, start + size)."""
        try:
            with open(path, "rb") as stream:
                elf = ELFFile(stream)
                flash = bytearray(b"\xff" * size)
                end = 0
                for segment in elf.iter_segments():
                    at = segment["p_paddr"] - start
                    if segment["p_type"] == "PT_LOAD" and segment["p_filesz"] and 0 <= at < size:
                        data = segment.data()
                        flash[at:at + len(data)] = data
                        end = max(end, at + len(data))
                return Image(start, bytes(flash[:end]), _symbols(elf))
        except OSError as error:
            raise BadInput(path, "image", None, f"cannot be read ({error.strerror})", "run femtorque build") from error

    def symbol(self, name: str) -> Symbol:
        if name not in self.symbols:
            raise BadInput("image", "symbol", name, "is not in the image")
        return self.symbols[name]


def _symbols(elf: ELFFile) -> dict[str, Symbol]:
    """Return the symbols of an ELF32 file (System V ABI). pyelftools is slow for a thousand symbols."""
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return {}
    names, found = elf.get_section(table["sh_link"]).data(), {}
    for name, value, size, info, _, _ in _ENTRY.iter_unpack(table.data()):
        if info & 0xF in (_OBJECT, _FUNCTION) and size:
            key = names[name:names.index(b"\0", name)].decode()
            found[key] = Symbol(value & ~1 if info & 0xF == _FUNCTION else value, size)
    return found
