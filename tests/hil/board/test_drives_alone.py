"""Virtual drives without a board. Independent programs command the drives from another process."""

import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import can
import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.board.drives_alone import AHEAD, Bench, DrivesAlone
from femtorque.hil.bus import Adapter, Frame, Gateway, Wire
from femtorque.hil.bus.gateway import frame_of, line_of
from femtorque.hil.clock import OwnClock
from femtorque.hil.drives.families.dynamixel import servo as dynamixel
from femtorque.hil.drives.families.feetech import servo as feetech
from femtorque.hil.drives.motor import Command
from femtorque.hil.plant import plant_of
from tests.support import rig
from tests.support.bus_arm import ARM, OTHERS, described, file_of
from tests.support.can_bench import MEGABIT
from tests.support.suite import HANG

# A program that uses damiao-motor with python-can's interface for serial adapters. The program writes registers, and
# then commands a spring with a position setpoint.
CLIENT = """
import sys
import can
from damiao_motor.core import motor as damiao

HANG = float(sys.argv[2])

with can.Bus(interface="slcan", channel=sys.argv[1], sleep_after_open=0.0) as bus:
    drive = damiao.DaMiaoMotor(2, 0x12, bus, motor_type="4340")
    drive.request_register_reading(23)
    told = bus.recv(HANG)
    print(damiao.is_register_reply(told.data), int.from_bytes(told.data[4:], "little"))
    drive.enable()
    bus.recv(HANG)
    for k in range(300):
        drive.send_cmd_mit(target_position=0.4, target_velocity=0.0, stiffness=60.0, damping=4.0,
                           feedforward_torque=0.0)
        state = drive.decode_sensor_feedback(bytes(bus.recv(HANG).data))
    print(state["status"], state["can_id"], round(state["pos"], 2))
"""


def output_of(command: list[str], drives: DrivesAlone, seconds: float = 1e-3) -> str:
    """Run a program in another process. seconds: simulated time that passes with each burst on a bus."""
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while program.poll() is None:
        if drives.look():
            drives.run(seconds)
    out, err = program.communicate()
    assert program.returncode == 0, err
    return out


@pytest.mark.parametrize("port", ["urls", "terminals"])
def test_damiao_motor_in_another_process_turns_a_joint_over_python_can(port):
    """Each frame takes a simulated millisecond on any computer. The elbow sags under its links' weight."""
    mechanism = replace(file_of(), gravity=(0.0, 0.0, 0.0))
    with DrivesAlone(mechanism, plant_of(mechanism)) as drives:
        out = output_of([sys.executable, "-c", CLIENT, getattr(drives, port)["can1"], str(HANG)], drives)
        told, state = out.splitlines()
        assert told == f"True {0x41E00000}"  # 28 N m
        assert state.startswith("ENABLED 2 ")
        assert float(state.split()[2]) == pytest.approx(0.4, abs=0.02)
        assert drives.buses.drives[1].driving and not drives.buses.drives[0].driving


def test_two_programs_on_one_bus_hear_each_other_and_both_the_drives():
    """One program uses the terminal, and the other program uses the port."""
    mechanism = file_of()
    with DrivesAlone(mechanism, plant_of(mechanism)) as drives:
        (port, terminal), = drives.ports.values()
        with can.Bus(interface="slcan", channel=terminal.url, sleep_after_open=0.0) as one:
            with can.Bus(interface="slcan", channel=port.url, sleep_after_open=0.0) as other:
                for number in (0x321, 0x7FF):
                    one.send(can.Message(arbitration_id=number, data=[2, 0, 0x33, 23, 0, 0, 0, 0],
                                         is_extended_id=False))
                heard = 0
                while heard < 2:  # the answers may arrive in two reads
                    heard += drives.look()
                drives.run(2e-3)
                assert [other.recv(HANG).arbitration_id for _ in range(3)] == [0x321, 0x7FF, 0x12]
                assert one.recv(HANG).arbitration_id == 0x12


@pytest.mark.bench
def test_damiao_motors_own_tool_finds_the_drives_of_the_command_and_reads_all_their_registers():
    """The command runs in real time."""
    served = subprocess.Popen([sys.executable, "-m", "femtorque", "hil", "drives", str(ARM)],
                              stderr=subprocess.PIPE, text=True)
    try:
        assert served.stderr is not None
        terminal = re.fullmatch(r"can1: (/dev/\S+) or socket://127\.0\.0\.1:\d+\n", served.stderr.readline())[1]
        tool = [Path(sys.executable).with_name("damiao"), "scan", "--bustype", "slcan", "--channel", terminal]
        found = subprocess.run(tool, capture_output=True, text=True, timeout=60).stdout
    finally:
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=20)
    assert "Found 3 motor(s)" in found and "not received" not in found
    assert [line.split()[-4] for line in found.splitlines() if "TMAX" in line] == ["28.00", "28.00", "10.00"]


