"""RobStride drives with their private protocol (kscalelabs/robstride, protocol.rs and parameters.rs; RobStride/
SampleProgram, Robstride.cpp): extended identifiers type << 24 | data << 8 | drive, fields of 16 bits. Factory settings:
canTimeout 0 (no timeout), and zero_sta 0 (after power-up the position is between 0 and one turn). Operation commands,
stops and the state are in C (robstride.c)."""

import math
import struct

from femtorque.hil.bus import Frame, Wire, taken
from femtorque.hil.clock import Member
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.families.robstride.maker import MAKER
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import Motor, Traits

GET_ID, STATE, ENABLE, SET_ZERO, READ, WRITE, SAVE = 0, 2, 3, 6, 0x11, 0x12, 0x16
RUN = 2  # mode
HOST = 0xFD  # host number of the maker's programs; used until another host has sent a frame
FAULTS = {"under voltage": 1, "over current": 2, "over temperature": 4, "encoder": 8, "overload": 16,
          "not calibrated": 32}
RUN_MODE, LIMIT_TORQUE, POSITION, VELOCITY, TIMEOUT, ZERO_STA = 0x7005, 0x700B, 0x7019, 0x701B, 0x7028, 0x7029
BYTES, WORDS = {RUN_MODE, ZERO_STA}, {TIMEOUT}  # types of parameters; the parameters without an entry are f32
TIMEOUT_UNIT = 50e-6  # unit of canTimeout, s: 20000 units are one second
UNIQUE = 0x5652545541_4C0001
# Not published: the values of Damiao are assumed.
TRAITS = Traits(rate=20e3, bandwidth=1000.0, window=1e-3)


class RobStride(Drive):
    """A RobStride. The drive answers the host whose number was in bits 8 to 15 of the last frame that was not an
    operation command. An operation command contains the torque in these bits."""

    kind, maker = "robstride", MAKER
    hot_code = FAULTS["over temperature"]
    host, faults = Member(int, "own"), Member(int, "own")

    def __init__(self, wire: Wire, number: int, ranges: Ranges) -> None:
        super().__init__(wire, number, Motor(ranges.torque, TRAITS, lower_turn=0.0), ranges)
        self.parameters: dict[int, float] = {
            RUN_MODE: MAKER.mode.number, 0x7006: 0.0, 0x700A: 0.0, LIMIT_TORQUE: ranges.torque, 0x7010: 0.0,
            0x7011: 0.0, 0x7014: 0.0, 0x7016: 0.0, 0x7017: 0.0, 0x7018: 0.0, 0x701C: 48.0, 0x701E: 0.0, 0x701F: 0.0,
            0x7020: 0.0, 0x7021: 0.0, TIMEOUT: 0, ZERO_STA: 0}
        self._saved = dict(self.parameters)
        self.host = HOST

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return ((self.id, 0xFF),)

    def handle(self, frame: Frame) -> Frame | None:
        kind, answer = frame.id >> 24, taken(self.state.reply)
        if kind == ENABLE:
            self.feed()
            self.motor.active = not self.faults and self.parameters[RUN_MODE] == 0
        elif kind == SET_ZERO and frame.data[0] == 1:
            self.motor.set_zero()
        elif kind in (READ, WRITE):
            return self._parameter(kind, frame.data, answer)
        elif kind == GET_ID:
            return Frame(self.id << 8 | 0xFE, UNIQUE.to_bytes(8, "little"), extended=True)
        elif kind == SAVE:
            self._saved = dict(self.parameters)
        else:
            return None
        return answer

    def report(self, data: bytes) -> Frame:
        return Frame(STATE << 24 | RUN << 22 | self.id << 8 | self.host, data + bytes(1), extended=True)

    def _parameter(self, kind: int, data: bytes, state: Frame) -> Frame | None:
        """Answer a read with the value, a write with the state. Bit 16 marks a missing parameter."""
        index = int.from_bytes(data[:2], "little")
        value = {POSITION: self.motor.position, VELOCITY: self.motor.velocity}.get(index, self.parameters.get(index))
        if value is None:
            return Frame(READ << 24 | 1 << 16 | self.id << 8 | self.host, data[:4] + bytes(4), extended=True) if (
                kind == READ) else None
        form = "<B3x" if index in BYTES else "<I" if index in WORDS else "<f"
        if kind == READ:
            return Frame(READ << 24 | self.id << 8 | self.host, data[:4] + struct.pack(form, value), extended=True)
        if index in self.parameters and not (index == RUN_MODE and self.motor.active):
            self.parameters[index] = struct.unpack(form, data[4:])[0]
        return state

    # -- without commands ---------------------------------------------------

    @property
    def timeout(self) -> float:
        return self.parameters[TIMEOUT] * TIMEOUT_UNIT if self.parameters[TIMEOUT] else math.inf

    def left_alone(self) -> None:
        self.motor.stop()

    def fail(self, code: int) -> None:
        self.faults |= code
        self.motor.stop()

    def power_up(self, angle: float) -> None:
        self.parameters, self.faults = dict(self._saved), 0
        self.motor.lower_turn = -math.pi if self.parameters[ZERO_STA] else 0.0
        super().power_up(angle)
