"""The flash image tracks motions on the virtual board, with the host's arithmetic, repeatably."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.motion import knots
from femtorque.codegen.wire import Poll
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from femtorque.hil.play.closed_loop import identical
from femtorque.host.link.session import SILENCE
from tests.support import rig


@pytest.fixture(scope="module")
def played():
    return rig.play()


@pytest.fixture(scope="module")
def experiment():
    return rig.play(motion=rig.long_motion())


def test_a_motion_is_played_to_its_end_and_the_board_disarmed(played):
    assert played.ended == "done" and played.good
    assert played.state == "DISARMED" and played.faults == ()
    assert played.outputs_safe and played.retransmissions == 0
    assert played.moving.stop - played.moving.start == pytest.approx(1000 * rig.DURATION, abs=8)


def test_the_arm_really_moves_to_where_the_motion_ends(played):
    np.testing.assert_allclose(played.record.q[played.moving.stop - 1], rig.start() + rig.REACH, atol=3e-3)
    np.testing.assert_allclose(played.record.q[0], rig.start(), atol=1e-9)


def test_the_targets_are_those_of_the_trajectory(played):
    """The targets at the tick boundaries differ from the trajectory by at most a few wire units."""
    moving = played.target_positions[played.moving]
    ticks = np.arange(len(moving)) + 1.0  # the first moving target belongs to the end of the first interval
    errors = [np.abs(moving - rig.short_motion().at((ticks + shift) * 1e-3)[0]).max() for shift in (-1, 0, 1, 2)]
    assert min(errors) < 1e-8


def test_feed_forward_divides_the_error_of_the_experiment_by_ten(experiment):
    alone = rig.play(motion=rig.long_motion(), feedforward=False)
    assert alone.ended == experiment.ended == "done"
    assert np.all(alone.tracking_rms > 5e-3)
    assert np.all(experiment.tracking_rms < 0.1 * alone.tracking_rms)
    assert alone.digest != experiment.digest  # the images differ
    assert alone.bit_identical is None


def test_the_same_run_twice_is_the_same_to_the_last_bit(played):
    again = rig.play().record
    assert np.array_equal(again.tick, played.record.tick)
    for name in ("torque_ff", "torque", "duty", "q", "v", "instructions", "seconds"):
        assert np.array_equal(getattr(again, name), getattr(played.record, name)), name


def test_the_whole_three_second_motion_is_bit_identical_on_chip_and_host(experiment):
    assert experiment.bit_identical is True
    record = experiment.record
    one_unit_off = replace(record, torque_ff=np.nextafter(record.torque_ff, np.float32(np.inf)))
    mechanism = rig.three_link()
    assert identical(mechanism, knots(rig.long_motion(), mechanism), one_unit_off, lead=1) is False


@pytest.mark.parametrize("change", [{"mass_scale": 1.2}, {"friction_scale": 3.0}])
def test_a_heavier_plant_and_a_plant_with_more_friction_track_worse(played, change):
    worse = rig.play(plant=Plant(rig.three_link(), **change))
    assert worse.ended == "done"
    assert np.linalg.norm(worse.tracking_rms) > 1.3 * np.linalg.norm(played.tracking_rms)


def test_outputs_are_safe_from_power_on_until_armed_and_after_disarming():
    mechanism = rig.three_link()
    with VirtualBoard(rig.image(), mechanism, Plant(mechanism)) as board:
        session = session_with(board)
        for _ in range(60):
            board.run(0.5e-3)
            assert board.outputs_safe()
        session.connect()
        with pytest.raises(Refused, match="NOT_HOMED"):
            session.arm()
        assert board.outputs_safe()
        session.home(rig.start())
        session.arm()
        board.plant.v = np.array([0.5, *board.plant.v[1:]])  # an external push, to which the loop responds
        board.run(5e-3)
        assert not board.outputs_safe()
        session.disarm()
        assert board.outputs_safe() and np.all(np.isnan(board.voltages()))


def test_what_a_plant_cannot_do_ends_the_run():
    def refuse() -> None:
        raise RuntimeError("it cannot be closed")

    with rig.connected(armed=True) as (board, _):
        board.plant.watch(refuse)
        with pytest.raises(RuntimeError, match="it cannot be closed"):
            board.run(0.01)


def test_an_unknown_fault_is_bad_input():
    with pytest.raises(BadInput, match="no such fault.*encoder-jump"):
        rig.play("gremlins")


class Clock:
    """The machine's time. Simulated time passes both while the host sleeps and while it works."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds + 60e-6  # the kernel's slack


class Paced(Clock):
    """A board and its clock. A run takes `run` s of processor time, plus `grant` s for each simulated second."""

    def __init__(self, run, grant):
        self.seconds = self.worked = self.latest = 0.0
        self.per_run, self.grant = run, grant

    def run(self, seconds):
        self.latest = max(self.latest, self.now - self.seconds)
        self.seconds += seconds
        self._work(self.per_run + self.grant * seconds)

    def host_late(self):
        return False

    def _work(self, seconds):
        self.worked += seconds
        self.now += seconds

    def monotonic(self):
        self._work(1e-6)
        return self.now


@pytest.fixture
def served(monkeypatch):
    """Return a function that runs a board with a clock until the clock shows a time, s."""
    def serve(board, clock, until):
        monkeypatch.setattr("femtorque.hil.board.virtual.time", clock)
        VirtualBoard.serve(board, until=lambda: clock.now > until)

    return serve


def test_a_served_board_sleeps_where_nothing_is_due(served):
    """The simulation of 0.1 ms takes 4 % of this time. Therefore at most one run per millisecond is allowed."""
    board = Paced(run=1e-4, grant=0.04)
    served(board, board, 1.0)
    assert board.seconds == pytest.approx(1.0, abs=3e-3) and board.latest < 3e-3
    assert board.worked < 0.15


def test_a_served_board_that_was_too_slow_does_not_run_after_lost_time(served):
    board = Paced(run=0.0, grant=2.0)
    served(board, board, 10.0)
    lost = board.now - board.seconds
    assert lost == pytest.approx(5.0, abs=0.1)
    board.grant = 0.0
    served(board, board, 20.0)
    assert board.now - board.seconds == pytest.approx(lost, abs=0.1)


def test_a_served_board_waits_for_a_host_that_is_late_but_not_for_ever(served):
    """The host is silent for half a second, five time-outs, and later for ever."""
    clock = Clock()
    with rig.connected(armed=True) as (board, session):
        session.link.send(Poll())
        began = board.seconds
        served(board, clock, 0.5)
        assert board.seconds - began == pytest.approx(0.075, abs=2e-3)
        session.pump()
        assert session.in_state("HOLD")
        began = board.seconds
        served(board, clock, 3.5)
        lost = clock.now - 0.5 - (board.seconds - began)
        assert lost == pytest.approx(0.7, abs=0.01) and lost < SILENCE, "a host that only listens stays connected"
        session.pump()
        assert session.in_state("FAULT") and session.status.fault == FAULTS["HOST_LOST"][0]
