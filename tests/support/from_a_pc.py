"""The drives of a mechanism on their buses, with a PC and its adapter in place of the board.

A loop on the PC sends set points as users of three drive families do. Each drive closes its position loop."""

import math
from abc import abstractmethod
from functools import partial

import numpy as np
from dynamixel_sdk import GroupSyncWrite, PacketHandler
from moteus import Controller
from numpy.typing import NDArray
from odrive_can.utils import get_dbc

from assurance.campaigns.host_loop import Jitter, Ran
from femtorque.codegen.mechanism import Drive, Joint, Mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.hil.board.buses import adapter_bits
from femtorque.hil.board.drives_alone import Bench
from femtorque.hil.bus import Adapter, Frame, OneWire, Wire
from femtorque.hil.bus.frame import SIZES
from femtorque.hil.drives.families.odrive_can.drive import ODrive
from femtorque.hil.plant import plant_of

TURN, COUNTS = math.tau, 4096
STEP = 1e-3  # time between two samples of the joints, s
BOOT = 0.11  # time until the drives are enabled, s
SETTLED = 1.5  # time before a motion begins, so that integral terms settle, s
JITTER = Jitter(late=0.5e-3, pause=10e-3, share=0.01, work=1e-3)  # chosen values; work: one direction of a USB adapter
DELAYS = np.arange(0.0, 0.15, 1e-3)  # s


