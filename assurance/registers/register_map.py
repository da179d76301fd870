"""The registers of a chip from sources independent of the firmware, and a check of register accesses. For the STM32F405
the source is ST's SVD file, which pyocd contains. pyocd has no SVD file of the STM32G474, so a table was written from
RM0440."""

import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, reduce
from importlib.util import find_spec
from operator import and_, or_
from pathlib import Path

HERE = Path(__file__).parent
WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Reg:
    """A register."""

    name: str
    address: int
    access: str  # 'r', 'w' or 'rw'
    reset: int
    fields: dict[str, tuple[int, int]]  # lowest bit and bit mask, by name

    @property
    def mask(self) -> int:
        """Return the mask of the defined bits."""
        return reduce(or_, (((1 << bits) - 1) << low for low, bits in self.fields.values()), 0) & WORD


Map = dict[int, Reg]


# ---------------------------------------------------------------- STM32F405: the SVD

_ACCESS = {"read-only": "r", "write-only": "w", "read-write": "rw"}

# These registers of RM0090 are missing in the SVD of the F41x, or differ there.
_CORRECTIONS = {
    "PWR.CR": {"VOS": (14, 1)},  # 5.4.1
    "RCC.CFGR": {"SW": (0, 2), "SWS": (2, 2)},  # 7.3.3; the SVD has one field for each bit
    "RCC.PLLCFGR": {"PLLQ": (24, 4)},  # 7.3.2
}


def svd_file(device: str) -> ET.Element:
    package = find_spec("pyocd")
    assert package is not None, "pyocd is not installed (pip install pyocd): it carries the SVD"
    path = Path(package.origin).parent / "debug" / "svd" / "svd_data.zip"
    return ET.fromstring(zipfile.ZipFile(path).read(f"{device}.svd"))


@cache
def stm32f405(device: str = "STM32F41x") -> Map:
    """Return the registers of the F405 from the F41x, which only adds an accelerator for cryptography."""
    root = svd_file(device)
    bare = {p.findtext("name"): p for p in root.iter("peripheral")}
    found: Map = {}
    for name, p in bare.items():
        base = int(p.findtext("baseAddress"), 0)
        for r in (bare[p.get("derivedFrom")] if p.get("derivedFrom") else p).iter("register"):
            fields = {f.findtext("name"): (int(f.findtext("bitOffset")), int(f.findtext("bitWidth")))
                      for f in r.iter("field")}
            key = f"{name}.{r.findtext('name')}"
            address = base + int(r.findtext("addressOffset"), 0)
            reg = Reg(key, address, _ACCESS[r.findtext("access") or "read-write"],
                      int(r.findtext("resetValue") or "0", 16),
                      fields | _CORRECTIONS.get(key, {}))
            other = found.get(address)  # CCMRx has two meanings: input and output
            if other:
                reg = Reg(other.name, address, other.access, other.reset, other.fields | {
                    f"{n}'": place for n, place in reg.fields.items()})
            found[address] = reg
    return found | core()


# ---------------------------------------------------------------- STM32G474: a table


