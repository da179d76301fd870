"""The longest path through a control tick, whether executed or not: implicit path enumeration (Li and Malik, 1995).

Each branch target counts as reachable. Linear programming finds the numbers of runs of the tick's basic blocks with the
maximum sum of cycles. A block runs as often as control enters and leaves it, a function as often as it is called. Three
bounds do not follow from the image:

- Code that has run in a tick runs at most as often as in the tick with the most runs, plus calls from unseen code.
- A function is called through a table of pointers at most as often as the table's most frequent function.
- A loop whose body has never run has a given number of iterations per entry, by default the number of joints. Code
  in the loop that has run may run again in each iteration.

A block costs the cycles of femtorque.hil.chip.timing with the branch taken, and the flash waits of empty caches. On
the virtual board it costs less. The tick's interrupts are not included."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from capstone import CsInsn
from scipy.optimize import linprog
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from femtorque.hil.chip import CortexM4, FlashFetch, FlashMemory, Image, timing
from femtorque.hil.cost import control_flow
from femtorque.hil.cost.control_flow import Function

EXCEPTION = timing.EXCEPTION_ENTRY + timing.EXCEPTION_RETURN + 2 * timing.FLOATING_POINT_FRAME
TWO_LINES = ("ldrd", "ldm", "vldm", "pop", "vpop")  # loads that may read from two cache lines


@dataclass
class Seen:
    """Observations on boards. most: for each instruction address, the maximum number of executions in one tick.
    readers: addresses of the instructions that have loaded constants from flash."""

    most: dict[int, int] = field(default_factory=dict)
    readers: set[int] = field(default_factory=set)

    def add(self, core: CortexM4, functions: Iterable[Function]) -> None:
        """Add the executions on a processor under femtorque.hil.cost.flash_watch since power-on."""
        addresses = sorted(at for function in functions for at in function.instructions)
        runs: dict[int, int] = defaultdict(int)
        for region in core.regions:
            for block in core.counter.within(region.start, region.start + region.size):
                first = bisect_left(addresses, block.address)
                for at in addresses[first:bisect_left(addresses, block.address + block.size)]:
                    runs[at] += block.most
        for at, count in runs.items():
            self.most[at] = max(self.most.get(at, 0), count)
        self.readers |= core.counter.readers


@dataclass
class _Block:
    """A basic block of a function."""

    function: int
    instructions: list[CsInsn]
    after: list[int] = field(default_factory=list)  # successors, by index
    cycles: int = 0
    most: int = 0  # maximum number of runs that was observed in a tick; 0: the block has never run

    @property
    def last(self) -> CsInsn:
        return self.instructions[-1]


def longest(image: Image, roots: Iterable[str], seen: Seen, memory: FlashMemory, turns: int, unseen: bool = False,
            tables: Iterable[str] = control_flow.TABLES) -> int:
    """Return the cycles of the longest path through these handlers, if the image has them, each counted once. unseen:
    maximise, and return, only the cycles of code that no tick has run. turns: iterations of loops whose body has never
    run. tables: tables of function pointers, as in control_flow.functions."""
    roots = [name for name in roots if name in image.symbols]
    if not roots:
        return 0
    functions = control_flow.functions(image, roots, tables)
    blocks = [block for function in functions.values() for block in _blocks(function)]
    _link(blocks, functions)
    fetch = FlashFetch(memory)
    for block in blocks:
        block.most = max(seen.most.get(i.address, 0) for i in block.instructions)
        block.cycles = _cycles(block, functions[block.function], seen.readers, fetch, memory.wait_states)
    cost = np.array([0 if unseen and block.most else block.cycles for block in blocks])
    most = _most(blocks, functions, {image.symbol(name).address for name in roots}, turns, cost)
    return int(np.ceil(most - 1e-6)) + (0 if unseen else EXCEPTION * len(roots))


# -- basic blocks


def _blocks(function: Function) -> list[_Block]:
    """Return the blocks of a function. A call ends a block, because the next code must be fetched again."""
    leaders = {function.address, *(target for ways in function.ways.values() for target in ways)}
    found: list[_Block] = []
    ended, before = True, None
    for at in sorted(function.instructions):
        if ended or at in leaders or at != before:
            found.append(_Block(function.address, []))
        i = function.instructions[at]
        found[-1].instructions.append(i)
        ended, before = function.jumps(at), at + i.size
    return found


def _link(blocks: list[_Block], functions: Mapping[int, Function]) -> None:
    """Find the successors of each block."""
    starts = {(block.function, block.instructions[0].address): n for n, block in enumerate(blocks)}
    for block in blocks:
        ways = functions[block.function].ways.get(block.last.address, [block.last.address + block.last.size])
        block.after = [starts[block.function, at] for at in dict.fromkeys(ways) if (block.function, at) in starts]


def _cycles(block: _Block, function: Function, readers: set[int], fetch: FlashFetch,
            wait_states: int) -> int:
    """Return the cycles of one execution of a block with empty caches."""
    fetch.empty()
    spent = 0
    for i in block.instructions:
        cost = timing.cycles(i.mnemonic, i.op_str)
        fetch.execute(i.address, i.size, cost)
        spent += cost
        if i.address in readers or block.most == 0 and _may_read_flash(i) or "[pc" in i.op_str:
            spent += wait_states * (2 if i.mnemonic.startswith(TWO_LINES) else 1)
    return spent + fetch.stalls + (timing.REFILL if function.jumps(block.last.address) else 0)


def _may_read_flash(i: CsInsn) -> bool:
    """Return true if an instruction loads from memory other than the stack."""
    return i.mnemonic.startswith(("ldr", "vldr", "ldm", "vldm")) and "[sp" not in i.op_str


# -- flow


class _Programme:
    """A linear program under construction: variables >= 0 and rows of coefficients."""

    def __init__(self) -> None:
        self.variables = 0
        self.equal: list[dict[int, float]] = []
        self.equal_to: list[float] = []
        self.most: list[dict[int, float]] = []
        self.at_most: list[float] = []

    def variable(self) -> int:
        self.variables += 1
        return self.variables - 1

    def equals(self, row: dict[int, float], value: float) -> None:
        self.equal.append(row)
        self.equal_to.append(value)

    def is_at_most(self, row: dict[int, float], value: float) -> None:
        self.most.append(row)
        self.at_most.append(value)

    def matrix(self, rows: list[dict[int, float]]) -> coo_matrix:
        entries = [(r, c, value) for r, row in enumerate(rows) for c, value in row.items()]
        r, c, values = zip(*entries, strict=True) if entries else ((), (), ())
        return coo_matrix((values, (r, c)), shape=(len(rows), self.variables))


def _most(blocks: list[_Block], functions: Mapping[int, Function], roots: set[int], turns: int,
          cost: np.ndarray) -> float:
    """Return the maximum of the sum of the blocks' runs times their costs (B,)."""
    p = _Programme()
    runs = [p.variable() for _ in blocks]
    entered = {at: p.variable() for at in functions}  # calls of a function
    extra = {at: p.variable() for at in functions}  # calls that were not observed
    into: list[dict[int, float]] = [{} for _ in blocks]
    edges: list[tuple[int | None, int, int]] = []  # block, or None for a call; next block; variable
    for n, block in enumerate(blocks):
        out = {runs[n]: -1.0}
        for following in block.after:
            edge = p.variable()
            out[edge] = into[following][edge] = 1.0
            edges.append((n, following, edge))
        if not block.after or block.last.address in functions[block.function].leaves:
            out[p.variable()] = 1.0  # a return
        p.equals(out, 0.0)
        if block.instructions[0].address == block.function:
            into[n][entered[block.function]] = 1.0
            edges.append((None, n, entered[block.function]))
    for n in range(len(blocks)):
        p.equals(into[n] | {runs[n]: -1.0}, 0.0)
    _bound_calls(p, blocks, functions, roots, runs, entered, extra)
    _bound_loops(p, blocks, edges, runs, extra, turns)
    objective = np.zeros(p.variables)
    objective[runs] = -cost
    found = linprog(objective, p.matrix(p.most), p.at_most, p.matrix(p.equal), p.equal_to, method="highs")
    if found.status != 0:
        raise RuntimeError(f"the longest path of the tick was not found: {found.message}")
    return -found.fun


