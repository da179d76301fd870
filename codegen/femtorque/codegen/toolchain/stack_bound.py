"""The stack an image can need at most: the call graph's deepest path, from figures that GCC itself wrote.

`-fcallgraph-info=su` leaves one .ci file (VCG text) a compilation, of which a whole image is one: nodes with their
frame's size, edges for calls; what is inlined is part of its caller. Frames that GCC cannot know are added here: those
that the processor pushes for exceptions, and those of the few functions of libgcc.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from femtorque.codegen.common import Refused

# Exception frame with the FPU's registers, 26 words, plus the word that may be pushed to keep 8-byte alignment.
EXCEPTION_FRAME = 26 * 4 + 4

# Integer helpers of libgcc, whose sources are assembly: they push a few registers at most.
HELPER_FRAME = 64
HELPERS = re.compile(r"^__(aeabi_u?l?(idiv|divmod|ldivmod|lmul|lls[lr]|lasr)\w*|u?(div|mod|divmod)[ds]i[34])$")

INDIRECT = "__indirect_call"
INTERRUPT = "_interrupt"
ENTRIES = {"ft_reset", "ft_crash_entry", "ft_crash"}  # called by the processor alone, as are interrupts

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
_BYTES = re.compile(r"\\n(\d+) bytes \((\w+)")


@dataclass
class CallGraph:
    """frames: bytes a function (None: dynamic). calls: whom it calls."""

    frames: dict[str, int | None] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)


def read_stack(files: Iterable[Path]) -> CallGraph:
    """The call graph of all .ci files together."""
    graph = CallGraph()
    for path in files:
        text = path.read_text(encoding="utf-8")
        for name, label in _NODE.findall(text):
            if found := _BYTES.search(label):
                graph.frames[name] = int(found[1]) if found[2] == "static" else None
        for caller, callee in _EDGE.findall(text):
            graph.calls.setdefault(caller, set()).add(callee)
    return graph


def one_of_each(graph: CallGraph, addresses: Mapping[str, int]) -> CallGraph:
    """The graph with one name for functions whose code is the same and stands in the image once: GCC reports the frame
    of the one that it kept. addresses: of all functions of the image, by their names without files."""
    kept = {addresses[_plain(name)]: name for name in graph.frames if _plain(name) in addresses}

    def own(name: str) -> str:
        return name if name in graph.frames else kept.get(addresses.get(_plain(name), -1), name)

    return CallGraph(graph.frames, {caller: set(map(own, callees)) for caller, callees in graph.calls.items()})


def stack_depth(graph: CallGraph, root: str) -> tuple[int, tuple[str, ...]]:
    """(bytes, path) of the deepest chain of calls from `root`.

    A call through a pointer may reach any function that nobody calls by name, but for ENTRIES and those that are on
    the path already. Raises Refused on recursion, on frames of no fixed size and on functions without figures.
    """
    called = {callee for callees in graph.calls.values() for callee in callees}
    pointed = {name for name in graph.frames if name not in called and name not in ENTRIES
               and not name.endswith(INTERRUPT)}
    known: dict[str, tuple[int, tuple[str, ...]]] = {}

    def frame(name: str) -> int:
        if name in graph.frames:
            size = graph.frames[name]
            if size is None:
                raise Refused(f"stack bound: {_plain(name)} has a frame of no fixed size")
            return size
        if HELPERS.match(name):
            return HELPER_FRAME
        raise Refused(f"stack bound: no figure for {_plain(name)}")

    def visit(name: str, trail: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        if name in trail:
            raise Refused("stack bound: recursion " + " -> ".join(map(_plain, (*trail, name))))
        if name not in known:
            callees = graph.calls.get(name, set())
            if INDIRECT in callees:
                callees = callees - {INDIRECT} | (pointed - {*trail, name})
            deepest = max((visit(c, (*trail, name)) for c in sorted(callees)), default=(0, ()))
            known[name] = (frame(name) + deepest[0], (_plain(name), *deepest[1]))
        return known[name]

    return visit(root, ())


def _plain(name: str) -> str:
    """A static function's name without the file that GCC puts before it."""
    return name.rsplit(":", 1)[-1]


@dataclass(frozen=True)
class StackBound:
    """bytes: what can be needed at most. path: the functions that are then on the stack, main program first."""

    bytes: int
    path: tuple[str, ...]


def bound(graph: CallGraph, main: str = "ft_reset") -> StackBound:
    """The main program's deepest path and, on top of it, once each interrupt there is (functions named
    `..._interrupt`): each has a priority of its own. Faults use a stack of their own."""
    size, path = stack_depth(graph, main)
    for name in sorted(name for name in graph.frames if name.endswith(INTERRUPT)):
        above, deepest = stack_depth(graph, name)
        size += EXCEPTION_FRAME + above
        path += deepest
    return StackBound(size, path)
