"""odrive-v3.6 with gate drivers that lose their registers, limit the current, shut down or do not answer."""

from collections.abc import Iterator

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.wire import Probe
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board import drv8301
from femtorque.hil.board.drv8301 import CONTROL_2, Drv8301
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.host.link import Session
from tests.support import rig
from tests.support.boards import image

NOMINAL = 24.0  # V


@pytest.fixture
def connected() -> Iterator[tuple[VirtualBoard, Session]]:
    mechanism, built = image("odrive-v3.6")
    with rig.connected(mechanism, built.elf) as (board, session):
        session.home(np.array([joint.start for joint in mechanism.moving]))
        yield board, session


def settled(board: VirtualBoard, session: Session, seconds: float = 0.06) -> None:
    rig.pump(board, session, round(seconds / 0.01))


def in_fault(session: Session, name: str) -> bool:
    return session.in_state("FAULT") and session.status.fault == FAULTS[name][0]


def gains(board: VirtualBoard) -> list[float]:
    return [driver.gain for driver in board.gate_drivers]


# ---- the model --------------------------------------------------------------------------------------


def test_a_driver_whose_supply_dips_forgets_and_pulls_its_fault_line():
    driver = Drv8301()
    driver.enable(0.0, True)
    driver.exchange(0.02, CONTROL_2 << 11 | 1 << 2, 1)
    assert driver.gain == 20.0 and not driver.pulls_fault(0.02)
    driver.supply(0.03, 5.0)
    assert driver.gain == 10.0 and driver.registers[2] == 0x400 and driver.pulls_fault(0.03)
    driver.supply(0.04, 0.0)  # without supply the driver pulls no line low and does not answer
    assert not driver.pulls_fault(0.04) and driver.exchange(0.04, 1 << 15, 1) == 0
    driver.supply(0.05, NOMINAL)
    assert driver.pulls_fault(0.055) and not driver.pulls_fault(0.061)
    driver.exchange(0.061, 1 << 15, 1)
    assert driver.exchange(0.061, 1 << 15, 1) == drv8301.FAULT | drv8301.GVDD_UV | drv8301.PVDD_UV
    assert driver.exchange(0.061, 1 << 15, 1) == 0  # cleared by the read


@pytest.mark.parametrize(("mode", "shut"), [
    (drv8301.CHOPPED, False), (drv8301.LATCHED, True), (drv8301.REPORTED, False)])
def test_over_current_shuts_a_driver_down_in_one_mode_alone(mode, shut):
    driver = Drv8301()
    driver.enable(0.0, True)
    driver.exchange(0.02, 2 << 11 | 20 << 6 | mode << 4, 1)
    driver.over_current(drv8301.FETLB_OC)
    assert (driver.pulls_fault(0.02), not driver.drives(0.02), not driver.octw) == (shut, shut, shut)
    driver.enable(0.03, False)
    driver.enable(0.03 + 10e-6, True)  # a short pulse clears latched faults, and keeps the registers
    assert driver.drives(0.05) and driver.registers[2] == 20 << 6 | mode << 4


# ---- the image --------------------------------------------------------------------------------------


def test_gate_drivers_are_told_before_anything_switches(connected):
    board, session = connected
    for driver in board.gate_drivers:
        assert driver.enabled and driver.registers == {2: 20 << 6 | 1 << 4, 3: 1 << 2}  # 0.648 V, latched; 20 V/V
    assert np.isnan(board.voltages()).all()  # all four switches of a bridge are off
    session.arm()
    board.run(0.01)
    assert not np.isnan(board.voltages()).any()
    board.kill_crystal()  # after the restart the board resets the drivers and writes their registers again
    for driver in board.gate_drivers:
        driver.registers = {2: 0, 3: 0}
    board.run(0.5)
    assert np.isnan(board.voltages()).all()
    assert [driver.registers[2] for driver in board.gate_drivers] == [20 << 6 | 1 << 4] * 2


def test_a_driver_that_does_not_answer_at_start_is_a_fault(connected):
    board, session = connected
    board.gate_drivers[1].deaf = True
    board.chip.reset("power")
    with pytest.raises(Refused, match="fault CHIP"):
        session.connect()


@pytest.mark.parametrize("volts", [5.0, 0.0])
def test_drivers_that_lost_their_supply_while_disarmed_are_told_anew_before_anything_is_armed(connected, volts):
    board, session = connected
    board.bus_voltage = volts
    settled(board, session)
    assert gains(board) == [10.0, 10.0]
    board.bus_voltage = NOMINAL
    settled(board, session)
    session.arm()
    board.run(0.01)
    assert gains(board) == [20.0, 20.0] and not np.isnan(board.voltages()).any()


@pytest.mark.parametrize("state", ["ARM", "PROBE"])
def test_nothing_arms_through_drivers_that_have_just_forgotten(connected, state):
    """The gate drivers lose their registers between the board's last check and the command. The command is refused by
    name. ARM succeeds after the board has written the registers again."""
    board, session = connected
    asked = {"ARM": session.arm, "PROBE": lambda: session.ask(Probe(0, 0, 0.0), "PROBE")}[state]
    spoiling = True

    def spoil() -> None:
        for driver in board.gate_drivers if spoiling else ():
            driver.forget()
        board.at(board.seconds + 1e-4, spoil)

    spoil()
    with pytest.raises(Refused, match="DRIVER_NOT_READY"):
        asked()
    assert np.isnan(board.voltages()).all()
    spoiling = False
    settled(board, session)
    asked()
    assert gains(board) == [20.0, 20.0]


def test_drivers_that_forget_under_way_are_a_fault(connected):
    """The drivers' fault line does not report that a driver has lost its settings (TI e2e 184722)."""
    board, session = connected
    session.arm()
    board.gate_drivers[1].forget()
    settled(board, session)
    assert in_fault(session, "DRIVER") and board.outputs_safe()


def test_a_short_shuts_down_is_a_fault_and_is_told_by_its_transistors(connected):
    board, session = connected
    session.arm()
    board.run(0.01)
    board.over_current(1, drv8301.FETHA_OC | drv8301.FETLB_OC)
    assert np.isnan(board.voltages()[1])
    settled(board, session)
    assert in_fault(session, "DRIVER") and board.outputs_safe()
    assert "driver 1: FETHA_OC, FETLB_OC" in session.describe()
    session.clear()
    session.arm()  # the board has written the gate drivers' registers again, while the outputs were off
    board.run(0.01)
    assert not np.isnan(board.voltages()).any() and gains(board) == [20.0, 20.0]


def test_a_driver_that_falls_silent_is_refused_for_as_long_as_it_is(connected):
    """The link and the watchdog continue to work during this time."""
    board, session = connected
    board.gate_drivers[0].deaf = True
    settled(board, session, 0.3)
    with pytest.raises(Refused, match="DRIVER_NOT_READY"):
        session.arm()
    assert board.chip.resets[-1] == "power"
    board.gate_drivers[0].deaf = False
    settled(board, session)
    session.arm()
    assert gains(board) == [20.0, 20.0]