def _bound_calls(p: _Programme, blocks: list[_Block], functions: Mapping[int, Function], roots: set[int],
                 runs: list[int],
                 entered: dict[int, int], extra: dict[int, int]) -> None:
    """Bound the number of runs of functions by the number of their calls. Unobserved calls come from blocks that have
    never run, and from functions that are called more often than was observed."""
    calls: dict[int, dict[int, float]] = {at: {entered[at]: -1.0} for at in functions}
    more: dict[int, dict[int, float]] = {at: {extra[at]: 1.0} for at in functions}
    pointed: dict[int, dict[int, float]] = defaultdict(dict)  # calls through tables
    starts = {block.function: block.most for block in blocks if block.instructions[0].address == block.function}
    for n, block in enumerate(blocks):
        called = functions[block.function].calls.get(block.last.address)
        if called is None:
            continue
        share = {runs[n]: -1.0}
        if block.after and block.last.address in functions[block.function].leaves:
            share[p.variable()] = 1.0  # a conditional tail call
        for at in called:
            call = p.variable()
            share[call] = calls[at][call] = 1.0
            if len(called) > 1:
                pointed[at][call] = 1.0
            row, variable = (more[at], call) if block.most == 0 else (more[at], extra[block.function])
            row[variable] = row.get(variable, 0.0) - max(block.most, 1)
        p.equals(share, 0.0)
    for ways in pointed.values():
        p.is_at_most(ways, float(max([1, *(starts[at] for at in pointed)])))
    for at in functions:
        p.equals(calls[at], 0.0) if at not in roots else p.equals({entered[at]: 1.0}, 1.0)
        p.is_at_most(more[at], 0.0) if at not in roots else p.equals({extra[at]: 1.0}, 0.0)


