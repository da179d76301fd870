"""Images on virtual boards detect external torques. The plants do not report these external torques to the board."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.control.contact import RETURN_TRIES
from femtorque.codegen.mechanism import Friction, load_mechanism
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.model import Model
from femtorque.codegen.motion import knots
from femtorque.codegen.wire import state_name
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.rigid import Plant
from femtorque.host.board import Board
from femtorque.host.link import way, wrench_of
from femtorque.host.record import read_log
from femtorque.host.show import monitor
from femtorque.host.stream import stream
from tests.support import oracle
from tests.support.feeling import ROOT, feeling, six_axis

MOTION = ROOT / "mechanisms" / "six_axis.csv"
BEND = 4
STEP = 2.0  # N m


PEAK = 0.01  # fraction of the effort: quantisation noise in velocities, times inertia and bandwidth


def smooth(mechanism):
    """Return an arm without friction, and its plant."""
    joints = tuple(replace(joint, friction=Friction()) for joint in mechanism.joints)
    return replace(mechanism, name=f"{mechanism.name}_smooth", joints=joints)


def push(size=STEP, joint=BEND):
    torque = np.zeros(6)
    torque[joint] = size
    return torque


@pytest.mark.parametrize("joint", [3, 4, 5])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_step_of_torque_is_a_touch_within_ten_milliseconds_and_measured(joint, sign):
    with feeling(six_axis()) as arm:
        assert arm.reports[-1].touches == 0
        before, tick = arm.reports[-1].external[joint], arm.push(push(sign * STEP, joint))
        arm.wait(0.2)
        last = arm.reports[-1]
        late = last.touch_tick - tick
        print(f"joint {joint}: felt after {late} ms, {last.external[joint] - before:.3f} N m")
        holds = arm.board.mechanism.streamed[joint].friction.coulomb  # friction at rest supports at most this torque
        assert last.touches == 1 and last.joint == joint and 0 <= late <= 10
        assert STEP - holds - 0.05 <= sign * (last.external[joint] - before) <= STEP + 0.05


def test_a_torque_at_rest_is_measured_where_no_friction_hides_it():
    mechanism = smooth(six_axis())
    with feeling(mechanism) as arm:
        assert np.abs(arm.reports[-1].external).max() < 0.3
        arm.push(np.array([3.0, -4.0, 2.0, 1.0, -1.0, 0.5]))
        arm.wait(0.3)
        felt = np.median([report.external for report in arm.reports[-10:]], axis=0)  # one count is 0.9 N m
        print(np.round(felt, 3))
        assert felt == pytest.approx([3.0, -4.0, 2.0, 1.0, -1.0, 0.5], abs=0.3)


def test_a_perfect_model_feels_next_to_nothing_in_motion():
    """The only remaining noise comes from the encoders' resolution and the observed velocities."""
    with feeling(smooth(six_axis())) as arm:
        assert arm.play(MOTION) == "done"
        peak = np.abs(arm.external).max(axis=0)
        print(np.round(peak, 3))
        assert np.all(peak <= PEAK * np.array([j.limits.effort for j in arm.board.mechanism.streamed]))


def test_a_touch_in_motion_is_felt_too_and_logged(tmp_path):
    log = tmp_path / "run.mcap"
    with feeling(six_axis()) as arm, Board(arm.session, arm.board.mechanism).logged(log):
        at = arm.board.seconds + 0.5
        began = []
        arm.board.at(at, lambda: began.append(arm.push(push())))
        assert arm.play(MOTION) == "done"
        late = arm.reports[-1].touch_tick - began[0]
        print(f"in motion: felt after {late} ms")
        assert arm.reports[-1].joint == BEND and 0 <= late <= 10
    felt = read_log(log).outside
    assert np.abs(felt.external - [report.external for report in arm.reports[1:]]).max() == 0.0
    assert felt.touches[-1] == 1 and felt.joint[-1] == "bend"


@pytest.mark.parametrize("mass", [0.95, 1.0, 1.05])
def test_an_error_of_the_model_is_no_touch(mass):
    mechanism = six_axis()
    with feeling(mechanism, Plant(mechanism, mass_scale=mass)) as arm:
        assert arm.play(MOTION) == "done"
        arm.wait(0.3)
        peak = np.abs(arm.external).max(axis=0)
        print(f"mass {mass}: {np.round(peak, 2)}")
        assert arm.reports[-1].touches == 0
        if mass == 1.0:  # Coulomb friction and motor losses explain the torque
            coulomb = np.array([j.friction.coulomb for j in mechanism.streamed])
            assert np.all(peak <= 2.0 * coulomb)


def until(arm, state, most=20.0):
    """Wait for a state, for at most `seconds` of the board's time. Fail if the board does not reach the state."""
    for _ in range(round(10.0 * most)):
        arm.wait(0.1)
        if state_name(arm.session.status) == state:
            return
    raise AssertionError(f"not {state} but {state_name(arm.session.status)} after {most} s")


