"""Exact sines and cosines at the knots, outside the tick: the same torque, and the same bits on host and chip."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.motion.trajectory import knots
from femtorque.codegen.toolchain.path_library import CompiledPath
from femtorque.hil.cost.measure import short_motion
from femtorque.hil.play import run

ROOT = Path(__file__).resolve().parents[2]


def mechanism(trig, name="three_link"):
    loaded = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    return replace(loaded, name=f"{loaded.name}-{trig}", control=replace(loaded.control, trig=trig))


@pytest.mark.parametrize("name", ["three_link", "six_axis"])
def test_that_both_ways_give_the_same_torque(name):
    motion = knots(short_motion(mechanism("tick", name)), mechanism("tick", name))
    tick, knot = (CompiledPath(mechanism(trig, name)).torque(motion) for trig in ("tick", "knot"))
    assert not np.array_equal(tick, knot)
    assert np.max(np.abs(tick - knot)) < 2e-5 * np.max(np.abs(tick))


@pytest.mark.parametrize("name", ["three_link", "six_axis"])
def test_that_host_and_chip_agree_bit_for_bit(name):
    m = mechanism("knot", name)
    result = run.run(m, short_motion(m), out=ROOT / run.folder(m, True))
    assert result.ended == "done"
    assert result.bit_identical is True


def test_that_sines_left_to_themselves_are_not_the_chips(monkeypatch):
    """The test above can fail: a host that never takes the exact ones differs."""
    m = mechanism("knot")
    from femtorque.codegen.toolchain import path_library as compiled_path

    monkeypatch.setattr(compiled_path, "HOST_SOURCE",
                        compiled_path.HOST_SOURCE.replace("ft_step_take(&s, m.pairs);", "(void)s;"))
    assert run.run(m, short_motion(m), out=ROOT / run.folder(m, True)).bit_identical is False