@pytest.mark.parametrize(("frame", "line"), [
    (Frame(0x123, bytes([1, 0xAB])), b"t123201AB\r"), (Frame(0x123, b"", extended=True), b"T000001230\r"),
    (Frame(0x7FF, bytes(12), fd=True), b"d7FF9" + b"00" * 12 + b"\r"),
    (Frame(1, bytes(8), fd=True, fast=True), b"b0018" + b"00" * 8 + b"\r")])
def test_frames_are_lines_as_serial_adapters_have_them(frame, line):
    assert line_of(frame) == line and frame_of(line[:-1].decode()) == frame


@pytest.mark.parametrize("line", ["t12", "t1238FF", "tFFF0", "t1239" + "00" * 12, "T2000000000", "t-120", "t+010",
                                  "t1_20", "t0x10", "t 120", "t12 0", "t1230 ", "t123\u0662" + "00" * 2, "t1231 1",
                                  "t12310", "t123100FF"])
def test_lines_that_are_no_frames_are_refused(line):
    with pytest.raises(ValueError):
        frame_of(line)


def plugged() -> tuple[Gateway, Adapter, OwnClock, list[bytes]]:
    """Return a gateway on a bus, and the lines that it sends. A node on the bus acknowledges frames."""
    clock, said = OwnClock(), []
    wire = Wire(clock)
    Adapter(wire, MEGABIT)
    adapter = Adapter(wire, MEGABIT)
    return Gateway(adapter, said.append), adapter, clock, said


def test_bytes_without_an_end_are_not_kept_and_the_next_line_is_one_again():
    """25 MB come in pieces. The gateway keeps at most one line."""
    gateway, adapter, _, said = plugged()
    for _ in range(400):
        assert gateway.take(b"t" * 65536) == 0
    assert gateway.take(b"\rt1230\r") == 1 and said == [b"\a"] and adapter.waiting == 1
    gateway.take(b"t12")
    assert gateway.take(b"40\r") == 1 and adapter.waiting == 2
    longest = line_of(Frame(1, bytes(64), extended=True, fd=True))
    assert gateway.take(longest[:-1]) == 0 and gateway.take(b"\r") == 1 and said == [b"\a"]
    assert gateway.take(longest[:-1] + b"0\r") == 0 and said == [b"\a"] * 2


def test_frames_beyond_what_the_wire_carries_are_answered_with_a_bell_until_there_is_room():
    gateway, adapter, clock, said = plugged()
    assert sum(gateway.take(b"t1230\r" * 3000) for _ in range(30)) == 1000 == adapter.waiting
    assert b"".join(said) == b"\a" * 89_000
    clock.run(0.01)
    waiting = adapter.waiting
    assert waiting < 900 and gateway.take(b"t1230\r" * 1000) == 1000 - waiting


def test_an_arm_without_drives_has_nothing_to_serve():
    with pytest.raises(BadInput, match="no joint has a drive on a bus"):
        DrivesAlone(rig.three_link(), plant_of(rig.three_link()))


# A program that uses ROBOTIS' client at the terminal. The program searches for servos, sets a mode, sends a current to
# all servos, reads all states with one packet, and causes an error.
DYNAMIXEL = """
import sys
from dynamixel_sdk import COMM_SUCCESS, GroupSyncRead, GroupSyncWrite, PacketHandler, PortHandler

class Patient(PortHandler):  # simulated time may pass more slowly than its clock
    seconds = float(sys.argv[2])
    def setPacketTimeout(self, size):
        self.setPacketTimeoutMillis(1e3 * self.seconds)

port, handler = Patient(sys.argv[1]), PacketHandler(2.0)
assert port.openPort() and port.setBaudRate(1_000_000)
print(*handler.ping(port, 6))
for id in (5, 6):
    for register in (9, 11):
        assert handler.write1ByteTxRx(port, id, register, 0) == (COMM_SUCCESS, 0)
def tell(register, size, value):
    group = GroupSyncWrite(port, handler, register, size)
    for id in (5, 6):
        group.addParam(id, list(value.to_bytes(size, "little")))
    assert group.txPacket() == COMM_SUCCESS
tell(68, 1, 1)
tell(102, 2, 0)
tell(64, 1, 1)
tell(102, 2, 150)
group = GroupSyncRead(port, handler, 126, 10)
for id in (5, 6):
    group.addParam(id)
for _ in range(60):
    assert group.fastSyncRead() == COMM_SUCCESS
print(group.getData(6, 126, 2), group.getData(6, 132, 4))
Patient.seconds = 0.1
print(*handler.write1ByteTxRx(port, 7, 64, 1))
"""