def test_an_arm_that_has_given_way_to_a_push_goes_back_once_it_is_over():
    with feeling(six_axis("return")) as arm:
        board, before = Board(arm.session, arm.board.mechanism), arm.board.plant.q.copy()
        arm.push(push(6.0))
        arm.wait(0.3)
        away = arm.board.plant.q[BEND] - before[BEND]
        assert state_name(arm.session.status) == "FLOAT" and board.feeling.way == "AWAY" and away > 0.02
        arm.push(push(0.0))
        until(arm, "FOLLOW")
        assert board.feeling.way == "BACK"
        until(arm, "HOLD")
        arm.wait(0.5)
        left = np.abs(arm.board.plant.q - before).max()
        print(f"pushed away by {away:.3f} rad, {left:.2e} rad from where it was")
        assert left < 1e-3 and board.feeling.way == "" and arm.reports[-1].touches == 1


def test_a_spring_that_presses_for_long_is_not_pressed_back_for_longer_than_the_tries():
    """The spring holds the arm in a pose that friction allows. From this time on the board estimates no external
    torque. On the way back the motion is against the spring's force."""
    with feeling(six_axis("return")) as arm:
        there = arm.board.plant.q[BEND] + 0.5
        worst = []

        def spring(plant):
            force = 40.0 * (there - plant.q[BEND])
            worst.append(force)
            return push(force)

        arm.board.plant.hand = spring
        arm.wait(0.2)
        del worst[:]
        for _ in range(400):
            arm.wait(0.1)
            if way(arm.reports[-1]) == "STAYS":
                break
        print(f"{arm.reports[-1].touches} touches; the spring pressed with {max(worst):.2f} N m at most")
        assert way(arm.reports[-1]) == "STAYS" and state_name(arm.session.status) == "FLOAT"
        assert max(worst) < 3.0 and arm.reports[-1].touches >= RETURN_TRIES + 1
        arm.wait(3.0)
        assert state_name(arm.session.status) == "FLOAT"


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_motion_waits_for_an_arm_that_has_given_way(goes_on):
    with feeling(six_axis("return")) as arm:
        motion = knots(short_motion(arm.board.mechanism), arm.board.mechanism)
        played = []

        def hand(plant):
            """Return a simulated hand that pushes for a fifth of a second, in the middle of the motion."""
            if played or state_name(arm.session.status) == "TRACK":
                played.append(arm.board.ticks)
            return push(8.0 if played and 100 < played[-1] - played[0] < 300 else 0.0)

        arm.board.plant.hand = hand
        if goes_on:
            outcome = stream(arm.session, motion, resume=1)
            assert (outcome.ended, outcome.resumed) == ("done", 1) and arm.reports[-1].touches == 1
        else:
            with pytest.raises(Refused, match=r"stopped on the path .* because joint \w+ felt a touch"):
                stream(arm.session, motion)
            assert state_name(arm.session.status) == "HOLD"


def test_a_script_and_the_monitor_report_what_is_felt_and_the_wrench_at_the_tip():
    """Pinocchio's Jacobian converts a force at the tip into joint torques. The board's estimate equals this wrench."""
    mechanism = smooth(six_axis())
    model = oracle.pinocchio_model(Model.of(mechanism))
    data = model.createData()
    pin.computeJointJacobians(model, data, np.array([j.start for j in mechanism.streamed]))
    jacobian = pin.getJointJacobian(model, data, model.njoints - 1, pin.LOCAL_WORLD_ALIGNED)
    wrench = np.array([6.0, -4.0, 5.0, 0.4, 0.5, -0.3])
    with feeling(mechanism) as arm:
        board = Board(arm.session, mechanism)
        arm.push(jacobian.T @ wrench)
        arm.wait(0.4)
        assert board.wrench("tool_flange").force == pytest.approx(wrench[:3], abs=4.0)  # with the noise of one report
        assert board.feeling.external == pytest.approx(jacobian.T @ wrench, abs=1.5)
        arm.wait(1.5)
        mean = arm.external[-100:].mean(axis=0)
        found = wrench_of(mechanism, arm.session.positions(), mean, "tool_flange")
        print(np.round(found.force, 2), np.round(found.moment, 3))
        assert found.force == pytest.approx(wrench[:3], abs=0.3)
        assert found.moment == pytest.approx(wrench[3:], abs=0.05)
        assert len(monitor.snapshot(arm.session)["felt"]["external"]) == 6
        with pytest.raises(Refused, match="do not feel a wrench"):
            board.wrench("forearm")


def test_drives_on_can_feel_too():
    """The drives report positions in steps of 0.38 mrad. A lower bandwidth tolerates these steps."""
    source = load_mechanism(ROOT / "mechanisms" / "damiao_arm.toml")
    mechanism = replace(source, name="damiao_feel", feel=Feel("none", 5.0))
    with feeling(mechanism, plant_of(mechanism)) as arm:
        assert stream(arm.session, knots(short_motion(mechanism), mechanism)).ended == "done"
        efforts = np.array([j.limits.effort for j in mechanism.streamed])
        assert np.all(np.abs(arm.external).max(axis=0) <= 0.05 * efforts) and arm.reports[-1].touches == 0
        before = arm.external[-15:].mean(axis=0)
        arm.push(np.array([0.0, 3.0, 0.0]))
        arm.wait(1.0)
        felt = arm.external[-15:].mean(axis=0) - before
        print(np.round(felt, 3))
        assert felt == pytest.approx([0.0, 3.0, 0.0], abs=0.3)