class FromAPc(Bench):
    """A PC with an adapter. A person holds the arm until the drives act.

    The class of a family enables the drives and sends the same messages as users of this family."""

    hz: float  # rate of the set points

    def __init__(self, mechanism: Mechanism) -> None:
        (self.bus,), self.joints = mechanism.buses, mechanism.streamed
        super().__init__(mechanism, plant_of(mechanism), self._plug)
        self._random = np.random.default_rng(1)

    @abstractmethod
    def enable(self) -> None: ...

    @abstractmethod
    def send(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """Send set points of the joints, rad and rad/s."""

    def _plug(self, name: str, wire: Wire | OneWire) -> None:
        self.line = wire
        if isinstance(wire, Wire):
            self.adapter = Adapter(wire, *adapter_bits(self.mechanism, self.bus))

    def play(self, motion: Trajectory) -> Ran:
        """Hold the start pose, then follow the motion.

        In each cycle the PC wakes late and sends the set points for the time at which it woke."""
        q, v, _ = motion.at(0.0)
        self.run(BOOT)
        self.enable()
        for _ in range(round(SETTLED * self.hz)):
            self.send(q, v)
            self.run(1.0 / self.hz)
        began, seconds, places = self.clock.seconds, [], []
        wakes, rounds = 0.0, 0
        for k in range(round(motion.duration / STEP)):
            t = k * STEP
            seconds.append(t)
            places.append(np.array(self.plant.q))
            while wakes < t + STEP:
                set_points = motion.at(min(wakes, motion.duration))[:2]
                self.clock.after(began + wakes + JITTER.work - self.clock.seconds, partial(self.send, *set_points))
                rounds = max(rounds + 1, int(wakes * self.hz) + 1)  # a missed cycle is skipped
                late = self._random.exponential(JITTER.late)
                late += JITTER.pause if self._random.random() < JITTER.share else 0.0
                wakes = max(rounds / self.hz + float(late), wakes)
            self.run(began + t + STEP - self.clock.seconds)
        return Ran(np.array(seconds), motion.at(np.array(seconds))[0], np.array(places), 0.0)


class AlohaLike(FromAPc):
    """Goal positions at 50 Hz without a profile, as ALOHA's program sends them to servos with default gains
    (aloha_scripts/constants.py: DT = 0.02; one_side_teleop.py: mode position). ROBOTIS' client encodes the packets."""

    hz = 50.0
    is_using = False

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.handler = PacketHandler(2.0)

    # The client uses these methods as its serial port.
    def clearPort(self) -> None: ...

    def writePort(self, packet: list[int]) -> int:
        assert isinstance(self.line, OneWire)
        self.line.sent(bytes(packet), 10.0 / self.bus.bitrate)
        return len(packet)

    def write(self, register: int, size: int, values: list[int]) -> None:
        group = GroupSyncWrite(self, self.handler, register, size)
        for joint, value in zip(self.joints, values, strict=True):
            group.addParam(drive_of(joint).id, list(value.to_bytes(size, "little")))
        group.txPacket()

    def enable(self) -> None:
        self.write(64, 1, [1] * len(self.joints))
        self.run(2e-3)

    def send(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        del v
        goals = []
        for joint, at in zip(self.joints, q, strict=True):
            servo = drive_of(joint).servo
            assert servo is not None
            goals.append(servo.zero + round(drive_of(joint).sign * drive_of(joint).gear * at * COUNTS / TURN))
        self.write(116, 4, goals)


class MoteusExample(FromAPc):
    """Positions and velocities at 50 Hz over an fdcanusb, as in the maker's example for several drives
    (lib/python/examples/multiservo.py: 20 ms between cycles). The maker's package encodes the frames. The limits of the
    drive's trajectory generator are disabled, since they would delay the target."""

    hz = 50.0

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.controllers = [Controller(id=drive_of(joint).id, transport=object()) for joint in self.joints]

    def enable(self) -> None:
        q = np.array([joint.start for joint in self.joints])
        self.send(q, 0.0 * q)
        self.run(20e-3)

    def send(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        frames = []
        for joint, own, at, speed in zip(self.joints, self.controllers, q, v, strict=True):
            turns = drive_of(joint).sign * drive_of(joint).gear / TURN
            frames.append(moteus_frame(drive_of(joint).id, moteus_position(own, joint, turns * at, turns * speed)))
        self.adapter.send(frames)


def moteus_position(own: Controller, joint: Joint, turns: float, velocity: float, **more: float) -> bytes:
    """Return the package's position command, in turns and turns/s, with the joint's gains."""
    kind = drive_of(joint).type
    data: bytes = own.make_position(
        position=turns, velocity=velocity, kp_scale=joint.gains.ku / kind.kp, kd_scale=joint.gains.kv / kind.kd,
        maximum_torque=kind.torque, velocity_limit=-1.0, accel_limit=-1.0, query=True, **more).data
    return data


def moteus_frame(number: int, data: bytes) -> Frame:
    size = next(s for s in SIZES if s >= len(data))
    return Frame(0x8000 | number, data.ljust(size, b"\x50"), extended=True, fd=True, fast=True)


class OdriveRos(FromAPc):
    """Positions at 100 Hz, as ODrive's plugin for ros2_control sends them (odrive_ros2_control: Set_Input_Pos, without
    velocity for position controllers). 100 Hz is the default rate of ros2_control (controller_manager_parameters.yaml).
    own_gains: true if the drive has its default gains. If `own_gains` is false, the drive gets the file's gains, and
    the PC also sends velocities. The message table of the package odrive-can encodes the messages."""

    hz = 100.0

    def __init__(self, mechanism: Mechanism, own_gains: bool = True) -> None:
        super().__init__(mechanism)
        self.table, self.own_gains = get_dbc(), own_gains
        for drive in self.buses.drives.values():
            assert isinstance(drive, ODrive)
            drive.timeout = math.inf  # as it comes
        self.zero = np.array([self.turns(joint, at) for joint, at in zip(self.joints, self.plant.q, strict=True)])

    @staticmethod
    def turns(joint: Joint, at: float) -> float:
        return drive_of(joint).sign * drive_of(joint).gear * at / TURN

    def tell(self, name: str, joint: Joint, **values: object) -> None:
        own = self.table.get_message_by_name(f"Axis{drive_of(joint).id}_{name}")
        self.adapter.send([Frame(own.frame_id, own.encode({s.name: 0 for s in own.signals} | values))])

    def enable(self) -> None:
        for joint in self.joints:
            if not self.own_gains:
                gear = drive_of(joint).gear
                self.tell("Set_Pos_Gain", joint, Pos_Gain=joint.gains.ku / joint.gains.kv)
                self.tell("Set_Vel_Gains", joint, Vel_Gain=joint.gains.kv / gear**2 * TURN, Vel_Integrator_Gain=0.0)
            self.tell("Set_Controller_Mode", joint, Control_Mode="POSITION_CONTROL", Input_Mode="PASSTHROUGH")
            self.tell("Set_Axis_State", joint, Axis_Requested_State="CLOSED_LOOP_CONTROL")
        self.run(3e-3)

    def send(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        for joint, zero, at, speed in zip(self.joints, self.zero, q, v, strict=True):
            moves = 0.0 if self.own_gains else self.turns(joint, speed)
            self.tell("Set_Input_Pos", joint, Input_Pos=self.turns(joint, at) - zero, Vel_FF=moves)


def drive_of(joint: Joint) -> Drive:
    assert joint.drive is not None
    return joint.drive


def rms(ran: Ran) -> NDArray[np.float64]:
    """Return the rms tracking error (J,), rad, of the whole motion."""
    return np.sqrt(np.mean((ran.q - ran.target) ** 2, axis=0))


def rms_beside_its_delay(ran: Ran) -> NDArray[np.float64]:
    """Return the rms tracking error (J,), rad, relative to targets with a constant delay.

    The delay minimises the error of all joints together."""
    def off(steps: int) -> NDArray[np.float64]:
        target = np.concatenate([np.repeat(ran.target[:1], steps, axis=0), ran.target[:len(ran.target) - steps]])
        return np.sqrt(np.mean((ran.q - target) ** 2, axis=0))

    return min((off(round(d / STEP)) for d in DELAYS), key=lambda row: float(np.sum(row**2)))
