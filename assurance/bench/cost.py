"""Cost of one inverse-dynamics call on the emulated Cortex-M4F: ours and its peers', measured the same way.

Everybody is compiled with the same compiler and flags (FLAGS, -ffp-contract=off), runs the same motion, and every
instruction of the call is counted, mathematical library included.
"""

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

from assurance.bench.peers import casadi_peer, loop_peer
from femtorque.codegen.emit import step
from femtorque.codegen.model import Model
from femtorque.codegen.toolchain import ARITHMETIC
from femtorque.codegen.verify import object_files
from femtorque.hil.chip import ChipLibrary
from femtorque.hil.chip.chip_library import MACHINE, cross_compiler
from femtorque.hil.cost import chip_step
from tests.support.oracle import peak, quintic, rnea
from tests.support.sampling import middles, sampled_quintic

Array = NDArray[np.float64]

FLAGS = ("-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
SPREAD, TRAVEL = 2.0, (1.3, -1.1)  # rad: poses so that the library's sines meet more than their easiest arguments


@dataclass(frozen=True)
class Cost:
    """One method on one arm.

    worst, mean: executed instructions of a call over the motion. flash_bytes: code and constants, with what they pull
    out of the library. stack_bytes: of a call, as seen. ram_bytes: kept from call to call. generation, compilation:
    processor time, s. error: worst over the motion against Pinocchio, of peak torque.
    """

    worst: int
    mean: float
    flash_bytes: int
    stack_bytes: int
    ram_bytes: int
    generation: float
    compilation: float
    error: float


def states(model: Model) -> tuple[Array, Array, Array, Array]:
    """Positions at s_-1..s_N (N+2, J) of a quintic of a second; q, qd, qdd (N, J) at s_0..s_N-1."""
    start = np.linspace(-SPREAD, SPREAD, model.n)
    end = start + np.linspace(*TRAVEL, model.n)
    return sampled_quintic(model, start, end), *quintic(start, end).at(middles(model, 1.0)[1:-1])


def peer(model: Model, sources: dict[str, str], entry: str, generation: float,
         call: Callable[[ChipLibrary, list[int]], tuple[int, ...]]) -> Cost:
    """A peer's call at every state of the motion. call: the entry's arguments, from where q, qd, qdd, tau are."""
    chip = ChipLibrary(sources, (*FLAGS, f"-Wl,--undefined={entry}"), warnings=False, libraries=("-lm",))
    _, *given = states(model)
    given = [x.astype(np.float32) for x in given]
    at = [chip.put(x[0]) for x in given] + [chip.put(4 * model.n)]
    arguments, tau, count, stack = call(chip, at), np.empty(given[0].shape, np.float32), [], 0
    for k in range(len(tau)):
        for where, x in zip(at, given, strict=False):
            chip.write(where, x[k])
        done = chip.call(entry, *arguments, measure_stack=k % 50 == 0)
        tau[k] = chip.read(at[-1], np.float32, model.n)
        count.append(done.instructions)
        stack = max(stack, done.stack_bytes)
    double = sorted(name for name in chip.symbols if name.startswith("__aeabi_d"))
    assert not double, f"{entry} is not single: {double}"
    truth = rnea(model, *given)
    return Cost(max(count), float(np.mean(count)), chip.flash_bytes, stack, _ram(chip.elf), generation,
                compilation(sources), peak(tau - truth) / peak(truth))


def casadi(model: Model) -> Cost:
    """CasADi's C, called as its own convention says; its entry's fifth argument is unused."""
    start = time.process_time()
    sources = casadi_peer.sources(model)
    generation = time.process_time() - start

    def call(chip: ChipLibrary, at: list[int]) -> tuple[int, ...]:
        return chip.put(np.array(at[:3], np.uint32)), chip.put(np.array(at[3:], np.uint32)), 0, 0

    return peer(model, sources, casadi_peer.ENTRY, generation, call)


def loop(model: Model) -> Cost:
    """The hand-written loop."""
    return peer(model, loop_peer.sources(model), loop_peer.ENTRY, 0.0, lambda _, at: tuple(at))


def femtorque(model: Model) -> Cost:
    """The emitted step, tick after tick."""
    start = time.process_time()
    sources = step.render(model)
    generation = time.process_time() - start
    positions, *given = states(model)
    run = chip_step.run_step_on_chip(model, positions, sources)
    truth = rnea(model, *given)
    chip, q = ChipLibrary(sources | _SIZE), np.zeros(model.n, np.int32)
    state, q_at, tau_at = chip.put(1 << 16), chip.put(q), chip.put(q)
    chip.call("ft_step_start", state, q_at)
    stack = chip.call("ft_step", state, chip.put(12 * model.n), tau_at, measure_stack=True).stack_bytes
    return Cost(
        worst=int(run.instructions.max()), mean=float(run.instructions.mean()),
        flash_bytes=object_files.examine(sources).flash_bytes, stack_bytes=stack,
        ram_bytes=chip.call("bench_state_bytes").result, generation=generation, compilation=compilation(sources),
        error=peak(run.tau - truth) / peak(truth),
    )


_SIZE = {"bench_size.c": """\
#include "ft_step.h"

uint32_t bench_state_bytes(void);

/* Tell what the step keeps from tick to tick. */
uint32_t bench_state_bytes(void)
{
    return (uint32_t)sizeof(ft_step_state);
}
"""}


def compilation(sources: dict[str, str]) -> float:
    """Processor time of the compiler, s."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        files = sorted(name for name in sources if name.endswith(".c"))
        before = _children()
        subprocess.run([cross_compiler(), "-std=c99", *MACHINE, "-O2", *ARITHMETIC, "-I.", "-c", *files], cwd=folder,
                       check=True, capture_output=True)
        return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ram(elf: Path) -> int:
    with elf.open("rb") as file:
        return sum(s["sh_size"] for s in ELFFile(file).iter_sections() if s.name in (".data", ".bss"))
