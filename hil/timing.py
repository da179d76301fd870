"""What a basic block costs: instructions (exact) and cycles (a model).

The cycle model has the classes of the Cortex-M4 technical reference manual with zero-wait-state memory; divisions at
their longest, a taken branch refills the pipeline in REFILL cycles. It is a model, not silicon.
"""

from __future__ import annotations

from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, Cs

REFILL = 2  # cycles to refill the pipeline after a taken branch (1 to 3 by the manual)
EXCEPTION_ENTRY = 12  # stacking of the basic frame overlaps the vector fetch
EXCEPTION_RETURN = 10
FLOATING_POINT_FRAME = 17  # more, when the floating-point registers are stacked too

_CYCLES = {
    "mla": 2, "mls": 2, "sdiv": 12, "udiv": 12,
    "vdiv": 14, "vsqrt": 14, "vfma": 3, "vfms": 3, "vfnma": 3, "vfnms": 3, "vmla": 3, "vmls": 3, "vnmla": 3, "vnmls": 3,
    "vldr": 2, "vstr": 2, "ldrd": 3, "strd": 3, "tbb": 2, "tbh": 2, "mrs": 2, "msr": 2,
}
_MULTIPLE = ("push", "pop", "ldm", "stm", "vpush", "vpop", "vldm", "vstm")
_CHANGES_FLOW = ("b", "bl", "bx", "blx", "cbz", "cbnz", "tbb", "tbh")

_decoder = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS)


class Block:
    """A straight run of instructions. start, end: addresses; refill: cycles more if its branch is taken."""

    __slots__ = ("start", "end", "instructions", "cycles", "refill", "floating_point")

    def __init__(self, start: int, code: bytes) -> None:
        decoded = list(_decoder.disasm_lite(code, start))
        if sum(size for _, size, _, _ in decoded) != len(code):
            raise ValueError(f"code at 0x{start:08X} does not decode: {code.hex()}")
        self.start, self.end = start, start + len(code)
        self.instructions = len(decoded)
        self.cycles = sum(cycles(name, operands) for _, _, name, operands in decoded)
        last, operands = (decoded[-1][2], decoded[-1][3]) if decoded else ("", "")
        self.refill = REFILL if _branches(last, operands) else 0
        self.floating_point = any(name.startswith("v") for _, _, name, _ in decoded)


def _branches(name: str, operands: str) -> bool:
    stem = name.split(".")[0]
    return stem in _CHANGES_FLOW or "pc" in operands or (stem[:1] == "b" and len(stem) == 3 and stem != "bic")


def cycles(name: str, operands: str) -> int:
    """Cycles of one instruction, without the refill of a taken branch."""
    stem = name.split(".")[0]
    if stem.startswith(_MULTIPLE):
        return 1 + _registers(operands)
    for known in (stem, stem[:-2]):  # with and without a condition code
        if known in _CYCLES:
            return _CYCLES[known]
    if stem.startswith(("ldr", "str")):
        return 2
    if stem == "vmov" and operands.count("r") >= 2 and operands.count(",") >= 2:
        return 2
    return 1


def _registers(operands: str) -> int:
    """How many registers {r4, s16-s19, ...} names."""
    count = 0
    for item in operands[operands.index("{") + 1:operands.index("}")].split(","):
        first, _, last = item.strip().partition("-")
        count += int(last.strip()[1:]) - int(first.strip()[1:]) + 1 if last else 1
    return count
