"""Upper bound on the stack of an image: the deepest path of the call graph, with GCC's stack sizes.

`-fcallgraph-info=su` writes one .ci file (VCG text) per compilation. A whole image is one compilation. Nodes are
functions with their frame sizes, edges are calls, and inlined code belongs to its caller. This module adds stack sizes
that GCC does not report: exception frames of the processor, and frames of a few libgcc functions."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from femtorque.codegen.common import Refused

# bytes of an exception frame with the FPU's registers: 26 words, plus one word for 8-byte alignment.
EXCEPTION_FRAME = 26 * 4 + 4

# The integer functions of libgcc are assembly, and push a few registers at most.
HELPER_FRAME = 64
HELPERS = re.compile(r"^__(aeabi_u?l?(idiv|divmod|ldivmod|lmul|lls[lr]|lasr)\w*|u?(div|mod|divmod)[ds]i[34])$")

INDIRECT = "__indirect_call"
INTERRUPT = "_interrupt"
ENTRIES = {"ft_reset", "ft_crash_entry", "ft_crash"}  # called only by the processor, like interrupts

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
_BYTES = re.compile(r"\\n(\d+) bytes \((\w+)")


@dataclass
class CallGraph:
    """A call graph."""

    frames: dict[str, int | None] = field(default_factory=dict)  # stack bytes per function; None for a dynamic stack
    calls: dict[str, set[str]] = field(default_factory=dict)  # functions that each function calls


def read_stack(files: Iterable[Path]) -> CallGraph:
    """Return the merged call graph of all .ci files."""
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
    """Return the graph with one common name for functions with identical code. The image contains only one of these
    functions, and GCC reports only the frame of this function. addresses: addresses of all functions in the image, by
    names without files."""
    kept = {addresses[_plain(name)]: name for name in graph.frames if _plain(name) in addresses}

    def own(name: str) -> str:
        return name if name in graph.frames else kept.get(addresses.get(_plain(name), -1), name)

    return CallGraph(graph.frames, {caller: set(map(own, callees)) for caller, callees in graph.calls.items()})


def stack_depth(graph: CallGraph, root: str) -> tuple[int, tuple[str, ...]]:
    """Return (bytes, path) of the deepest chain of calls that begins at `root`.

    A call through a pointer may reach any function that no function calls by name, except ENTRIES and functions on the
    path. Raise Refused if the graph has recursion, dynamic frames or functions without a stack size."""
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
    """Return the name of a static function without the file prefix that GCC adds."""
    return name.rsplit(":", 1)[-1]


@dataclass(frozen=True)
class StackBound:
    """A bound on the stack."""

    bytes: int  # maximum size
    path: tuple[str, ...]  # functions on the stack at this size, the main program first


def bound(graph: CallGraph, main: str = "ft_reset") -> StackBound:
    """Return the bound: the deepest path of the main program plus each interrupt handler once (functions
    `..._interrupt`).

    All interrupts have different priorities, so each interrupt can interrupt each other interrupt once. Fault handlers
    use a separate stack."""
    size, path = stack_depth(graph, main)
    for name in sorted(name for name in graph.frames if name.endswith(INTERRUPT)):
        above, deepest = stack_depth(graph, name)
        size += EXCEPTION_FRAME + above
        path += deepest
    return StackBound(size, path)
