"""Damiao drives (python-damiao-driver, docs/concept; openarm_can, dm_motor_control.cpp): MIT frames on the drive's own
CAN identifier, registers under 0x7FF, feedback with a state in the upper four bits. A drive sends a frame only as an
answer.

Modes other than MIT use other frames. In this model these frames reset the timeout and are answered, but produce no
torque. No source describes the effect of an MIT frame in another mode. In this state the drive only answers. Registers
are in Python. C contains the handling of the other frames (damiao.c).
"""

import struct

from femtorque.hil.bus import Frame, Wire, taken
from femtorque.hil.clock import Member
from femtorque.hil.drives.drive import WORD, Drive
from femtorque.hil.drives.families.damiao.maker import MAKER
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import Motor, Traits

BROADCAST = 0x7FF
READ, WRITE, STORE, STATE = 0x33, 0x55, 0xAA, 0xCC
ENABLE = 0xFC
DISABLED, ENABLED = 0, 1
FAULTS = {"over voltage": 8, "under voltage": 9, "over current": 0xA, "MOS over temperature": 0xB,
          "rotor over temperature": 0xC, "lost communication": 0xD, "overload": 0xE}
MIT = 1
OFFSETS = (0x100, 0x200, 0x300)  # offsets of the identifiers of modes 2, 3, 4
WHOLE = {7, 8, 9, 10, 13, 14, 15, 16, 35, 36}  # registers of type u32; other registers are f32
READ_ONLY = {*range(11, 21), 36, *range(50, 66), 80, 81}
FACTORY = (*range(50, 57), 59, 63, 64, 65)  # offsets and limits that the factory adjusts for each servo; here 0, chosen
STORED = {*range(37), 60, *FACTORY}
RATE_CODES = {125_000: 0, 200_000: 1, 250_000: 2, 500_000: 3, 1_000_000: 4, 2_000_000: 5, 2_500_000: 6, 3_200_000: 7,
              4_000_000: 8, 5_000_000: 9}  # can_br: openarm_can's CLI, from 2 Mbit/s on in the data phase of CAN FD
# Rate and window are chosen: the inner loops of drives run at 10 to 40 kHz. The bandwidth is within the range of
# register I_BW, 100 to 10000.
TRAITS = Traits(rate=20e3, bandwidth=1000.0, window=1e-3)


class Damiao(Drive):
    """A Damiao drive. feedback: MST_ID. timeout_units: register TIMEOUT; the factory setting 0 disables the timeout."""

    kind, maker = "damiao", MAKER
    hot_code = FAULTS["rotor over temperature"]
    status = Member(int, "own")

    def __init__(self, wire: Wire, number: int, feedback: int, ranges: Ranges, gear: float = 10.0,
                 timeout_units: int = 0, bitrate: float = 1e6, data_bitrate: float | None = None) -> None:
        super().__init__(wire, number, Motor(ranges.torque, TRAITS), ranges, bitrate, data_bitrate)
        self.registers = self.own.registers
        for register, value in {
            0: 15.0, 2: 100.0, 3: 0.98, 4: 2.0, 5: -2.0, 7: feedback, 8: number, 9: timeout_units,
            10: MAKER.mode.number, 14: 5017, 16: 14, 20: gear, 21: ranges.position, 22: ranges.velocity,
            23: ranges.torque, 24: TRAITS.bandwidth, 29: 32.0, 30: 1.0, 31: 4.0, 32: 10.0, 33: 100.0,
            35: RATE_CODES[int(data_bitrate or bitrate)], 60: 24.0}.items():
            self.registers[register] = value
        self._stored = list(self.registers)

    # -- frames -------------------------------------------------------------

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return tuple((number, WORD) for number in (BROADCAST, self.id, *(self.id + mode for mode in OFFSETS)))

    def _feedback(self) -> Frame:
        self._lib.damiao_feedback(self.own)
        return taken(self.state.reply)

    def _framed(self, data: bytes) -> Frame:
        fd = bool(self.node.fd)
        return Frame(int(self.registers[7]), data, fd=fd, fast=fd)

    def report(self, data: bytes) -> Frame:
        return self._framed(bytes([ENABLED << 4 | self.id & 15]) + data)

    def rescale(self, share: float) -> None:
        """Scale the range that the drive stores in its register and that the board reads."""
        self.registers[22] *= share
        self._stored[22] = self.registers[22]

    # -- registers ----------------------------------------------------------

    def handle(self, frame: Frame) -> Frame | None:
        """Answer a frame that is sent to all drives and contains this drive's number."""
        data = frame.data
        if len(data) < 4 or int.from_bytes(data[:2], "little") != self.registers[8]:
            return None
        what, number = data[2], data[3]
        if what == STATE:
            return self._feedback()
        if what == STORE and self.status != ENABLED:
            self._stored = list(self.registers)
            return self._framed(data[:4] + bytes(4))
        if what not in (READ, WRITE) or self._value(number) is None:
            return None
        if what == WRITE and len(data) == 8 and number not in READ_ONLY:
            self._write(number, data[4:])
        value = self._value(number)
        assert value is not None
        packed = struct.pack("<I", int(value)) if number in WHOLE else struct.pack("<f", value)
        return self._framed(data[:4] + packed)

    def _value(self, number: int) -> float | None:
        live = {61: self.motor.temperature, 62: self.motor.temperature, 80: self.motor.position,
                81: self.motor.position}
        return live.get(number, float(self.registers[number]) if number in STORED else None)

    def _write(self, number: int, value: bytes) -> None:
        self.registers[number] = struct.unpack("<I" if number in WHOLE else "<f", value)[0]
        if number == 8:
            self.id = int(self.registers[8])

    # -- without commands ---------------------------------------------------

    @property
    def timeout(self) -> float:
        return float(self._lib.damiao_timeout(self.own))

    def left_alone(self) -> None:
        if self.status == ENABLED:
            self.fail(FAULTS["lost communication"])

    def fail(self, code: int) -> None:
        self.status = code
        self.motor.stop()

    def power_up(self, angle: float) -> None:
        super().power_up(angle)
        self.registers[0:len(self._stored)] = self._stored
        self.status = DISABLED
