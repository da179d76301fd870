"""ODrive S1, Pro and Micro with CANSimple, firmware 0.6 (docs.odriverobotics.com, CAN protocol and API reference;
ros_odrive, odrive_enums.h). The inside of 0.6 is not published: its loops are those of odriverobotics/ODrive 0.5,
Firmware/MotorControl, controller.cpp, motor.hpp and encoder.hpp.

An id is node << 5 | message. A message of the drive is asked for by a remote frame, or one without data, and answered
under the same id; a heartbeat comes by itself. Any message for it feeds its watchdog (axis.hpp). As it comes the drive
counts its position from where it was switched on, holds positions (control mode 3), and has no watchdog; in torque mode
it takes torque away near vel_limit. Here it is set up as docs/drives.md asks for, but for its mode. One of firmware 0.5
does nothing with message 0, which is CANopen's NMT there, and the last bytes of its heartbeat are flags of its motor,
its encoder and its controller, whose highest one says that a motion is done (communication/can/can_simple.cpp).

Chosen: that the watchdog acts in idle too, as 0.5 has it; that a second request for closed loop changes nothing; that
it answers at once, from the estimate of that moment.
"""

from __future__ import annotations

import math
import struct

from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.wire import Wire
from femtorque.hil.drives.drive import WORD, Drive
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import AMBIENT, Command, Motor, Traits

TURN = 2.0 * math.pi
VERSION, HEARTBEAT, ESTOP, ERROR, ADDRESS, STATE, ESTIMATES = 0x00, 0x01, 0x02, 0x03, 0x06, 0x07, 0x09
MODE, INPUT_POS, INPUT_VEL, INPUT_TORQUE, LIMITS, IQ, TEMPERATURE = 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x14, 0x15
REBOOT, SUPPLY, CLEAR, SET_POSITION, POS_GAINS, VEL_GAINS, TORQUES = 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x1C
IDLE, CLOSED_LOOP = 1, 8
TORQUE_CONTROL, POSITION_CONTROL, PASSTHROUGH = 1, 3, 1
FAULTS = {"motor driver": 0x20, "over voltage": 0x100, "under voltage": 0x200, "current limit": 0x1000,
          "motor over temperature": 0x2000, "inverter hot": 0x4000, "velocity limit": 0x8000, "spinout": 0x4000000}
WATCHDOG, ESTOPPED = 0x1000000, 0x2000000
BEAT = 0.01  # s, axis0.config.can.heartbeat_msg_rate_ms = 10; it comes with 100
WATCHDOG_S = 0.02  # axis0.config.watchdog_timeout, with enable_watchdog
VOLTS = 24.0
HARDWARE, FIRMWARE, PROTOCOL = (5, 2, 0), (0, 6, 10), 2  # an S1
# 8 kHz, current_control_bandwidth 1000 rad/s, encoder bandwidth 1000 rad/s (motor.hpp, encoder.hpp).
TRAITS = Traits(rate=8e3, bandwidth=1000.0 / TURN, window=2.0 / 1000.0)
VEL_LIMIT, VEL_GAIN = 2.0, 1.0 / 6.0  # turns/s, N m s a turn (controller.hpp)
POS_GAIN, INTEGRATOR = 20.0, 2.0 / 6.0  # 1/s; N m a turn, of the velocity's error
WOUND_UP = 0.99  # of the integral, each time the torque is at its limit (controller.cpp)


