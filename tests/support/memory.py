"""Variables of an image by the names that its source has for them, through the debug information: read, and
overwritten."""

from __future__ import annotations

import math
import re
import struct
from functools import cache
from pathlib import Path
from typing import Any

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from femtorque.hil.chip.cpu import CortexM4

ADDRESS = 0x03  # DW_OP_addr
FLOAT, SIGNED, SIGNED_CHAR = 4, 5, 6  # DW_ATE_


class Memory:
    """The variables of one ELF file. A name is that of a variable, members and elements behind it:
    `ft.control.law.gains[1].ku`."""

    def __init__(self, elf: Path) -> None:
        self._file = elf.open("rb")
        self._dwarf = ELFFile(self._file).get_dwarf_info()

    @cache  # noqa: B019
    def place(self, name: str) -> tuple[int, str]:
        """Address and struct format of what is named."""
        first, *parts = re.findall(r"\w+", name)
        address, kind = self._variable(first)
        while parts:
            if kind.tag == "DW_TAG_array_type":
                counts, index = self._counts(kind), 0
                for count in counts:
                    index = index * count + int(parts.pop(0))
                kind = self._type(kind)
                address += index * self._size(kind)
            else:
                kind, offset = self._member(kind, parts.pop(0))
                address += offset
        return address, self._format(kind)

    def read(self, core: CortexM4, name: str) -> float:
        address, layout = self.place(name)
        return struct.unpack(layout, core.memory(address, struct.calcsize(layout)))[0]

    def write(self, core: CortexM4, name: str, value: float) -> None:
        address, layout = self.place(name)
        core.load(address, struct.pack(layout, value))

    # -- debug information --------------------------------------------------------------------------------------------

    def _variable(self, name: str) -> tuple[int, DIE]:
        for unit in self._dwarf.iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                location = die.attributes.get("DW_AT_location")
                if die.tag != "DW_TAG_variable" or location is None or location.value[0] != ADDRESS:
                    continue
                named = self._declared(die)
                if named.attributes["DW_AT_name"].value.decode() == name:
                    return int.from_bytes(bytes(location.value[1:5]), "little"), self._type(named)
        raise KeyError(name)

    @staticmethod
    def _declared(die: DIE) -> DIE:
        """Place, name and type of a variable: code compiled at link time refers to its source's."""
        for origin in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if origin in die.attributes:
                return Memory._declared(die.get_DIE_from_attribute(origin))
        return die

    def _type(self, die: DIE) -> DIE:
        """Type behind all names of types."""
        kind = die.get_DIE_from_attribute("DW_AT_type")
        while kind.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
            kind = kind.get_DIE_from_attribute("DW_AT_type")
        return kind

    def _counts(self, array: DIE) -> list[int]:
        """Elements in each dimension of an array; 0 if only the definition would say."""
        bounds = [dimension.attributes.get("DW_AT_upper_bound") for dimension in array.iter_children()]
        return [bound.value + 1 if bound else 0 for bound in bounds]

    def _member(self, kind: DIE, name: str) -> tuple[DIE, int]:
        for member in kind.iter_children():
            if member.attributes["DW_AT_name"].value.decode() == name:
                offset = member.attributes.get("DW_AT_data_member_location")  # none in a union
                return self._type(member), offset.value if offset else 0
        raise KeyError(name)

    def _size(self, kind: DIE) -> int:
        if kind.tag == "DW_TAG_pointer_type":
            return 4
        if kind.tag == "DW_TAG_array_type":
            return math.prod(self._counts(kind)) * self._size(self._type(kind))
        return kind.attributes["DW_AT_byte_size"].value

    def _format(self, kind: DIE) -> str:
        if kind.tag == "DW_TAG_pointer_type":
            return "<I"
        encoding: Any = kind.attributes.get("DW_AT_encoding")
        code: Any = encoding.value if encoding else None
        letters = "bhiq" if code in (SIGNED, SIGNED_CHAR) else "BHIQ"
        return "<f" if code == FLOAT else "<" + letters[{1: 0, 2: 1, 4: 2, 8: 3}[self._size(kind)]]
