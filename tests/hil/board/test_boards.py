"""Images of all boards on the virtual board: the demo on the second chip family, gate drivers and half bridges, locked
antiphase, e-stops by hardware or software."""

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import STATES
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board.bridges import Bridge
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import play_motion, run_closed_loop, session_with
from femtorque.hil.scenarios.demo import TRAJECTORY
from femtorque.host.link import Session
from tests.support import rig
from tests.support.boards import DRIVING, IMAGES, driven, image, three_link


def moved(mechanism: Mechanism, built: build.BuildResult):  # noqa: ANN201
    """A short motion of all joints."""
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        return play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)


def armed(board: VirtualBoard) -> Session:
    session = session_with(board)
    session.connect()
    rig.arm(board, session)
    return session


@pytest.mark.bench
def test_the_g474_runs_the_demo_as_the_f405_does(tmp_path):
    """Mechanism, trajectory, plant and code above the chip are the same: each joint's errors agree within a tenth."""
    results = {}
    for name in ("f405rg-4", "nucleo-g474re-6"):
        mechanism = three_link(name, tmp_path)
        out = rig.place() if name == "f405rg-4" else IMAGES / "nucleo-g474re-6-voltage" / "image"
        results[name] = run_closed_loop(mechanism, Trajectory.load(TRAJECTORY, mechanism), out=out)
        assert results[name].good and results[name].faults == ()
    ours, theirs = (results[name].tracking_rms for name in ("nucleo-g474re-6", "f405rg-4"))
    np.testing.assert_allclose(ours, theirs, rtol=0.1)
    assert float(theirs.max()) < 2e-4


@pytest.mark.parametrize("name", DRIVING)
def test_three_links_are_built_for_and_moved_by_every_board(name):
    mechanism, built = image(name)
    assert built.board == name and built.stack_bytes < built.stack_reserved
    result = moved(mechanism, built)
    assert result.ended == "done" and result.faults == () and float(result.tracking_max.max()) < 1e-3


def test_locked_antiphase_moves_the_arm_as_sign_and_magnitude_do():
    """The board's e-stop loop cuts the bridges. The PWM has the sign, so that the sign's delay is gone."""
    signed, locked = (moved(*image("f405rg-6", drive)) for drive in ("voltage", "antiphase"))
    assert locked.ended == "done" and locked.faults == () and locked.outputs_safe
    assert max(signed.tracking_rms.max(), locked.tracking_rms.max()) < 1e-4  # rad, an eighth of an encoder count


@pytest.mark.parametrize(("name", "message"), [
    ("f405rg-4",
     "joint.shoulder.motor.drive = 'antiphase': the e-stop loop of board 'f405rg-4' stops the PWM, not the "),
    ("odrive-v3.6", "joint.shoulder.motor.drive = 'antiphase': board 'odrive-v3.6' has half bridges there"),
])
def test_antiphase_is_refused_where_no_pwm_would_be_full_voltage(tmp_path, name, message):
    with pytest.raises(BadInput, match=message):
        build.project(driven(three_link(name, tmp_path), "antiphase"))


def test_no_interval_of_locked_antiphase_drives_a_motor_that_is_not_to_move():
    """From power-up through arming and an e-stop to its end: a bridge is off, or gives next to nothing."""
    mechanism, built = image("f405rg-6", "antiphase")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        looked = []

        def look():  # 23 times in ten periods of the PWM, never at the same place in two
            looked.append(board.voltages())
            board.at(board.seconds + 21.7e-6, look)

        board.at(board.seconds, look)
        session = armed(board)
        board.run(0.02)
        board.estop(True)
        assert np.isnan(board.voltages()).all()  # by the loop, before any instruction
        board.run(0.02)
        board.estop(False)
        board.run(0.02)
        assert np.isnan(board.voltages()).all()
        on = np.array([volts for volts in looked if not np.isnan(volts).any()])
        assert 1000 < len(on) < len(looked) and np.abs(on).max() < 0.5
        session.link.close()


@pytest.mark.parametrize("name", DRIVING)
def test_an_e_stop_ends_in_estop_with_outputs_safe_within_two_ticks(name):
    """By hardware at once; by the tick on odrive-v3.6, which has no break input."""
    mechanism, built = image(name)
    with rig.connected(mechanism, built.elf, armed=True) as (board, session):
        board.run(0.02)
        assert not np.isnan(board.voltages()).any()
        board.estop(True)
        board.run({"odrive-v3.6": 1.1e-3, "nucleo-g474re-6": 0.4e-6}.get(name, 0.0))  # a tick; the filter of the break
        assert board.outputs_safe()
        board.run(0.05)
        session.pump()
        assert session.status.state == STATES["ESTOP"][0] and board.outputs_safe()


