"""ODrive S1, Pro and Micro with CANSimple, firmware 0.6 (docs.odriverobotics.com, CAN protocol and API reference;
ros_odrive, odrive_enums.h). The origin of the value 0.6 is not published. Therefore the control loops come from
odriverobotics/ODrive 0.5 (Firmware/MotorControl, controller.cpp, motor.hpp and encoder.hpp).

An identifier is node << 5 | message. A remote frame, or a frame without data, requests a message from the drive. The
answer has the same identifier. Heartbeats come unasked. Each message for the drive feeds its watchdog (axis.hpp). With
factory settings the drive counts its position from power-up, controls position (control mode 3), and has no watchdog.
In torque mode the drive reduces the torque near vel_limit. The drive is configured as docs/drives.md recommends, except
for the mode. Firmware 0.5 ignores message 0, which is the NMT message of CANopen. In firmware 0.5 the last bytes of a
heartbeat are flags of motor, encoder and controller. The controller's highest flag means that a motion is complete
(communication/can/can_simple.cpp).

Three facts are chosen. The watchdog is also active in the idle state, as in 0.5. A second request for closed-loop
control has no effect. The drive answers immediately, with its present estimate.

Estimates, heartbeats, and inputs of torque and position are in C (odrive_can.c).
"""

import math
import struct

from femtorque.hil.bus import Frame, Wire
from femtorque.hil.clock import Member
from femtorque.hil.drives.drive import WORD, Drive
from femtorque.hil.drives.families.odrive_can.maker import MAKER
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import AMBIENT, Motor, Traits

TURN = 2.0 * math.pi
VERSION, ESTOP, ERROR, STATE, ESTIMATES, MODE, LIMITS, IQ = 0x00, 0x02, 0x03, 0x07, 0x09, 0x0B, 0x0F, 0x14
TEMPERATURE, SUPPLY, CLEAR, SET_POSITION, POS_GAINS, VEL_GAINS, TORQUES = 0x15, *range(0x17, 0x1D)
CLOSED_LOOP = 8
TORQUE_CONTROL, POSITION_CONTROL, PASSTHROUGH = 1, 3, 1
FAULTS = {"motor driver": 0x20, "over voltage": 0x100, "under voltage": 0x200, "current limit": 0x1000,
          "motor over temperature": 0x2000, "inverter hot": 0x4000, "velocity limit": 0x8000, "spinout": 0x4000000}
WATCHDOG, ESTOPPED = 0x1000000, 0x2000000
AS_IT_COMES = int(MAKER.mode.number)
BEAT = 0.01  # heartbeat period, s: axis0.config.can.heartbeat_msg_rate_ms = 10; factory setting: 100
WATCHDOG_S = 0.02  # axis0.config.watchdog_timeout, with enable_watchdog
VOLTS = 24.0
HARDWARE, FIRMWARE, PROTOCOL = (5, 2, 0), (0, 6, 10), 2  # an S1
# 8 kHz, current_control_bandwidth 1000 rad/s, encoder bandwidth 1000 rad/s (motor.hpp, encoder.hpp).
TRAITS = Traits(rate=8e3, bandwidth=1000.0 / TURN, window=2.0 / 1000.0)
VEL_LIMIT, VEL_GAIN = 2.0, 1.0 / 6.0  # velocity limit, turns/s; velocity gain, N m s per turn (controller.hpp)
POS_GAIN, INTEGRATOR = 20.0, 2.0 / 6.0  # position gain, 1/s; velocity integral gain, N m per turn
WOUND_UP = 0.99  # factor on the integral in each period at the torque limit (controller.cpp)


