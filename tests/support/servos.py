"""Virtual servos on the half-duplex serial bus of the application. Variables replace the registers of the chip, and the
clock of the servos differs from the board's."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Drive, Mechanism, load_mechanism
from femtorque.codegen.toolchain import platformio
from femtorque.codegen.wire import Drives
from femtorque.hil.bus import OneWire
from femtorque.hil.clock import OwnClock
from femtorque.hil.drives.families.feetech import FAMILY
from femtorque.hil.drives.families.feetech.servo import TURN, Sts3215
from tests.firmware.app import App
from tests.support.boards import IMAGES

BYTE = 1e-5  # s
LYING = """name = "two_servos"
gravity = [0.0, 0.0, 0.0]
control = { rate_hz = 500, knot_hz = 100 }
board = { use = "f405rg-4", bus_voltage = 12.0 }
bus = [{ name = "servos", kind = "sts" }]
link = [{ name = "upper", mass = 0.3, rod = 0.15 }, { name = "fore", mass = 0.2, rod = 0.12 }]

[[joint]]
name = "shoulder"
type = "revolute"
parent = "base"
child = "upper"
axis = [0.0, 0.0, 1.0]
limits = { lower = -1.8, upper = 1.8, velocity = 4.0, effort = 2.9 }
friction = { viscous = 0.0305, coulomb = 0.196 }
drive = { type = "feetech-sts3215-12v", bus = "servos", id = 1 }
gains = { ku = 8.0, kv = 0.4 }

[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "fore"
xyz = [0.15, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
start = 0.3
limits = { lower = -1.8, upper = 1.8, velocity = 4.0, effort = 2.9 }
friction = { viscous = 0.0305, coulomb = 0.196 }
drive = { type = "feetech-sts3215-12v", bus = "servos", id = 2 }
gains = { ku = 8.0, kv = 0.4 }
"""
CHANGES = (("feetech-sts3215-12v", "dynamixel-xm430-w350"), ('kind = "sts"', 'kind = "dynamixel", bitrate = 2_000_000'),
           ("f405rg-4", "nucleo-g474re-6"), ("rate_hz = 500", "rate_hz = 1000"), ("two_servos", "two_dynamixels"),
           ("viscous = 0.0305, coulomb = 0.196", "viscous = 0.6, coulomb = 0.2"),
           ("ku = 8.0, kv = 0.4", "ku = 12.0, kv = 0.6"))
DYNAMIXELS = LYING
for _was, _becomes in CHANGES:
    assert _was in DYNAMIXELS
    DYNAMIXELS = DYNAMIXELS.replace(_was, _becomes)
SUPPLY = 12.0


def so101() -> Mechanism:
    return load_mechanism(MECHANISMS / "so101_sts.toml")


@cache
def arm(board: str = "f405rg-6", feedforward: bool = True, cutoff: bool = True) -> tuple[Mechanism, Path]:
    """Return the arm on a board, and its flash image. cutoff: true if the board can switch off the servos' supply."""
    m = so101()
    assert m.board is not None
    m = replace(m, board=replace(m.board, use=board))
    m = m if cutoff else replace(m, safety=replace(m.safety, cutoff=None))
    place = IMAGES / f"so101_sts_{board}{'' if feedforward else '_pd'}{'' if cutoff else '_uncut'}"
    return m, platformio.build_image(m, place, feedforward=feedforward).elf


class Served(App):
    """The application with its servos, run tick by tick. byte: transmission time of a byte, s."""

    byte, framing = BYTE, FAMILY.framing

    def __init__(self, mechanism: Mechanism | None = None, **how: Any) -> None:
        mechanism = mechanism or so101()
        self.told: Any = None  # the last DRIVES message
        self.clock = OwnClock()
        self.line = OneWire(self.clock, 10.0 / self.byte, self.framing)
        self.volts = SUPPLY
        self.packets: list[bytes] = []  # all packets to servos
        self.line.log = lambda seconds, packet: self.packets.append(packet)
        self.came = b""
        self.spoil = lambda data: data  # function that changes the bytes that return in a tick
        self.line.arrive = lambda data, disturbed: setattr(self, "came", self.came + data)
        self.servos: dict[str, Any] = {}
        self.angle: dict[str, float] = {}  # angle of each servo's output, rad, set by the test
        for joint in mechanism.streamed:
            if joint.drive is None or joint.drive.servo is None:
                continue
            servo = self.made(joint.drive)
            self.servos[joint.name], self.angle[joint.name] = servo, joint.drive.sign * joint.start
            servo.power_up(self.angle[joint.name])
            self.line.servos += (servo,)
        self.sent = b""
        super().__init__(mechanism, **how)
        self.buffer = self.ffi.new("uint8_t[512]")

    def made(self, drive: Drive) -> Any:
        """Return a servo with factory settings and with the limit that its owner has set."""
        assert drive.servo is not None
        servo = Sts3215(self.clock, drive.id, SUPPLY, 0.0, lambda: self.volts)
        servo.stored[16:18] = round(1000 * drive.servo.limit).to_bytes(2, "little")
        return servo

    def run(self, ticks: int, **how: Any) -> Any:
        record = None
        for _ in range(ticks):
            record = super().run(1, follow=False, **{k: v for k, v in how.items() if k != "follow"})
            self._pass_a_tick()
        return record

    def _pass_a_tick(self) -> None:
        """Transfer the bytes of a tick. Bytes after the end of the tick are lost."""
        size = self.lib.fake_wire_sent(0, self.buffer)
        self.sent, self.came = bytes(self.buffer)[:size], b""
        self.line.sent(self.sent, self.byte)
        self.clock.run(1.0 / self.mechanism.control.rate_hz - 1e-9)
        for name, servo in self.servos.items():
            if self.mechanism.safety.cutoff and servo.powered != (on := bool(self.chip.servo_supply)):
                servo.power_up(self.angle[name]) if on else servo.power_off()
            servo.terminal(self.clock.seconds, self.angle[name], 0.0)
        whole = self.spoil(self.line.echo(self.sent) + self.came)
        self.lib.fake_wire_bring(0, whole, len(whole), 1)

    def take(self) -> list[Any]:
        found = super().take()
        self.told = next((m for m in found if isinstance(m, Drives)), self.told)
        return found

    def duty(self, name: str) -> float:
        """Return the signed duty of the last command to a servo."""
        told = self.servos[name].get(44, 2)
        return (told & 0x3FF) / (-1000.0 if told & 0x400 else 1000.0)

    @property
    def found(self) -> np.ndarray:
        """Return the positions of the joints that the board reads, rad."""
        return np.array(self.see().position) / 2.0**32 * math.tau

    def place(self, name: str, counts: float) -> None:
        """Turn a servo's output to a count. 2048 is the middle."""
        self.angle[name] = (counts - TURN // 2) * math.tau / TURN
