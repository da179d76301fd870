"""Simulated drives on the buses of the application. Variables replace the registers of the chip.

The drives answer each frame in the same tick."""

import struct
from dataclasses import dataclass, field
from typing import Any

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.families.robstride import frames as robstride
from femtorque.codegen.drive.family import Target
from femtorque.codegen.drive.fields import Field, Layout
from femtorque.codegen.mechanism import Drive, Joint
from femtorque.codegen.wire import Drives
from tests.firmware.app import App
from tests.support import dialects

LONG, REMOTE = 1 << 31, 1 << 30
BROADCAST, WRITTEN = 0x7FF, 0x55  # of Damiao's registers
HOST, STATE, ENABLE, READ, WRITE = 0xFD, 0x02, 0x03, 0x11, 0x12  # of RobStride's frames
ANSWER = Layout(tuple(Field(name, 16) for name in ("position", "velocity", "torque", "temperature")))


@dataclass
class FakeDrive:
    """A simulated drive. position, velocity: motion of the output, rad and rad/s, which the test sets. torque: torque
    of the last command, N m."""

    drive: Drive
    position: float = 0.0
    velocity: float = 0.0
    enabled: bool = False
    error: int = 0
    deaf: bool = False  # true if the drive does not answer
    dull: bool = False  # true if the drive never becomes enabled
    down: int = 0  # remaining ticks without power or reception
    unlimited: int = 0  # number of commands that the drive obeyed while its watchdog was off
    target: Target | None = None
    heard: list[str] = field(default_factory=list)
    registers: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        t = self.drive.type
        self.missing = 0  # number of a parameter that RobStride drives do not have
        self.registers = {21: t.position, 22: t.velocity, 23: t.torque, 10: 1, 9: 0, 14: 5017, 0x7005: 0, 0x7028: 0}

    def power_up(self) -> None:
        """Reset the settings that are not in permanent memory."""
        self.enabled, self.error = False, 0
        self.registers |= {9: 0, 0x7028: 0}

    def pass_a_tick(self) -> None:
        self.down -= self.down > 0
        if self.down == 1:
            self.power_up()

    def answer(self, frame: Frame) -> Frame | None:
        if self.down:
            return None
        speaks = {"damiao": self._damiao, "robstride": self._robstride}.get(self.drive.type.family, self._cheetah)
        answer = speaks(frame)
        return None if self.deaf else answer

    def _note(self, what: str) -> None:
        self.heard.append(what)
        self.enabled = not self.dull and (self.enabled and what != "disable" or what == "enable")
        if what != "command":
            self.target = None
        if what == "clear":
            self.error = 0

    def _command(self, target: Target, step: float) -> None:
        """Store a command. step: resolution of the torque field, N m."""
        asks = bool(target.kp or target.kd or abs(target.torque) > step)
        limit = {"damiao": 9, "robstride": 0x7028}.get(self.drive.type.family)
        self.unlimited += asks and self.enabled and limit is not None and not self.registers[limit]
        self._note("command" if asks or self.enabled else "nothing")
        self.target = target

    def _damiao(self, frame: Frame) -> Frame | None:
        d = self.drive
        assert d.reply is not None
        if frame.id == BROADCAST and int.from_bytes(frame.data[:2], "little") == d.id:
            told = self._register(frame.data)
            return Frame(d.reply, told) if told else None
        return self._mit(frame, self.error or None)

    def _cheetah(self, frame: Frame) -> Frame | None:
        return self._mit(frame, self.error)

    def state(self) -> Frame:
        """Return the state frame of a Damiao drive."""
        assert self.drive.reply is not None
        return Frame(self.drive.reply, dialects.answer(self.drive.type, self.drive.id, self.position, self.velocity,
                                                       error=self.error or int(self.enabled), temperature=30))

    def _mit(self, frame: Frame, error: int | None) -> Frame | None:
        """Answer a frame in the MIT mode. error: code in the state; None: the state says if the drive is enabled."""
        d, last = self.drive, {0xFB: "clear", 0xFC: "enable", 0xFD: "disable"}
        assert d.reply is not None
        if frame.id != d.id or frame.extended:
            return None
        if frame.data[:7] == b"\xff" * 7 and frame.data[7] in last:
            self._note(last[frame.data[7]])
        else:
            counts, scales = mit.COMMAND.unpack(frame.data), mit.ranges(d.type)
            target = Target(**{n: scales[n].decode(c) for n, c in counts.items()})
            self._command(target, scales["torque"].step)
        torque = self.target.torque if self.target else 0.0
        code = int(self.enabled) if error is None else error
        return Frame(d.reply, dialects.answer(d.type, d.id, self.position, self.velocity, torque, error=code,
                                              temperature=30))

    def _register(self, data: bytes) -> bytes | None:
        """Return the answer to a register access, or None for an unknown register."""
        number, kind = data[3], "I" if data[3] in (7, 8, 9, 10, 14) else "f"
        if data[2] == WRITTEN:
            self.heard.append(f"write {number}")
            self.registers[number] = struct.unpack("<" + kind, data[4:])[0]
        else:
            self.heard.append(f"read {number}")
        if number not in self.registers:
            return None
        value = self.registers[number]
        return data[:4] + struct.pack("<" + kind, int(value) if kind == "I" else value)

    def _robstride(self, frame: Frame) -> Frame | None:
        d, kind = self.drive, frame.id >> 24
        if not frame.extended or frame.id & 0xFF != d.id:
            return None
        if kind == READ:
            index = int.from_bytes(frame.data[:2], "little")
            self.heard.append(f"read {index:#x}")
            if index == self.missing:
                return Frame(robstride.identifier(READ, 1 << 8 | d.id, HOST), frame.data[:4] + bytes(4), extended=True)
            value = struct.pack("<f", self.position) if index == 0x7019 else struct.pack("<I", self.registers[index])
            return Frame(robstride.identifier(READ, d.id, HOST), frame.data[:4] + value, extended=True)
        if kind == WRITE:
            index = int.from_bytes(frame.data[:2], "little")
            self.heard.append(f"write {index:#x}")
            self.registers[index] = struct.unpack("<I", frame.data[4:])[0]
        elif kind == robstride.OPERATE:
            scales = mit.ranges(d.type, fine=True)
            counts = robstride.BODY.unpack(frame.data) | {"torque": frame.id >> 8 & 0xFFFF}
            self._command(Target(**{n: scales[n].decode(c) for n, c in counts.items()}), scales["torque"].step)
        else:
            self._note("enable" if kind == ENABLE else "clear" if frame.data[0] else "disable")
        scales = mit.ranges(d.type, fine=True)
        counts = {"position": scales["position"].encode(self.position),
                  "velocity": scales["velocity"].encode(self.velocity),
                  "torque": scales["torque"].encode(self.target.torque if self.target else 0.0), "temperature": 300}
        told = (2 if self.enabled else 0) << 14 | self.error << 8 | d.id
        return Frame(robstride.identifier(STATE, told, HOST), ANSWER.pack(counts), extended=True)


