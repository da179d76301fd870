"""The control flow of an image's functions that the control tick can reach, decoded one instruction after another."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, Cs, CsInsn, arm as codes

from femtorque.hil.chip import Image

TICK = ("ft_tick_interrupt", "ft_boundary_interrupt")
CURRENT = "ft_current_interrupt"
HANDLERS = (*TICK, CURRENT)
# tables of functions that the tick calls: checks of states, and actions of states
TABLES = ("ft_faults", "ft_conditions", "ft_conditions_of_arm", "table")
SHORTLY = 6  # maximum number of instructions between the comparison of an index and its branch table
_decoder = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS)
_decoder.detail = True


@dataclass
class Function:
    """The control flow of a function. ways: by address, all successors of an instruction, unless the only successor is
    the following instruction. calls: by address, the functions that an instruction may call. A call by a pointer may
    call any function in the tables."""

    name: str
    address: int
    instructions: dict[int, CsInsn] = field(default_factory=dict)  # instructions by address
    ways: dict[int, list[int]] = field(default_factory=dict)
    leaves: set[int] = field(default_factory=set)  # addresses of returns and tail calls, with and without a condition
    calls: dict[int, list[int]] = field(default_factory=dict)

    def jumps(self, at: int) -> bool:
        """Return true if the flow may go elsewhere than to the next instruction."""
        return at in self.ways or at in self.calls or at in self.leaves


def functions(image: Image, roots: Iterable[str], tables: Iterable[str] = TABLES) -> dict[int, Function]:
    """Return all functions, by address, that existing roots can reach."""
    entries = {symbol.address: name for name, symbol in image.symbols.items()}
    pointed = sorted({address for table in tables if table in image.symbols for address in _pointers(image, table)
                      if address in entries})
    waiting = [image.symbol(name).address for name in roots if name in image.symbols]
    seen: dict[int, Function] = {}
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen[at] = _flow(image, entries[at], at, image.symbol(entries[at]).end)
        for place, calls in seen[at].calls.items():
            seen[at].calls[place] = [call for call in calls if call in entries] or pointed
            waiting += seen[at].calls[place]
    return seen


def _pointers(image: Image, table: str) -> set[int]:
    symbol = image.symbol(table)
    first = symbol.address - image.start
    words = (int.from_bytes(image.flash[i:i + 4], "little") for i in range(first, first + symbol.size - 3, 4))
    return {word - 1 for word in words if word & 1}


def _flow(image: Image, name: str, start: int, end: int) -> Function:
    """Decode the instructions of a function, starting at its entry."""
    found, waiting = Function(name, start), [start]
    while waiting:
        at, block = waiting.pop(), 0  # block: remaining instructions of an IT block; the decoder drops conditions
        while start <= at < end and at not in found.instructions:
            first = at - image.start
            i = found.instructions[at] = next(_decoder.disasm(image.flash[first:first + 4], at, 1))
            following, goes_on = _ways(image, i, found, end)
            goes_on, block = goes_on or block > 0, len(i.mnemonic) - 1 if i.id == codes.ARM_INS_IT else block - 1
            if following or not goes_on:
                inside = [target for target in following if start <= target < end]
                found.ways[at] = inside + ([at + i.size] if goes_on else [])
                waiting += inside
            if not goes_on:
                break
            at += i.size
    return found


def _ways(image: Image, i: CsInsn, found: Function, end: int) -> tuple[list[int], bool]:
    """Return the targets of an instruction, and true if control may continue at the following instruction."""
    name = i.mnemonic.split(".")[0]
    conditional = i.cc not in (codes.ARM_CC_AL, codes.ARM_CC_INVALID)
    target: list[int] = [o.imm for o in i.operands if o.type == codes.ARM_OP_IMM]
    if name in ("cbz", "cbnz"):
        return target, True
    if name == "bl":
        found.calls[i.address] = target
        return [], True
    if name.startswith("blx"):
        found.calls[i.address] = []
        return [], True
    if name in ("tbb", "tbh"):
        return _table(image, i, _entries(i, found), 1 if name == "tbb" else 2), False
    returns = ((name.startswith("bx") and "lr" in i.op_str) or "pc" in i.op_str and name.startswith(("pop", "ldm"))
               or name == "ldr" and i.op_str.startswith("pc, [sp]"))
    if i.id == codes.ARM_INS_B:
        if not found.address <= target[0] < end:  # a tail call
            found.calls[i.address] = target
            found.leaves.add(i.address)
        return target, conditional
    if returns:
        found.leaves.add(i.address)
        return [], conditional
    if name.startswith("bx"):
        found.calls[i.address] = []
        return [], False
    return [], True


def _entries(i: CsInsn, found: Function) -> int:
    """Return the length of a branch table from the preceding comparison with its last index."""
    index, compared = i.operands[0].mem.index, [codes.ARM_OP_REG, codes.ARM_OP_IMM]
    for at in sorted((at for at in found.instructions if at < i.address), reverse=True)[:SHORTLY]:
        before = found.instructions[at]
        if before.mnemonic.startswith("cmp") and [o.type for o in before.operands] == compared \
                and before.operands[0].reg == index:
            return int(before.operands[1].imm) + 1
    raise ValueError(f"{found.name}: no bound was found of the table of branches at {i.address:#x}")


def _table(image: Image, i: CsInsn, entries: int, size: int) -> list[int]:
    """Return the targets in the branch table that follows the instruction."""
    first = i.address + 4
    words = (first - image.start + size * n for n in range(entries))
    return [first + 2 * int.from_bytes(image.flash[at:at + size], "little") for at in words]
