"""How much of a bus its drives take at a rate, and the fastest rate that it bears.

A tick sends one frame to each drive, a command or a question, and hears one reply. Frames are counted bit by bit over
random contents: a tenth of the bus is kept free beside the longest of so many, for what is repeated after an error. No
contents at all take longer than the bound that every fourth bit is a stuffed one, and that must fit into a tick too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from femtorque.codegen.drive import can, feetech, mit, robstride
from femtorque.codegen.drive.catalogue import DriveType

USABLE = 0.9  # of a bus
TRIALS = 500
SERVO_DELAY = 40e-6  # s from a packet's end to the first answer with return delay 0, and between answers: an estimate


@dataclass(frozen=True)
class Wire:
    """A bus: kind "can", "can-fd" or "sts"; bits per second, in CAN FD's data phase data_bitrate."""

    kind: str
    bitrate: float
    data_bitrate: float | None = None


@dataclass(frozen=True)
class Load:
    """On one bus: s that one round of all drives takes, on average, as it is planned with, and at worst: a bound that
    no round without errors exceeds, with the pauses between frames. The tick that switches drives off sends to each
    twice: what has not gone by the next one is dropped. there: s from a round's begin until the first drive has its
    command, at least, and until the last one has it, at most."""

    mean: float
    planned: float
    worst: float
    there: tuple[float, float]

    @property
    def fastest(self) -> float:
        """Rounds per second."""
        return min(USABLE / self.planned, 1.0 / self.worst)

    def share(self, rate: float) -> float:
        """Share of the bus at `rate` rounds per second, at worst."""
        return rate * self.worst


def load(wire: Wire, drives: Sequence[tuple[int, DriveType]]) -> Load:
    """One round of commands and replies of (id, type). Deterministic."""
    if wire.kind == "sts":
        return servo_load(wire, [id for id, _ in drives])
    chance = random.Random(0)
    pairs = [[_pair(wire, id, drive, chance) for _ in range(TRIALS)] for id, drive in drives]
    worst = sum(2.0 * _most(wire, drive) for _, drive in drives)
    least = min(_least(wire, drive) for _, drive in drives)
    return Load(sum(sum(p) / TRIALS for p in pairs), sum(max(p) for p in pairs), worst, (least, worst - least))


def servo_load(wire: Wire, ids: Sequence[int]) -> Load:
    """Load of Feetech's servos on their wire: all duties in one packet, one question answered by all. The worst tick
    also switches their motors."""
    answers = len(ids) * len(feetech.packet(0, 0, bytes(feetech.STATE)))
    duties = len(feetech.duties(dict.fromkeys(ids, 0.0)))
    always = duties + len(feetech.ask(ids)) + answers
    switches, gaps = len(feetech.torques(dict.fromkeys(ids, False))), len(ids) * SERVO_DELAY
    worst = feetech.seconds(always + switches, wire.bitrate) + gaps
    told = [feetech.seconds(size, wire.bitrate) for size in (duties, duties + switches)]
    return Load(feetech.seconds(always, wire.bitrate) + gaps, worst, worst, (told[0], told[1]))


def _most(wire: Wire, drive: DriveType) -> float:
    """A command, a question or an answer, whatever is in it: all are of eight bytes at most."""
    return can.most_bits(8, drive.family == "robstride", wire.kind == "can-fd").seconds(wire.bitrate, wire.data_bitrate)


def _least(wire: Wire, drive: DriveType) -> float:
    """A command, whatever is in it, without the pause after it."""
    bits = can.least_bits(8, drive.family == "robstride", wire.kind == "can-fd")
    return bits.seconds(wire.bitrate, wire.data_bitrate) - can.INTERMISSION / wire.bitrate


def _pair(wire: Wire, id: int, drive: DriveType, chance: random.Random) -> float:
    fd = wire.kind == "can-fd"
    target = mit.Target(
        position=chance.uniform(-drive.position, drive.position),
        velocity=chance.uniform(-drive.velocity, drive.velocity),
        kp=chance.uniform(0.0, drive.kp), kd=chance.uniform(0.0, drive.kd),
        torque=chance.uniform(-drive.torque, drive.torque))
    if drive.family == "robstride":
        sent = robstride.command(drive, id, target)
        told = robstride.identifier(robstride.STATE, 2 << 14 | id, robstride.HOST)
        back = can.Frame(told, chance.randbytes(8), extended=True)
    else:
        sent = mit.command(drive, id, target, fd)
        back = can.Frame(id | 0x10, chance.randbytes(mit.REPLIES[drive.family].size), fd=fd)
    return sum(can.bits(f).seconds(wire.bitrate, wire.data_bitrate) for f in (sent, back))
