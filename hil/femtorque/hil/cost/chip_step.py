"""Runs the emitted step of a mechanism, or the emitted wrench, on the emulated Cortex-M4F over a whole motion."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.emit import moving_links, step_sources
from femtorque.codegen.model import Model
from femtorque.codegen.reference import Wrench, place
from femtorque.codegen.toolchain import Turns, sources as wrench_sources
from femtorque.hil.chip import ChipLibrary

STATE_ROOM = 64 * 1024  # number of bytes, greater than any state needs
# The chip library passes four arguments in registers, but ft_step_wrench has five arguments.
ENTRY = {"ft_wrench_entry.c": """\
#include "ft_wrench.h"

void ft_wrench_entry(const ft_turn *q, uint32_t link, const ft_real *wrench,
                     ft_real *tau);

/* Take force and moment from one array. */
void ft_wrench_entry(const ft_turn *q, uint32_t link, const ft_real *wrench,
                     ft_real *tau)
{
    ft_step_wrench(q, link, wrench, wrench + 3, tau);
}
"""}


@dataclass(frozen=True)
class ChipRun:
    """Results of the step in each tick: tau (N, J), N m or N; instructions (N,)."""

    tau: NDArray[np.float32]
    instructions: NDArray[np.int64]


def run_step_on_chip(model: Model, positions: ArrayLike, sources: dict[str, str] | None = None,
                     modes: NDArray[np.uint32] | None = None) -> ChipRun:
    """Return torques and instructions at s_0..s_N-1 of a motion sampled at s_-1..s_N: positions (N+2, J), rad or m.
    sources: the emitted files, if the caller has them. modes (N+1, 2): of femtorque.codegen.model.modes.schedule."""
    turns, positions = Turns(model, "single"), np.asarray(positions, float)
    samples = turns.samples(positions)
    chip = ChipLibrary(sources or step_sources(model))
    state, next_at, tau_at = chip.put(STATE_ROOM), chip.put(samples[0]), chip.put(samples["u"][0])
    chip.call("ft_step_start", state, chip.put(turns.of(positions[0])))
    tau, instructions = np.empty_like(samples["u"]), np.zeros(len(samples), np.int64)
    mode = 0
    for k, sample in enumerate(samples):
        chip.write(next_at, sample)
        if modes is None:
            instructions[k] = chip.call("ft_step", state, next_at, tau_at).instructions
        else:
            number, left = (int(x) for x in modes[k])
            if number != mode:
                mode, instructions[k] = number, chip.call("ft_step_enter", state, number).instructions
            instructions[k] += chip.call("ft_step_moded", state, left, next_at, tau_at).instructions
        tau[k] = chip.read(tau_at, np.float32, tau.shape[1])
    return ChipRun(tau[1:], instructions[1:])


def torque_on_chip(model: Model, positions: ArrayLike, modes: NDArray[np.uint32] | None = None) -> NDArray[np.float32]:
    """Return the torques of `run_step_on_chip`."""
    return run_step_on_chip(model, positions, modes=modes).tau


def held(model: Model, q: ArrayLike, wrench: Wrench) -> NDArray[np.float64]:
    """Return the torques (N, n) of ft_step_wrench, N m or N, at q (N, n), rad or m. Raises BadInput as
    femtorque.codegen.reference.wrench.torque does."""
    place(model.mechanism, wrench.link)
    chip, rows = ChipLibrary(wrench_sources(model) | ENTRY), []
    link = list(moving_links(model)).index(wrench.link)
    at, given = chip.put(4 * model.n), chip.put(np.concatenate([wrench.force, wrench.moment]).astype(np.float32))
    tau = chip.put(4 * model.n)
    for position in Turns(model, "single").of(q):
        chip.write(at, position)
        chip.write(tau, np.zeros(model.n, np.float32))
        chip.call("ft_wrench_entry", at, link, given, tau)
        rows.append(chip.read(tau, np.float32, model.n))
    return np.array(rows, float).reshape(-1, model.n)