@dataclass
class _Loop:
    """A loop: blocks, given by index, that all lead to each other. latches: blocks that lead back to a header."""

    blocks: list[int]
    headers: set[int]  # blocks at which edges enter the loop
    into: list[int]  # variables of these edges
    anew: list[tuple[int, int]]  # variables of the edges back, each with its latch

    @property
    def latches(self) -> set[int]:
        return {latch for _, latch in self.anew}


def _loops(edges: list[tuple[int | None, int, int]]) -> list[_Loop]:
    """Return all loops, outer before inner. A loop is a strongly connected component; without the edges to its headers,
    the remaining components are its inner loops (Steensgaard, 1993)."""
    found: list[_Loop] = []
    left = [(n, after, edge) for n, after, edge in edges if n is not None]
    while left:
        size = 1 + max(max(n, after) for n, after, _ in left)
        graph = coo_matrix((np.ones(len(left)), ([n for n, _, _ in left], [after for _, after, _ in left])),
                           (size, size))
        part = connected_components(graph, connection="strong")[1]
        within: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for n, after, edge in left:
            if part[n] == part[after]:
                within[part[n]].append((n, after, edge))
        left = []
        for ways in within.values():
            blocks = {n for n, _, _ in ways}
            into = [(after, edge) for n, after, edge in edges if after in blocks and n not in blocks]
            headers = {after for after, _ in into} or blocks  # all blocks, if no edge enters the loop
            found.append(_Loop(sorted(blocks), headers, [edge for _, edge in into],
                               [(edge, n) for n, after, edge in ways if after in headers]))
            left += [way for way in ways if way[1] not in headers]
    return found


def _bound_loops(p: _Programme, blocks: list[_Block], edges: list[tuple[int | None, int, int]], runs: list[int],
                 extra: dict[int, int], turns: int) -> None:
    """Bound the runs of blocks in loops: as often as observed, and again in each unobserved iteration of a surrounding
    loop, of which an entry has `turns`. No block of a loop runs unless the loop is entered."""
    more: list[dict[int, float]] = [{extra[block.function]: -float(block.most)} for block in blocks]
    for loop in reversed(_loops(edges)):  # inner loops first
        new = {latch for latch in loop.latches if not blocks[latch].most}
        if len(new) < len(loop.latches) and all(blocks[header].most for header in loop.headers):
            new = set()  # a loop that has had several iterations
        if new:
            p.is_at_most({runs[n]: 1.0 for n in new} | {edge: -float(turns) for edge in loop.into}, 0.0)
        for n in loop.blocks:
            most = float(blocks[n].most)
            more[n] |= {edge: -most for edge, latch in loop.anew if latch in new}
            if most:
                own = {variable: value for variable, value in more[n].items() if variable != extra[blocks[n].function]}
                p.is_at_most({runs[n]: 1.0} | own | {edge: -most for edge in loop.into}, 0.0)
    for n, block in enumerate(blocks):
        if block.most:
            p.is_at_most({runs[n]: 1.0} | more[n], block.most)