class ODrive(Drive):
    """beat: s between heartbeats, 0: none. watchdog: s, 0: off. limited: true if vel_limit takes torque away in torque
    mode. protocol, firmware: of CANSimple, and in the answer to Get_Version. pos_gain, vel_gain, integrator: of
    position mode, whose velocity nothing limits here."""

    def __init__(self, wire: Wire, number: int, ranges: Ranges, bitrate: float = 1e6, beat: float = BEAT,
                 watchdog: float = WATCHDOG_S) -> None:
        super().__init__(wire, number, Motor(ranges.torque, TRAITS), ranges, bitrate)
        self.beat, self.watchdog, self._limited = beat, watchdog, False
        self.protocol, self.firmware = PROTOCOL, FIRMWARE
        self.errors, self.control, self.input = 0, POSITION_CONTROL, PASSTHROUGH
        self.vel_limit, self.pos_gain, self.vel_gain, self.integrator = VEL_LIMIT, POS_GAIN, VEL_GAIN, INTEGRATOR
        self._asked = Command()
        self._regulate()
        self._life = 0
        self._begin_life()

    # -- frames -------------------------------------------------------------

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return ((self.id << 5, WORD & ~0x1F),)

    def handle(self, frame: Frame) -> Frame | None:
        if frame.extended or frame.fd or frame.id >> 5 != self.id:
            return None
        message = frame.id & 0x1F
        if message == VERSION and self.old:
            return None
        self.feed()
        if frame.remote or not frame.data and message != ESTOP:
            told = self._told(message)
            return None if told is None else Frame(frame.id, told)
        self._obey(message, frame.data)
        return None

    def _told(self, message: int) -> bytes | None:
        position, velocity, torque = self.known()
        wanted = self.motor.command.torque if self.motor.active else 0.0
        return {
            VERSION: bytes((self.protocol, *HARDWARE, *self.firmware, 0)),
            ERROR: struct.pack("<2I", self.errors, self.errors),
            ESTIMATES: struct.pack("<2f", position / TURN, velocity / TURN),
            IQ: struct.pack("<2f", wanted, torque),  # of a motor with 1 N m/A
            TEMPERATURE: struct.pack("<2f", AMBIENT, self.motor.temperature),
            SUPPLY: struct.pack("<2f", VOLTS, 0.0),
            TORQUES: struct.pack("<2f", wanted, torque)}.get(message)

    def _obey(self, message: int, data: bytes) -> None:
        """A message that is too short is none."""
        if message == ESTOP:
            self.fail(ESTOPPED)
        elif message == STATE and len(data) >= 4:
            self._go(int.from_bytes(data[:4], "little"))
        elif message == MODE and len(data) >= 8:
            self.control, self.input = struct.unpack("<2I", data[:8])
            self._regulate()
            self._follow()
        elif message == INPUT_TORQUE and len(data) >= 4:
            self._asked.torque = struct.unpack("<f", data[:4])[0]
            self._follow()
        elif message == INPUT_POS and len(data) >= 8:
            turns, speed, torque = struct.unpack("<f2h", data[:8])
            self._asked = Command(turns * TURN, 1e-3 * speed * TURN, torque=1e-3 * torque)
            self._follow()
        elif message == LIMITS and len(data) >= 8:
            self.vel_limit = struct.unpack("<f", data[:4])[0]
            self._regulate()
        elif message == POS_GAINS and len(data) >= 4:
            self.pos_gain = struct.unpack("<f", data[:4])[0]
            self._regulate()
            self._follow()
        elif message == VEL_GAINS and len(data) >= 8:
            self.vel_gain, self.integrator = struct.unpack("<2f", data)
            self._regulate()
            self._follow()
        elif message == CLEAR:
            self.errors = 0
        elif message == SET_POSITION and len(data) >= 4:
            self.motor.set_zero()

    def _go(self, state: int) -> None:
        """Errors keep it from closed loop."""
        if state != CLOSED_LOOP:
            self.motor.stop()
        elif not self.errors and not self.motor.active:
            self.motor.active = True
            self._follow()

    def _follow(self) -> None:
        """Do what was asked for, in its mode; other modes than these two are not modelled."""
        if not self.motor.active:
            return
        kp, kd = self.vel_gain * self.pos_gain / TURN, self.vel_gain / TURN
        held = self.control == POSITION_CONTROL
        self.motor.command = Command(self._asked.position if held else 0.0, self._asked.velocity if held else 0.0,
                                     kp if held else 0.0, kd if held else 0.0,
                                     self._asked.torque if self.input == PASSTHROUGH else 0.0)

    @property
    def limited(self) -> bool:
        return self._limited

    @limited.setter
    def limited(self, limited: bool) -> None:
        self._limited = limited
        self._regulate()

    def _regulate(self) -> None:
        """Choose the law of the mode. In torque mode torque fades towards vel_limit, if that acts there
        (controller.cpp, limitVel). In position mode the velocity's error has an integral (update)."""
        acts = self.control == TORQUE_CONTROL and self._limited
        self.motor.fade(self.vel_limit, VEL_GAIN if acts else 0.0)
        holds = self.control == POSITION_CONTROL
        self.motor.hold(self.pos_gain, self.vel_gain, self.integrator, WOUND_UP if holds else None)

    # -- heartbeats ---------------------------------------------------------

    def _begin_life(self) -> None:
        """From when it is on the bus, until its supply is gone."""
        self._life += 1
        life = self._life
        self.wire.clock.after(self.boot + (self.beat or BEAT), lambda: self._live(life))

    def _live(self, life: int) -> None:
        if life != self._life or not self.powered:
            return
        if self.beat:
            self.send(self.heartbeat())
        self.wire.clock.after(self.beat or BEAT, lambda: self._live(life))

    @property
    def old(self) -> bool:
        return self.firmware < (0, 6, 0)

    def heartbeat(self) -> Frame:
        state, flags = CLOSED_LOOP if self.motor.active else IDLE, 0x80 if self.old else 0
        return Frame(self.id << 5 | HEARTBEAT, struct.pack("<I4B", self.errors, state, 0, 0, flags))

    def report(self, data: bytes) -> Frame:
        """Half a turn from where it was switched on, or further."""
        return Frame(self.id << 5 | ESTIMATES, struct.pack("<2f", 0.5 + data[0], 0.0))

    # -- without commands ---------------------------------------------------

    @property
    def timeout(self) -> float:
        return self.watchdog or math.inf

    def left_alone(self) -> None:
        self.fail(WATCHDOG)

    def fail(self, code: int) -> None:
        self.errors |= code
        self.motor.stop()

    @property
    def hot_code(self) -> int:
        return FAULTS["motor over temperature"]

    def rescale(self, share: float) -> None:
        """Messages have plain numbers: another protocol is what can be wrong."""
        self.protocol = PROTOCOL - 1

    def power_up(self, angle: float) -> None:
        """It counts from here, as it comes."""
        super().power_up(angle)
        self.motor.set_zero()
        self.errors, self.control, self.input, self._asked = 0, POSITION_CONTROL, PASSTHROUGH, Command()
        self._regulate()
        self._begin_life()