class ODrive(Drive):
    """An ODrive. beat: time between heartbeats, s; 0 for no heartbeats. timeout, watchdog: the watchdog's time, s; 0
    disables the watchdog. limited: true if vel_limit reduces the torque in torque mode. firmware: version in the answer
    to Get_Version. pos_gain, vel_gain: gains of position mode. In this model, position mode has no velocity limit."""

    kind, maker = "odrive_can", MAKER
    hot_code = FAULTS["motor over temperature"]
    timeout = Member(float)
    beat, pos_gain, vel_gain = Member(float, "own"), Member(float, "own"), Member(float, "own")
    errors, control, input = Member(int, "own"), Member(int, "own"), Member(int, "own")
    firmware = Member(tuple, "own")

    def __init__(self, wire: Wire, number: int, ranges: Ranges, bitrate: float = 1e6, beat: float = BEAT,
                 watchdog: float = WATCHDOG_S) -> None:
        super().__init__(wire, number, Motor(ranges.torque, TRAITS), ranges, bitrate)
        self.beat, self.timeout, self._limited = beat, watchdog or math.inf, False
        self.protocol, self.firmware = PROTOCOL, FIRMWARE
        self.errors, self.control, self.input = 0, AS_IT_COMES, PASSTHROUGH
        self.vel_limit, self.pos_gain, self.vel_gain, self.integrator = VEL_LIMIT, POS_GAIN, VEL_GAIN, INTEGRATOR
        self._regulate()
        self._lib.odrive_can_begin(self.own)

    # -- frames -------------------------------------------------------------

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return ((self.id << 5, WORD & ~0x1F),)

    def handle(self, frame: Frame) -> Frame | None:
        message, data = frame.id & 0x1F, frame.data
        if frame.remote or not data and message != ESTOP:
            told = self._told(message)
            return None if told is None else Frame(frame.id, told)
        self._obey(message, data)
        return None

    def _told(self, message: int) -> bytes | None:
        wanted = self.motor.command.torque if self.motor.active else 0.0
        return {
            VERSION: bytes((self.protocol, *HARDWARE, *self.firmware, 0)),
            ERROR: struct.pack("<2I", self.errors, self.errors),
            IQ: struct.pack("<2f", wanted, self.motor.torque),  # of a motor with 1 N m/A
            TEMPERATURE: struct.pack("<2f", AMBIENT, self.motor.temperature),
            SUPPLY: struct.pack("<2f", VOLTS, 0.0),
            TORQUES: struct.pack("<2f", wanted, self.motor.torque)}.get(message)

    def _obey(self, message: int, data: bytes) -> None:
        """Obey a message. The drive ignores a message that is too short."""
        if message == ESTOP:
            self.fail(ESTOPPED)
        elif message == STATE and len(data) >= 4:
            self._go(int.from_bytes(data[:4], "little"))
        elif message == MODE and len(data) >= 8:
            self.control, self.input = struct.unpack("<2I", data[:8])
        elif message == LIMITS and len(data) >= 8:
            self.vel_limit = struct.unpack("<f", data[:4])[0]
        elif message == POS_GAINS and len(data) >= 4:
            self.pos_gain = struct.unpack("<f", data[:4])[0]
        elif message == VEL_GAINS and len(data) >= 8:
            self.vel_gain, self.integrator = struct.unpack("<2f", data)
        elif message == CLEAR:
            self.errors = 0
        elif message == SET_POSITION and len(data) >= 4:
            self.motor.set_zero()
        self._regulate()
        self._lib.odrive_can_follow(self.own)

    def _go(self, state: int) -> None:
        """Enter the requested state. While there are errors, the drive refuses closed-loop control."""
        if state != CLOSED_LOOP:
            self.motor.stop()
        elif not self.errors and not self.motor.active:
            self.motor.active = True

    @property
    def limited(self) -> bool:
        return self._limited

    @limited.setter
    def limited(self, limited: bool) -> None:
        self._limited = limited
        self._regulate()

    def _regulate(self) -> None:
        """Select the control law of the mode. In torque mode the drive reduces the torque near vel_limit, if `limited`
        is set (controller.cpp, limitVel). In position mode the velocity error has an integral (controller.cpp,
        update)."""
        acts = self.control == TORQUE_CONTROL and self._limited
        self.motor.fade(self.vel_limit, VEL_GAIN if acts else 0.0)
        holds = self.control == POSITION_CONTROL
        self.motor.hold(self.pos_gain, self.vel_gain, self.integrator, WOUND_UP if holds else None)

    def report(self, data: bytes) -> Frame:
        """True if the output has turned by half a turn or more since power-up."""
        return Frame(self.id << 5 | ESTIMATES, struct.pack("<2f", 0.5 + data[0], 0.0))

    # -- without commands ---------------------------------------------------

    def left_alone(self) -> None:
        self.fail(WATCHDOG)

    def fail(self, code: int) -> None:
        self.errors |= code
        self.motor.stop()

    def rescale(self, share: float) -> None:
        """Report a different version of the protocol. Messages contain plain numbers, so a range cannot be wrong."""
        self.protocol = PROTOCOL - 1

    def power_up(self, angle: float) -> None:
        """Switch the power on, and count the position from the present angle, as the factory setting does."""
        super().power_up(angle)
        self.motor.set_zero()
        self.errors, self.control, self.input = 0, AS_IT_COMES, PASSTHROUGH
        self.own.position = self.own.velocity = self.own.torque = 0.0
        self._regulate()
        self._lib.odrive_can_begin(self.own)
