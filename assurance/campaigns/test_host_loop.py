"""A PC's loop on a bus of drives: the effect of its gravity compensation, and the arm's motion while the PC is late."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from assurance.campaigns.host_loop import HZ, Desk, HostLoop, Jitter, Ran, packed
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.hil.drives import Ranges
from femtorque.hil.drives.families.damiao.drive import ENABLED, Damiao
from femtorque.hil.drives.motor import Command
from tests.support.drive_bench import DriveBench

REACH = (0.4, -0.2, 0.1)  # rad
TIMES = (0.8, 1.4)  # s: of the arrival, and of the end at rest


def stretched() -> Mechanism:
    """The small arm of drives, level at its start."""
    m = load_mechanism(MECHANISMS / "damiao_arm.toml")
    return replace(m, joints=tuple(replace(joint, start=0.0) for joint in m.joints))


def motion(m: Mechanism) -> Trajectory:
    start, rest = np.zeros(len(REACH)), np.zeros((3, len(REACH)))
    return from_rows([j.name for j in m.streamed], [0.0, *TIMES], [start, REACH, REACH], rest, rest)


@cache
def ran(gravity: bool = True, stall: float = 0.0, jitter: Jitter | None = None) -> Ran:
    m = stretched()
    return HostLoop(Desk(m), motion(m), gravity, jitter).run((0.3, stall) if stall else (np.inf, 0.0))


def test_gravity_takes_most_of_the_sag_away():
    without, with_ = (np.abs((r.target - r.q)[-100:].mean(axis=0)) for r in (ran(gravity=False), ran()))
    assert without[0] > 0.04 and np.all(with_ < 0.1 * without[0])


def test_the_arm_lags_by_what_the_loop_does():
    """The lag is the mean speed times a wait of half a round and of the loop's work; more if the PC wakes late."""
    lag = (ran().target - ran().q)[:800, 0].mean() / (REACH[0] / TIMES[0])
    assert 0.5 / HZ < lag < 2.0 / HZ
    late = ran(jitter=Jitter(late=4e-3))
    assert np.abs(late.target - late.q).max() > np.abs(ran().target - ran().q).max()


def test_a_host_that_does_nothing_leaves_the_drives_with_their_last_command_and_makes_them_jump_after_it():
    stalled = ran(stall=0.3)
    last = np.searchsorted(stalled.seconds, 0.3 + 0.3)
    behind = [abs(r.target[last, 0] - r.q[last, 0]) for r in (stalled, ran())]
    speeds = [np.abs(np.diff(r.q[:, 0])).max() for r in (stalled, ran())]
    assert behind[0] > max(0.3 * REACH[0], 5.0 * behind[1]) and speeds[0] > 1.5 * speeds[1]


def test_the_wire_carries_three_frames_a_round_and_drive():
    assert ran().busy == pytest.approx(HZ * 3 * 4 * 115e-6, rel=0.15)  # question, command, an answer to each


def test_commands_are_packed_as_drives_read_them():
    r = Ranges(12.5, 10.0, 28.0)
    asked = Command(1.0, -2.0, 30.0, 1.5, -7.0)
    bench = DriveBench(lambda wire: Damiao(wire, 1, 0x11, r))
    bench.drive.status = ENABLED
    bench.ask(1, packed(r, asked))
    heard = bench.drive.motor.command
    for name, step in (("position", 25 / 65535), ("velocity", 20 / 4095), ("kp", 500 / 4095), ("kd", 5 / 4095),
                       ("torque", 56 / 4095)):
        assert 0.0 <= getattr(asked, name) - getattr(heard, name) < step
