"""Virtual ODrive: modes, watchdog, errors, and messages by the maker's table (a DBC file, read by cantools)."""

from __future__ import annotations

import math

import can
import pytest
from odrive_can.odrive import CanMsg
from odrive_can.utils import get_dbc

from femtorque.hil.bus import Frame
from femtorque.hil.drives.families.odrive_can.drive import FAULTS, WATCHDOG, ODrive
from femtorque.hil.drives.fields import Ranges
from tests.support.drive_bench import DriveBench

TABLE, TURN, NODE = get_dbc(), 2 * math.pi, 3


class Client:
    """Messages by their names in the table. The package's class decodes the drive's messages."""

    def __init__(self, inertia: float = 0.05, **drive) -> None:
        self.bench = DriveBench(lambda wire: ODrive(wire, NODE, Ranges(100.0, 100.0, 10.0), **drive), inertia)

    @property
    def drive(self) -> ODrive:
        assert isinstance(self.bench.drive, ODrive)
        return self.bench.drive

    def tell(self, name: str, **values) -> None:
        own = TABLE.get_message_by_name(f"Axis{NODE}_{name}")
        self.bench.host.send(Frame(own.frame_id, own.encode({s.name: 0 for s in own.signals} | values)))
        self.bench.run(1e-3)

    def ask(self, name: str):
        """Return the answer to a remote frame. Heartbeats may arrive meanwhile."""
        own = TABLE.get_message_by_name(f"Axis{NODE}_{name}")
        self.bench.host.got.clear()
        self.bench.host.send(Frame(own.frame_id, remote=True))
        self.bench.run(1e-3)
        return [self.read(frame) for frame in self.bench.host.got if frame.id == own.frame_id]

    @staticmethod
    def read(frame: Frame) -> dict:
        message = CanMsg(can.Message(arbitration_id=frame.id, data=frame.data, is_extended_id=False))
        assert message.axis_id == NODE
        return message.data

    def heartbeat(self) -> dict:
        """Return the next heartbeat."""
        self.bench.host.got.clear()
        self.bench.run(0.011)
        return next(self.read(f) for f in self.bench.host.got if f.id == NODE << 5 | 1)

    def go(self, mode: str = "TORQUE_CONTROL") -> Client:
        self.tell("Set_Controller_Mode", Control_Mode=mode, Input_Mode="PASSTHROUGH")
        self.tell("Set_Axis_State", Axis_Requested_State="CLOSED_LOOP_CONTROL")
        return self

    def hold(self, seconds: float, **values) -> None:
        for _ in range(round(1e3 * seconds)):
            self.tell("Set_Input_Torque", **values)


def test_it_answers_remote_frames_alone_and_as_the_table_has_it():
    client = Client()
    client.bench.q, client.bench.v = 0.7, 1.5
    client.bench.run(5e-3)
    (told,) = client.ask("Get_Encoder_Estimates")
    assert told["Pos_Estimate"] * TURN == pytest.approx(client.bench.q, abs=2e-3)
    assert told["Vel_Estimate"] * TURN == pytest.approx(1.5, abs=0.02)
    (version,) = client.ask("Get_Version")
    assert (version["Protocol_Version"], version["Fw_Version_Minor"], version["Fw_Version_Revision"]) == (2, 6, 10)
    assert client.ask("Get_Bus_Voltage_Current")[0]["Bus_Voltage"] == 24.0
    assert client.ask("Get_Temperature")[0]["Motor_Temperature"] == pytest.approx(25.0, abs=0.1)
    assert client.ask("Set_Input_Torque") == []
    other = Frame((NODE + 1) << 5 | 9, remote=True)
    client.bench.host.got.clear()
    client.bench.host.send(other)
    client.bench.run(2e-3)
    assert all(frame.id != other.id for frame in client.bench.host.got)


def test_heartbeats_come_by_themselves_every_ten_milliseconds():
    client = Client()
    client.bench.run(0.1005)
    beats = [client.read(f) for f in client.bench.host.got]
    assert len(beats) == 10 and all(b["Axis_State"] == "IDLE" and b["Axis_Error"] == "NONE" for b in beats)
    assert client.go().heartbeat()["Axis_State"] == "CLOSED_LOOP_CONTROL"