@cache
def stm32g474() -> Map:
    found: Map = {}
    names: list[tuple[str, int]] = []
    fresh = True
    for line in (HERE / "stm32g474_registers.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, base = line.split()
            names = [*([] if fresh else names), (name, int(base, 0))]
            fresh = False
            continue
        fresh = True
        offset, name, access, *fields = line.split()
        places = {f: (int(low), int(bits)) for f, low, bits in (entry.split(":") for entry in fields)}
        for peripheral, base in names:
            address = base + int(offset, 0)
            found[address] = Reg(f"{peripheral}.{name}", address, access, 0, places)
    return found | message_ram() | core()


def message_ram() -> Map:
    """The address of the FDCANs' message memory comes from ST's device header, its size from ST's driver."""
    words = range(0x4000A400, 0x4000A400 + 3 * 0x350, 4)
    return {address: Reg("SRAMCAN", address, "rw", 0, {"WORD": (0, 32)}) for address in words}


# ---------------------------------------------------------------- the core


@cache
def core() -> Map:
    """Return the registers of the processor core that the firmware uses (ARM DDI 0403E, B3.2 to B3.4, C1.6, C1.8)."""
    table = {
        0xE000E010: ("SYST.CSR", "rw",
                     {"ENABLE": (0, 1), "TICKINT": (1, 1), "CLKSOURCE": (2, 1), "COUNTFLAG": (16, 1)}),
        0xE000E014: ("SYST.RVR", "rw", {"RELOAD": (0, 24)}), 0xE000E018: ("SYST.CVR", "rw", {"CURRENT": (0, 32)}),
        0xE000ED00: ("SCB.CPUID", "r", {"ID": (0, 32)}),
        0xE000ED04: ("SCB.ICSR", "rw", {"VECTACTIVE": (0, 9), "RETTOBASE": (11, 1), "VECTPENDING": (12, 9),
                                        "ISRPENDING": (22, 1), "PENDSTCLR": (25, 1), "PENDSTSET": (26, 1),
                                        "PENDSVCLR": (27, 1), "PENDSVSET": (28, 1), "NMIPENDSET": (31, 1)}),
        0xE000ED08: ("SCB.VTOR", "rw", {"TBLOFF": (7, 25)}),
        0xE000ED0C: ("SCB.AIRCR", "rw",
                     {"SYSRESETREQ": (2, 1), "PRIGROUP": (8, 3), "ENDIANNESS": (15, 1), "KEY": (16, 16)}),
        0xE000ED14: ("SCB.CCR", "rw", {"UNALIGN_TRP": (3, 1), "DIV_0_TRP": (4, 1), "STKALIGN": (9, 1)}),
        0xE000ED20: ("SCB.SHPR3", "rw", {"PRI_14": (20, 4), "PRI_15": (28, 4)}),
        0xE000ED24: ("SCB.SHCSR", "rw", {"MEMFAULTENA": (16, 1), "BUSFAULTENA": (17, 1), "USGFAULTENA": (18, 1)}),
        0xE000ED28: ("SCB.CFSR", "rw", {"CFSR": (0, 32)}), 0xE000ED2C: ("SCB.HFSR", "rw", {"HFSR": (0, 32)}),
        0xE000ED38: ("SCB.BFAR", "rw", {"BFAR": (0, 32)}), 0xE000ED88: ("SCB.CPACR", "rw", {"CP10_CP11": (20, 4)}),
        0xE000EDFC: ("DCB.DEMCR", "rw", {"TRCENA": (24, 1)}),
        0xE0001000: ("DWT.CTRL", "rw", {"CYCCNTENA": (0, 1), "FIXED": (24, 8)}),
        0xE0001004: ("DWT.CYCCNT", "rw", {"CYCCNT": (0, 32)}),
    }
    found = {address: Reg(name, address, access, 0, fields) for address, (name, access, fields) in table.items()}
    for word in range(4):
        address = 0xE000E100 + 4 * word
        found[address] = Reg(f"NVIC.ISER{word}", address, "rw", 0, {"SETENA": (0, 32)})
        found[address + 0x100] = Reg(f"NVIC.ISPR{word}", address + 0x100, "rw", 0, {"SETPEND": (0, 32)})
    for word in range(32):  # four priorities per register; the chip uses the upper four bits of each
        address = 0xE000E400 + 4 * word
        found[address] = Reg(f"NVIC.IPR{word}", address, "rw", 0, {f"PRI_{i}": (8 * i + 4, 4) for i in range(4)})
    return found


# ---------------------------------------------------------------- accesses

# Field values that the manuals reserve or forbid. Keys: end of the register's name, and name of the field.
FORBIDDEN_CODES = {
    "stm32f4": {("RCC.CFGR", "SW"): {3}, ("RCC.CFGR", "SWS"): {3}, ("RCC.PLLCFGR", "PLLQ"): {0, 1}},
    "stm32g4": {("RCC.CFGR", "SW"): {0}, ("RCC.PLLCFGR", "PLLSRC"): {1}, ("RCC.PLLCFGR", "PLLN"): set(range(8))},
}


@dataclass
class Accesses:
    """The record of all accesses of an image. The simulated bus of a chip calls `note` for each access."""

    reads: set[int] = field(default_factory=set)
    writes: dict[int, set[int]] = field(default_factory=dict)

    def note(self, address: int, size: int, value: int | None) -> None:
        """Record one access. value: written value, or None for a read."""
        word = address & ~3
        if value is None:
            self.reads.add(word)
        else:
            self.writes.setdefault(word, set()).add(value << 8 * (address & 3) & WORD)


def violations(accesses: Accesses, registers: Map, family: str) -> list[str]:
    """Return a line for each access to an address without a register, and for each access that is not allowed."""
    found = [f"read of 0x{a:08X}, where there is no register" for a in sorted(accesses.reads) if a not in registers]
    found += [f"{registers[a].name} is read and can only be written" for a in sorted(accesses.reads)
              if a in registers and "r" not in registers[a].access]
    for address, values in sorted(accesses.writes.items()):
        found += _wrong(registers.get(address), address, values, family)
    return found


def lost_reset_bits(accesses: Accesses, registers: Map, after_reset: dict[int, int]) -> dict[str, int]:
    """Return the reset bits that were once written as 0, by register, without flags that writing clears."""
    lost = {registers[a].name: after_reset[a] & ~reduce(and_, values) for a, values in accesses.writes.items()
            if a in after_reset and a in registers and registers[a].access == "rw"
            and not registers[a].name.endswith(".SR")}
    return {name: bits for name, bits in sorted(lost.items()) if bits}


def _wrong(reg: Reg | None, address: int, values: Iterable[int], family: str) -> Iterator[str]:
    if reg is None:
        yield f"write to 0x{address:08X}, where there is no register"
        return
    if "w" not in reg.access:
        yield f"{reg.name} is written and can only be read"
    for value in sorted(values):
        alien = value & ~reg.mask & ~reg.reset & WORD
        if alien:
            yield f"{reg.name} = 0x{value:X}: bits 0x{alien:X} are reserved"
        for (end, name), codes in FORBIDDEN_CODES[family].items():
            low, bits = reg.fields.get(name, (0, 0))
            if reg.name == end and bits and value >> low & (1 << bits) - 1 in codes:
                yield f"{reg.name} = 0x{value:X}: {name} = {value >> low & (1 << bits) - 1} is not allowed"
