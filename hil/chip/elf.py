"""An image as the linker made it: the bytes that are flashed, and where its symbols are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from codegen.common.errors import BadInput


@dataclass(frozen=True)
class Symbol:
    """address (of functions without the Thumb bit) and size, bytes."""

    address: int
    size: int

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True)
class Image:
    """flash: the bytes at `start`, gaps 0xFF as in erased flash. symbols: functions and objects by name."""

    start: int
    flash: bytes
    symbols: dict[str, Symbol]

    @staticmethod
    def load(path: str | Path, start: int, size: int) -> Image:
        """What of an ELF file goes to the flash memory [start, start + size)."""
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

    def function_at(self, address: int) -> str:
        """The function an address lies in."""
        for name, symbol in self.symbols.items():
            if symbol.address <= address < symbol.end:
                return name
        return "?"


def _symbols(elf: ELFFile) -> dict[str, Symbol]:
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return {}
    found = {}
    for symbol in table.iter_symbols():
        kind = symbol["st_info"]["type"]
        if kind in ("STT_FUNC", "STT_OBJECT") and symbol["st_size"]:
            found[symbol.name] = Symbol(symbol["st_value"] & ~1 if kind == "STT_FUNC" else symbol["st_value"],
                                        symbol["st_size"])
    return found