def test_torque_is_what_is_asked_for_within_its_range():
    client = Client(inertia=1e9).go()
    client.hold(0.01, Input_Torque=2.5)
    assert client.ask("Get_Torques")[0]["Torque_Estimate"] == pytest.approx(2.5, rel=0.01)
    client.hold(0.01, Input_Torque=25.0)
    assert client.drive.motor.torque == pytest.approx(10.0, rel=0.01)


def test_in_the_mode_that_it_comes_with_it_holds_its_position():
    client = Client(inertia=1e9)
    client.bench.q = 0.3
    client.tell("Set_Axis_State", Axis_Requested_State="CLOSED_LOOP_CONTROL")
    client.hold(0.01, Input_Torque=0.0)
    assert client.drive.motor.torque < -0.1  # back to 0


def test_in_position_mode_an_integral_of_the_velocitys_error_carries_a_load_unless_its_gain_is_none():
    """The stiffness is pos_gain times vel_gain, 3.3 N m per turn with factory settings."""
    left = {}
    for integrator in (2.0 / 6.0, 0.0):
        client = Client(inertia=0.002, watchdog=0.0)
        client.bench.load = lambda q: -0.2
        client.tell("Set_Pos_Gain", Pos_Gain=20.0)
        client.tell("Set_Vel_Gains", Vel_Gain=1.0 / 6.0, Vel_Integrator_Gain=integrator)
        client.go("POSITION_CONTROL").bench.run(6.0)
        left[bool(integrator)] = client.bench.q / TURN
    assert left[False] == pytest.approx(-0.2 / (20.0 / 6.0), rel=0.1) and abs(left[True]) < 0.1 * abs(left[False])


def test_where_the_limit_of_velocity_acts_in_torque_mode_it_takes_torque_away():
    """controller.cpp: at most (vel_limit - velocity) vel_gain; at the factory 2 turns/s, 1/6 N m s per turn."""
    client = Client(inertia=1e9).go()
    client.drive.limited = True
    client.hold(0.01, Input_Torque=5.0)
    assert client.drive.motor.torque == pytest.approx(2.0 / 6.0, rel=0.01)
    client.bench.v = TURN
    client.hold(0.01, Input_Torque=5.0)
    assert client.drive.motor.torque == pytest.approx(1.0 / 6.0, rel=0.02)


def test_without_messages_its_watchdog_lets_go_and_says_so_until_errors_are_cleared():
    client = Client(inertia=1e9).go()
    client.hold(0.01, Input_Torque=2.0)
    client.bench.run(0.018)
    assert client.drive.driving
    client.bench.run(0.004)
    assert not client.drive.driving and client.heartbeat()["Axis_Error"] == "WATCHDOG_TIMER_EXPIRED"
    assert client.drive.errors == WATCHDOG
    client.go()
    assert not client.drive.driving
    client.tell("Clear_Errors")
    client.go()
    assert client.drive.driving


def test_without_a_watchdog_as_it_comes_it_goes_on_for_ever():
    client = Client(inertia=1e9, watchdog=0.0).go()
    client.hold(0.01, Input_Torque=2.0)
    client.bench.run(1.0)
    assert client.drive.motor.torque == pytest.approx(2.0, rel=0.01) and math.isinf(client.drive.timeout)


def test_each_of_its_errors_is_one_of_the_table_and_ends_torque():
    choices = TABLE.get_message_by_name("Axis0_Heartbeat").get_signal_by_name("Axis_Error").choices
    for code in FAULTS.values():
        client = Client(watchdog=0.0).go()
        client.drive.fail(code)
        assert client.heartbeat()["Axis_Error"] == str(choices[code]) and not client.drive.driving
        assert client.ask("Get_Error")[0]["Active_Errors"] == str(choices[code])
    client = Client(watchdog=0.0).go()
    client.tell("Estop")
    assert client.heartbeat()["Axis_Error"] == "ESTOP_REQUESTED" and not client.drive.driving


def test_switched_on_anew_it_counts_from_there_and_is_in_no_mode_that_was_asked_for():
    client = Client(watchdog=0.0).go()
    client.bench.q = 2.0
    client.drive.power_off()
    client.bench.run(0.05)
    assert client.ask("Get_Encoder_Estimates") == []
    client.drive.power_up(client.bench.q)
    assert client.ask("Get_Encoder_Estimates")[0]["Pos_Estimate"] == pytest.approx(0.0, abs=1e-3)
    assert client.drive.control == 3 and not client.drive.driving and client.heartbeat()["Axis_State"] == "IDLE"
