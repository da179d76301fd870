"""The cost of the emitted step and of CasADi's C on the emulated Cortex-M4F, measured in the same way.

The step and CasADi's C are compiled with the same compiler and flags (-O2 -ffp-contract=off), and run the same motion.
Every instruction of a call counts, including instructions of the mathematical library."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

from assurance.bench import casadi_peer
from assurance.bench.anchor import spent
from femtorque.codegen.common import Array
from femtorque.codegen.emit import step_sources
from femtorque.codegen.model import Model
from femtorque.codegen.toolchain import ARITHMETIC, Turns
from femtorque.codegen.verify import object_files
from femtorque.hil.chip import ChipLibrary
from femtorque.hil.chip.chip_library import MACHINE, Call, cross_compiler
from femtorque.hil.cost.chip_step import STATE_ROOM
from tests.support import instant

FLAGS = ("-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
SIZE = """\
#include "ft_step.h"

uint32_t bench_state_bytes(void);

/* Return the size of the state that the step keeps from tick to tick. */
uint32_t bench_state_bytes(void)
{
    return (uint32_t)sizeof(ft_step_state);
}
"""


@dataclass(frozen=True)
class Calls:
    """Calls (N,) of one function on the chip, and their torques (N, J), N m or N.

    generation, compilation: processor time, s."""

    calls: Sequence[Call]
    torque: NDArray[np.float32]
    flash_bytes: int  # code and constants, including the library
    ram_bytes: int  # memory that is kept between calls
    generation: float
    compilation: float

    def worst(self, key: str = "instructions") -> int:
        """Return the largest value of instructions, cycles, fetch_stalls or stack_bytes over all calls."""
        return max(getattr(call, key) for call in self.calls)

    @property
    def mean(self) -> float:
        """Return the mean number of instructions."""
        return float(np.mean([call.instructions for call in self.calls]))


def of_step(model: Model, positions: Array, ticks: slice = slice(None)) -> Calls:
    """Run ticks of a motion (N+2, J), rad or m, with the emitted step."""
    began = time.process_time()
    sources = step_sources(model)
    generation = time.process_time() - began
    chip, turns = ChipLibrary(sources | {"bench_size.c": SIZE}), Turns(model, "single")
    samples = turns.samples(positions)
    first = ticks.indices(len(samples))[0]
    state, at, tau = chip.put(STATE_ROOM), chip.put(samples[0]), chip.put(samples["u"][0])
    chip.call("ft_step_start", state, chip.put(turns.of(positions[first])))
    calls, torque = [], []
    for sample in samples[ticks]:
        chip.write(at, sample)
        calls.append(chip.call("ft_step", state, at, tau, measure_stack=True, measure_cycles=True))
        torque.append(chip.read(tau, np.float32, model.n))
    return Calls(calls, np.array(torque), object_files.examine(sources).flash_bytes,
                 chip.call("bench_state_bytes").result, generation, compilation(sources))


def of_derivatives(model: Model, states: tuple[Array, Array, Array]) -> Calls:
    """Call ft_rnea_derivatives at each of the states q, qd, qdd (N, J) of an open tree. Its torques are followed by
    dtau/dq, dtau/dqd and M, row by row."""
    began = time.process_time()
    sources = instant.sources(model, derivatives=True)
    generation = time.process_time() - began
    chip, n = ChipLibrary(sources, (*FLAGS, "-Wl,--undefined=slopes")), model.n
    at, found = chip.put(4 * 3 * n), chip.put(4 * n * (3 * n + 1))
    calls, results = [], []
    for rows in zip(*states, strict=True):
        chip.write(at, np.array(rows, np.float32))
        calls.append(chip.call("slopes", 0, at, found, measure_stack=True))
        results.append(chip.read(found, np.float32, n * (3 * n + 1)))
    return Calls(calls, np.array(results), chip.flash_bytes, 0, generation, compilation(sources))


def of_casadi(model: Model, states: tuple[Array, Array, Array], derivatives: bool = False) -> Calls:
    """Call CasADi's C at each of the states q, qd, qdd (N, J), by CasADi's convention. derivatives: results as of
    `of_derivatives`."""
    began = time.process_time()
    sources = casadi_peer.sources(model, derivatives)
    generation = time.process_time() - began
    chip = ChipLibrary(sources, (*FLAGS, f"-Wl,--undefined={casadi_peer.ENTRY}"), warnings=False, libraries=("-lm",))
    size = model.n * (3 * model.n + 1 if derivatives else 1)
    at = [chip.put(x[0].astype(np.float32)) for x in states] + [chip.put(4 * size)]
    arguments = (chip.put(np.array(at[:3], np.uint32)), chip.put(np.array(at[3:], np.uint32)), 0, 0)
    calls, torque = [], []
    for rows in zip(*states, strict=True):
        for where, row in zip(at, rows, strict=False):
            chip.write(where, row.astype(np.float32))
        calls.append(chip.call(casadi_peer.ENTRY, *arguments, measure_stack=True))
        torque.append(chip.read(at[-1], np.float32, size))
    double = sorted(name for name in chip.symbols if name.startswith("__aeabi_d"))
    assert not double, f"CasADi's C is not single: {double}"
    with chip.elf.open("rb") as file:
        ram = sum(s["sh_size"] for s in ELFFile(file).iter_sections() if s.name in (".data", ".bss"))
    return Calls(calls, np.array(torque), chip.flash_bytes, ram, generation, compilation(sources))


def compilation(sources: dict[str, str]) -> float:
    """Return the processor time of the compiler, s."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        files = sorted(str(Path(folder) / name) for name in sources if name.endswith(".c"))
        return spent(cross_compiler(), "-std=c99", *MACHINE, "-O2", *ARITHMETIC, f"-I{folder}", "-c", *files,
                     folder=Path(folder))
