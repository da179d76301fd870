"""The images of all boards move the virtual board, and an e-stop of hardware or software stops the arm. The boards have
gate drivers, half bridges or locked antiphase."""

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.emit.blink import PATTERNS, WORDS
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import STATES
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board.bridges import Bridge
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import play_motion, session_with
from femtorque.host.link import Session
from tests.support import rig
from tests.support.boards import DRIVING, driven, image, three_link


def moved(mechanism: Mechanism, built: build.BuildResult):  # noqa: ANN201
    """Play a short motion of all joints."""
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        return play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)


def armed(board: VirtualBoard) -> Session:
    session = session_with(board)
    session.connect()
    rig.arm(board, session)
    return session


@pytest.mark.parametrize("name", DRIVING)
def test_three_links_are_built_for_and_moved_by_every_board(name):
    mechanism, built = image(name)
    assert built.board == name and built.stack_bytes < built.stack_reserved
    result = moved(mechanism, built)
    assert result.ended == "done" and result.faults == () and float(result.tracking_max.max()) < 1e-3


def test_locked_antiphase_moves_the_arm_as_sign_and_magnitude_do():
    """The e-stop circuit switches off the bridges. The PWM carries the sign, without a delay."""
    signed, locked = (moved(*image("f405rg-6", drive)) for drive in ("voltage", "antiphase"))
    assert locked.ended == "done" and locked.faults == () and locked.outputs_safe
    assert max(signed.tracking_rms.max(), locked.tracking_rms.max()) < 1e-4  # an eighth of an encoder count, rad


@pytest.mark.parametrize(("name", "message"), [
    ("f405rg-4",
     "joint.shoulder.motor.drive = 'antiphase': the e-stop loop of board 'f405rg-4' stops the PWM, not the "),
    ("odrive-v3.6", "joint.shoulder.motor.drive = 'antiphase': board 'odrive-v3.6' has half bridges there"),
])
def test_antiphase_is_refused_where_no_pwm_would_be_full_voltage(tmp_path, name, message):
    with pytest.raises(BadInput, match=message):
        build.project(driven(three_link(name, tmp_path), "antiphase"))


def test_no_interval_of_locked_antiphase_drives_a_motor_that_is_not_to_move():
    """From power-up through arming to the end of an e-stop, each bridge is off or outputs nearly 0 V."""
    mechanism, built = image("f405rg-6", "antiphase")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        looked = []

        def look():  # 23 times in ten PWM periods, each time at a different phase
            looked.append(board.voltages())
            board.at(board.seconds + 21.7e-6, look)

        board.at(board.seconds, look)
        armed(board)
        board.run(0.02)
        board.estop(True)
        assert np.isnan(board.voltages()).all()  # the run loop does this before any instruction
        board.run(0.02)
        board.estop(False)
        board.run(0.02)
        assert np.isnan(board.voltages()).all()
        on = np.array([volts for volts in looked if not np.isnan(volts).any()])
        assert 1000 < len(on) < len(looked) and np.abs(on).max() < 0.5


@pytest.mark.parametrize(("name", "drive"), [*((name, "voltage") for name in DRIVING), ("f405rg-6", "antiphase")])
def test_voltages_follow_whatever_moves_pins_and_timers(name, drive):
    """The board reuses a bridge's duty until a component may have changed. The test computes each duty."""
    mechanism, built = image(name, drive)
    with rig.connected(mechanism, built.elf, armed=True) as (board, _):
        seen = set()

        def compare() -> None:
            afresh = [Bridge(board.board, board.chip, joint, channel).share for joint, channel in board.joints]
            volts = [np.nan if share is None else share * board.bus_voltage for share in afresh]
            if not np.isnan(board.voltages()).all():  # the components between bridge and motor pass on the voltage
                np.testing.assert_array_equal(board.voltages(), volts)
                seen.update(volts)

        board.plant.v = np.array([0.5, *board.plant.v[1:]])  # an external push, to which the loop responds
        for _ in range(200):
            board.run(47e-6)
            compare()
        board.estop(True)
        compare()
        board.reset("pin")
        compare()
        assert len(seen) > 5


@pytest.mark.parametrize("name", [name for name in DRIVING if boards.load_board(name).outputs.wake_us])
@pytest.mark.parametrize(("wake_s", "low_asleep"), [(0.5e-3, True), (1e-3, True), (1e-3, False), (0.0, True)])
def test_bridges_whose_fault_line_is_low_while_they_sleep_or_wake_up_are_armed(name, wake_s, low_asleep):
    """Data sheets allow each of these behaviours. A later fault still stops the arm."""
    mechanism, built = image(name)
    with rig.connected(mechanism, built.elf) as (board, session):
        board.power.sleeping.wake_s, board.power.sleeping.low_asleep = wake_s, low_asleep
        rig.arm(board, session)
        rig.pump(board, session, 3)
        assert session.in_state("HOLD") and not np.isnan(board.voltages()).any()
        board.driver_fault(True)
        rig.pump(board, session, 5)
        assert session.in_state("FAULT") and session.status.fault == FAULTS["DRIVER"][0] and board.outputs_safe()


def test_a_driver_that_is_at_fault_is_found_so_once_it_has_had_its_time_to_wake_up():
    mechanism, built = image("nucleo-g474re-6")
    with rig.connected(mechanism, built.elf) as (board, session):
        board.driver_fault(True)
        with pytest.raises(Refused, match="took ARM but did not reach HOLD .* fault DRIVER"):
            rig.arm(board, session)
        assert board.outputs_safe()


def test_current_loops_wait_for_bridges_that_wake_up():
    """In a bridge that sleeps, the test pulse of the current sensors would measure no current."""
    mechanism, built = image("nucleo-g474re-6", "current")
    result = moved(mechanism, built)
    assert result.ended == "done" and result.faults == ()


ONCE, TWICE, THRICE = "#" + 15 * ".", "#.#" + 13 * ".", "#.#.#" + 11 * "."


def shown(board: VirtualBoard, session: Session) -> str:
    """Return the LED's states for two seconds, in eighths, from the beginning of a pattern on."""
    rig.pump(board, session, 1)
    ticks = (2000 - session.status.tick) % 2000 + 60  # time into the first step of a pattern
    rig.pump(board, session, ticks // 10)
    seen = ""
    for _ in range(16):
        seen += "#" if board.lit else "."
        rig.pump(board, session, 12)
        board.run(0.005)
    return seen


def test_every_state_has_a_pattern_and_those_that_a_person_must_tell_apart_differ():
    assert set(PATTERNS) == set(STATES) and {len(p) for p in PATTERNS.values()} == {16}
    told = [PATTERNS[name] for name in ("BOOT", "DISARMED", "HOLD", "TRACK", "FAULT", "ESTOP", "JOG")]
    assert len(set(told)) == 7 and set(PATTERNS.values()) == set(WORDS)


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_the_led_shows_disarmed_hold_fault_and_estop(name):
    mechanism, built = image(name)
    with rig.connected(mechanism, built.elf) as (board, session):
        assert shown(board, session) == ONCE
        rig.arm(board, session)
        assert shown(board, session) == 16 * "#" and session.in_state("HOLD")
        board.driver_fault(True)
        board.run(0.05)
        assert shown(board, session) == THRICE
        board.driver_fault(False)
        session.clear()
        board.estop(True)
        board.run(0.05)
        assert shown(board, session) == TWICE
