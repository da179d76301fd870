"""The largest stack of an image: the deepest path of the call graph, from GCC's figures.

`-fcallgraph-info=su` writes one .ci file (VCG text) per compilation, and a whole image is one compilation. Nodes have
the size of their frames, edges are calls, and inlined code is part of its caller. This module adds frames that GCC does
not know: exception frames of the processor, and a few functions of libgcc.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from femtorque.codegen.common import Refused

# Exception frame with the FPU's registers: 26 words, plus one word for 8-byte alignment.
EXCEPTION_FRAME = 26 * 4 + 4

# Integer helpers of libgcc are assembly and push a few registers at most.
HELPER_FRAME = 64
HELPERS = re.compile(r"^__(aeabi_u?l?(idiv|divmod|ldivmod|lmul|lls[lr]|lasr)\w*|u?(div|mod|divmod)[ds]i[34])$")

INDIRECT = "__indirect_call"
INTERRUPT = "_interrupt"
ENTRIES = {"ft_reset", "ft_crash_entry", "ft_crash"}  # only the processor calls these, like interrupts

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
_BYTES = re.compile(r"\\n(\d+) bytes \((\w+)")


@dataclass
class CallGraph:
    """A call graph. frames: bytes per function (None: dynamic). calls: callees per function."""

    frames: dict[str, int | None] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)


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
    """Return the graph with one name for functions with equal code. The image keeps one of these functions, and GCC
    reports only its frame. addresses: addresses of all functions of the image, by names without files.
    """
    kept = {addresses[_plain(name)]: name for name in graph.frames if _plain(name) in addresses}

    def own(name: str) -> str:
        return name if name in graph.frames else kept.get(addresses.get(_plain(name), -1), name)

    return CallGraph(graph.frames, {caller: set(map(own, callees)) for caller, callees in graph.calls.items()})


def stack_depth(graph: CallGraph, root: str) -> tuple[int, tuple[str, ...]]:
    """Return (bytes, path) of the deepest chain of calls from `root`.

    A call through a pointer may reach any function that no other function calls by name, except ENTRIES and functions
    on the path. Raise Refused for recursion, dynamic frames and functions without figures.
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
    """Return a static function's name without GCC's file prefix."""
    return name.rsplit(":", 1)[-1]


@dataclass(frozen=True)
class StackBound:
    """A bound on the stack. bytes: largest need. path: the functions then on the stack, main program first."""

    bytes: int
    path: tuple[str, ...]


def bound(graph: CallGraph, main: str = "ft_reset") -> StackBound:
    """Return the bound: the main program's deepest path plus each interrupt once (functions `..._interrupt`).

    Each interrupt has its own priority. Faults use a separate stack.
    """
    size, path = stack_depth(graph, main)
    for name in sorted(name for name in graph.frames if name.endswith(INTERRUPT)):
        above, deepest = stack_depth(graph, name)
        size += EXCEPTION_FRAME + above
        path += deepest
    return StackBound(size, path)