class Bussed(App):
    """The application with its drives, run tick by tick."""

    def __init__(self, *args, **how) -> None:
        self.told: Any = None  # the last DRIVES message
        super().__init__(*args, **how)
        self.frames = self.ffi.new("ft_frame[64]")
        self.names = [b.name for b in self.mechanism.buses if b.kind != "sts"]
        self.drives: dict[str, FakeDrive] = {
            j.name: FakeDrive(j.drive, position=j.drive.sign * j.start) for j in self.joints
            if j.drive is not None and j.drive.servo is None}
        self.sent: list[Frame] = []

    def run(self, ticks: int, **how):
        """Run some ticks. The drives answer after each tick."""
        record = None
        for _ in range(ticks):
            record = super().run(1, follow=False, **{k: v for k, v in how.items() if k != "follow"})
            for i, name in enumerate(self.names):
                self._deliver(i, name)
            for drive in self.drives.values():
                drive.pass_a_tick()
        return record

    def clear(self) -> None:
        """Forget the frames that the drives have received."""
        for drive in self.drives.values():
            drive.heard.clear()

    def take(self) -> list[Any]:
        found = super().take()
        self.told = next((m for m in found if isinstance(m, Drives)), self.told)
        return found

    def _deliver(self, number: int, name: str) -> None:
        count = self.lib.fake_bus_sent(number, self.frames)
        self.sent = [Frame(f.id & ~(LONG | REMOTE), bytes(f.data)[:f.size * (not f.id & REMOTE)],
                           extended=bool(f.id & LONG), remote=bool(f.id & REMOTE))
                     for f in (self.frames[k] for k in range(count))]
        for frame in self.sent:
            for drive in self.drives.values():
                if drive.drive.bus == name and (answer := drive.answer(frame)):
                    self.bring(answer, number)

    def counts(self) -> Any:
        """Run until the next DRIVES message, and return it."""
        self.told = None
        while self.told is None:
            self.run(1)
        return self.told

    def bring(self, frame: Frame, number: int = 0) -> None:
        f = self.ffi.new("ft_frame *", (frame.id | LONG * frame.extended, len(frame.data), frame.data))
        self.lib.fake_bus_bring(number, f)

    def joint(self, name: str) -> tuple[int, Joint]:
        return next((i, j) for i, j in enumerate(self.joints) if j.name == name)