def test_robotis_client_in_another_process_turns_joints_over_the_terminal():
    """Two milliseconds of simulated time pass with each burst. The servos have started before the first burst."""
    mechanism = replace(load_mechanism(MECHANISMS / "aloha_like.toml"), gravity=(0.0, 0.0, 0.0))
    with DrivesAlone(mechanism, plant_of(mechanism)) as drives:
        drives.run(0.11)
        out = output_of([sys.executable, "-c", DYNAMIXEL, drives.terminals["servos"], str(HANG)], drives, 2e-3)
    told, state, nobody = out.splitlines()
    assert told == "1020 0 0" and nobody.startswith("-3001 ")
    current, position = map(int, state.split())
    assert current == pytest.approx(150, abs=4) and position > 2048 + 20


@pytest.mark.parametrize("kind", ["damiao", *OTHERS])
def test_an_arm_of_drives_is_held_at_its_start_until_a_drive_acts(kind):
    """A drive that is enabled, without gains and torque, does not act. Afterwards the other joints fall."""
    mechanism = described(kind)
    bench = Bench(mechanism, plant_of(mechanism), lambda name, wire: None)
    bench.run(0.05)
    motor, start = bench.buses.drives[2].motor, np.array([joint.start for joint in mechanism.streamed])
    motor.stop()
    motor.state.active, motor.state.holding = True, False
    bench.run(0.05)
    assert np.array_equal(bench.plant.q, start) and not np.any(bench.plant.v)
    motor.command = Command(torque=1.0)
    bench.run(0.05)
    assert np.all(np.abs(bench.plant.q - start) > 1e-4)


def test_a_drive_that_closes_its_own_position_loop_acts():
    """Its gains are not in the command."""
    mechanism = described("odrive-can")
    bench = Bench(mechanism, plant_of(mechanism), lambda name, wire: None)
    bench.run(0.05)
    motor = bench.buses.drives[2].motor
    motor.state.active, motor.command = True, Command()
    motor.hold(20.0, 0.16, 0.0, 0.0)
    bench.run(0.05)
    assert not bench.buses.limp and np.any(bench.plant.v)


@pytest.mark.parametrize(("name", "register"), [("so101_sts", feetech.ENABLE), ("aloha_like", dynamixel.ENABLE)])
def test_an_arm_of_servos_is_held_at_its_start_until_a_servo_is_switched_on(name, register):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    bench = Bench(mechanism, plant_of(mechanism), lambda name, wire: None)
    bench.run(0.2)
    start = np.array([joint.start for joint in mechanism.streamed])
    assert np.array_equal(bench.plant.q, start) and not np.any(bench.plant.v)
    bench.buses.servos[0].put(register, 1)
    bench.run(0.1)
    assert np.max(np.abs(bench.plant.q - start)) > 1e-3


READ_TORQUE = [can.Message(arbitration_id=0x7FF, data=[k, 0, 0x33, 23, 0, 0, 0, 0], is_extended_id=False)
               for k in (1, 2, 3)]


def test_the_frames_of_a_tick_are_answered_at_once_and_their_time_is_that_of_the_bus():
    """Six frames of 8 bytes at 1 Mbit/s take 111 to 135 bits each. Full queues do not hold the program up."""
    mechanism = file_of()
    with DrivesAlone(mechanism, plant_of(mechanism)) as drives:
        with can.Bus(interface="slcan", channel=drives.terminals["can1"], sleep_after_open=0.0) as bus:
            for message in READ_TORQUE:
                bus.send(message)
            heard = 0
            while heard < 3:
                heard += drives.look()
            drives.answer()
            assert 3 * 111e-6 < drives.seconds < 6 * 135e-6 + 0.1e-3
            assert {bus.recv(HANG).data[0] for _ in READ_TORQUE} == {1, 2, 3}
        before = drives.seconds
        drives.look()
        drives._gateways[0][1].take(b"t1230\r" * 1000)
        drives.answer()
        assert drives.seconds - before <= AHEAD


def test_frames_of_drives_stay_in_c():
    """A millisecond with frames and answers has one more call for each adapter, which sends all its lines."""
    mechanism = file_of()
    calls: list[int] = []
    seen: list[str] = []
    with DrivesAlone(mechanism, plant_of(mechanism)) as drives:
        drives.run(1e-3)
        for lines in (b"", b"".join(line_of(Frame(k, b"\xff" * 7 + b"\xfc")) for k in (1, 2, 3))):
            drives._gateways[1][1].take(lines)
            sys.setprofile(lambda frame, event, what: seen.append(event))
            drives.run(1e-3)
            sys.setprofile(None)
            calls.append(seen.count("call"))
            seen.clear()
    assert all(drive.driving for drive in drives.buses.all.values())
    assert calls[1] == calls[0] + len(drives._gateways)