@pytest.mark.parametrize(("name", "drive"), [*((name, "voltage") for name in DRIVING), ("f405rg-6", "antiphase")])
def test_voltages_follow_whatever_moves_pins_and_timers(name, drive):
    """A bridge's share of the bus is kept until a part may have changed; this test computes it after every step too."""
    mechanism, built = image(name, drive)
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        seen = set()

        def compare() -> None:
            afresh = [Bridge(board.board, board.chip, joint, channel).share for joint, channel in board.joints]
            volts = [np.nan if share is None else share * board.bus_voltage for share in afresh]
            if not np.isnan(board.voltages()).all():  # the parts between bridge and motor let it through
                np.testing.assert_array_equal(board.voltages(), volts)
                seen.update(volts)

        session = armed(board)
        board.plant.v = np.array([0.5, *board.plant.v[1:]])  # a push, which the loop answers
        for _ in range(200):
            board.run(47e-6)
            compare()
        board.estop(True)
        compare()
        board.reset("pin")
        compare()
        assert len(seen) > 5
        session.link.close()


def test_gate_drivers_are_told_before_anything_switches():
    mechanism, built = image("odrive-v3.6")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.run(0.05)
        for driver in board.gate_drivers:
            assert driver.enabled and driver.registers == {2: 20 << 6 | 1 << 4, 3: 1 << 2}  # 0.648 V, latched; 20 V/V
        assert np.isnan(board.voltages()).all()  # all four switches of a bridge are off
        session = armed(board)
        board.run(0.01)
        assert not np.isnan(board.voltages()).any()
        board.kill_crystal()  # the restart resets the drivers and writes their registers again
        for driver in board.gate_drivers:
            driver.registers = {2: 0, 3: 0}
        board.run(0.5)
        assert np.isnan(board.voltages()).all() and [d.registers[2]
                                                     for d in board.gate_drivers] == [20 << 6 | 1 << 4] * 2
        session.link.close()


def test_a_gate_driver_that_does_not_answer_is_a_fault():
    mechanism, built = image("odrive-v3.6")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.gate_drivers[1].deaf = True
        board.chip.reset("power")
        session = session_with(board)
        session.connect()
        session.pump()
        assert session.status.state == STATES["FAULT"][0] and session.status.fault == FAULTS["CHIP"][0]
        session.link.close()


@pytest.mark.parametrize("name", DRIVING)
def test_a_driver_that_reports_a_fault_stops_the_arm(name):
    mechanism, built = image(name)
    with rig.connected(mechanism, built.elf, armed=True) as (board, session):
        board.run(0.02)
        board.driver_fault(True)
        board.run(0.05)
        session.pump()
        assert session.status.state == STATES["FAULT"][0] and session.status.fault == FAULTS["DRIVER"][0]
        assert board.outputs_safe()


@pytest.mark.parametrize("name", [name for name in DRIVING if boards.load_board(name).outputs.wake_us])
@pytest.mark.parametrize(("wake_s", "low_asleep"), [(0.5e-3, True), (1e-3, True), (1e-3, False), (0.0, True)])
def test_bridges_whose_fault_line_is_low_while_they_sleep_or_wake_up_are_armed(name, wake_s, low_asleep):
    """Data sheets allow all of these fault lines. A later fault still stops the arm."""
    mechanism, built = image(name)
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.power.sleeping.wake_s, board.power.sleeping.low_asleep = wake_s, low_asleep
        session = armed(board)
        rig.pump(board, session, 3)
        assert session.status.state == STATES["HOLD"][0] and not np.isnan(board.voltages()).any()
        board.driver_fault(True)
        board.run(0.05)
        session.pump()
        assert session.status.state == STATES["FAULT"][0] and session.status.fault == FAULTS["DRIVER"][0]
        assert board.outputs_safe()
        session.link.close()


def test_a_driver_that_is_at_fault_is_found_so_once_it_has_had_its_time_to_wake_up():
    mechanism, built = image("nucleo-g474re-6")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.driver_fault(True)
        session = session_with(board)
        session.connect()
        with pytest.raises(Refused, match="took ARM but did not reach HOLD .* fault DRIVER"):
            rig.arm(board, session)
        assert board.outputs_safe()
        session.link.close()


def test_current_loops_wait_for_bridges_that_wake_up():
    """The pulse that tests their sensors would find no current in a bridge that sleeps."""
    mechanism, built = image("nucleo-g474re-6", "current")
    result = moved(mechanism, built)
    assert result.ended == "done" and result.faults == ()
