"""Comparison of the emitted C of closed loops with the same arithmetic in NumPy and with the reference. The gaps of the
loops are checked too."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, assemble, in_mode
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import discrete, schemes
from femtorque.codegen.toolchain import CompiledStep, Turns
from femtorque.codegen.toolchain.host_compiler import build
from femtorque.codegen.toolchain.step_library import HOST_SOURCE, cdef_of
from tests.support.closed import Closed
from tests.support.oracle import peak

CLOSED = ("four_bar", "five_bar", "five_bar_3", "five_bar_4", "three_rrr", "palletizer", "delta", "six_bar", "stewart")
TICKS = 700


@cache
def example(name: str, hz: int = 1000) -> tuple[Model, np.ndarray, np.ndarray]:
    """Return the model, the positions at the middles of the first ticks, and the emitted step's torque."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    motion = Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)
    model = Model.of(replace(mechanism, control=replace(mechanism.control, rate_hz=hz, knot_hz=min(hz, 250))))
    positions = motion.middles(min(TICKS, round(0.9 * motion.duration * hz)), model.dt)
    return model, positions, discrete.emitted_torque(model, positions)


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize(("precision", "error"), [("double", 1e-10), ("single", 1e-5)])
def test_the_step_is_the_discretisation_to_its_precision(name: str, precision: str, error: float) -> None:
    model, positions, plain = example(name)
    assert peak(CompiledStep(model, precision).torque(positions) - plain) <= error * peak(plain)


@pytest.mark.parametrize("name", ["four_bar", "five_bar_3", "palletizer"])
def test_the_discretisation_converges_to_the_reference_at_second_order(name: str) -> None:
    errors = []
    for hz in (250, 500):
        model = example(name, hz)[0]
        motion = Trajectory.load(MECHANISMS / f"{name}.csv", model.mechanism)
        ticks = round(0.6 * motion.duration * hz)
        exact = schemes.exact(model, motion, (np.arange(ticks) + 0.5) * model.dt)
        errors.append(peak(discrete.emitted_torque(model, motion.middles(ticks, model.dt)) - exact) / peak(exact))
    assert 3.5 < errors[0] / errors[1] < 4.6


LOOK = """
void ft_test_at(const void *s, ft_turn *q);
"""
LOOK_C = """
#include "ft_step.h"
#include <string.h>
void ft_test_at(const void *s, ft_turn *q);
void ft_test_at(const void *s, ft_turn *q)
{
    memcpy(q, ((const ft_step_state *)s)->at.q, sizeof ((const ft_step_state *)s)->at.q);
}
"""


def closures(model: Model, positions: np.ndarray) -> np.ndarray:
    """Return the gaps of the loops (N,), m or rad, in the poses of the single-precision step."""
    ffi, lib = build(emit.step_sources(model) | {"ft_host.c": HOST_SOURCE, "look.c": LOOK_C},
                     cdef_of("single") + LOOK, "single")
    turns, state, oracle = Turns(model, "single"), lib.ft_host_state(), Closed(model.mechanism)

    def pointer(kind: str, array: np.ndarray) -> Any:
        return ffi.from_buffer(kind, array)

    assert not lib.ft_host_start(state, pointer("ft_turn[]", turns.of(positions[0])))
    found, at, tau = [], np.empty(model.n, np.int32), np.empty(positions.shape[1], np.float32)
    units = np.array([2.0**-28 if b.prismatic else 2.0 * np.pi / 2.0**32 for b in model.bodies])
    for k, sample in enumerate(turns.samples(positions)):
        lib.ft_step(state, ffi.from_buffer(np.array([sample])), pointer("ft_real[]", tau))
        if k % 10 == 0:
            lib.ft_test_at(state, pointer("ft_turn[]", at))
            found.append(np.abs(oracle.residual(at * units)).max())
    return np.array(found)


@pytest.mark.parametrize("name", ["four_bar", "five_bar_3", "three_rrr", "delta"])
def test_single_precision_keeps_the_loops_closed_to_a_micrometre(name: str) -> None:
    model, positions, _ = example(name)
    assert closures(model, positions).max() <= 1e-6


def test_a_singular_pose_stops_the_step_before_it_is_reached() -> None:
    for name in ("four_bar", "five_bar"):
        mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
        through = Trajectory.load(MECHANISMS / f"{name}_singular.csv", mechanism)
        model = Model.of(mechanism)
        positions = through.middles(round(through.duration * 1000), model.dt)
        for precision in ("single", "double"):
            with pytest.raises(Refused, match="singular pose in tick"):
                CompiledStep(model, precision).torque(positions)
        with pytest.raises(Refused, match="singular pose"):
            discrete.emitted_torque(model, positions)


def test_without_the_forces_at_the_cuts_the_torque_is_another() -> None:
    model, positions, plain = example("four_bar")
    alone = Model.of(replace(model.mechanism, control=replace(model.mechanism.control, allocation="partition")))
    step = CompiledStep(alone, "double").torque(positions)
    assert peak(step - discrete.emitted_torque(alone, positions)) < 1e-10 * peak(step) < peak(step - plain)


def test_redundant_torques_are_shared_as_the_efforts_say() -> None:
    model, positions, _ = example("five_bar_4")
    joints = tuple(replace(j, limits=replace(j.limits, effort=0.4 + 0.5 * i))
                   for i, j in enumerate(model.mechanism.joints))
    uneven = Model.of(replace(model.mechanism, joints=joints))
    plain, even = discrete.emitted_torque(uneven, positions), discrete.emitted_torque(model, positions)
    assert peak(plain - even) > 0.01 * peak(even)
    assert peak(CompiledStep(uneven, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


@pytest.mark.parametrize("name", ["two_arm_grasp", "biped"])
def test_every_mode_alone_is_right(name: str) -> None:
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    for mode in mechanism.modes:
        model = Model.of(in_mode(mechanism, mode.name))
        assembly, rng = assemble(model), np.random.default_rng(3)
        ends = assembly.reach(assembly.start[list(assembly.independent)]
                              + rng.uniform(-0.3, 0.3, (2, assembly.mobility)))[:, list(assembly.independent)]
        s = np.linspace(0.0, 1.0, 400)[:, None]
        way = np.zeros((400, len(assembly.actuated)))
        way[:, [assembly.actuated.index(i) for i in assembly.independent]] = (
            ends[0] + s**3 * (10.0 - 15.0 * s + 6.0 * s**2) * (ends[1] - ends[0]))
        positions = assembly.follow(way)[:, list(assembly.actuated)] if assembly.dependent else way
        plain = discrete.emitted_torque(model, positions)
        assert peak(CompiledStep(model, "double").torque(positions) - plain) <= 1e-10 * peak(plain)
