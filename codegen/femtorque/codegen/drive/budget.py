"""Bus load of the drives, and the maximum tick rate.

In each tick the board sends one frame to each drive and receives one reply. Each frame is a command or a question. Some
drives report their state only on request, and receive one more frame. Heartbeats reduce the available time. The number
of bits per frame is an average over random contents. A tenth of the bus time stays free, so that frames can be repeated
after an error. In the worst case a stuffed bit follows every fourth bit. The frames must fit into a tick with these
stuffed bits too."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from femtorque.codegen.drive import can
from femtorque.codegen.drive.catalogue import WIRES, family_of
from femtorque.codegen.drive.family import DriveType, Family, Target

USABLE = 0.9  # share of a bus
TRIALS = 500
BITS_A_BYTE = 10  # on a half-duplex bus: start bit, eight data bits, stop bit


@dataclass(frozen=True)
class Wire:
    """A bus."""

    kind: str  # "can", "can-fd" or the kind of a half-duplex bus
    bitrate: float  # bits per second
    data_bitrate: float | None = None  # bits per second in CAN FD's data phase


@dataclass(frozen=True)
class Load:
    """Time of one round of all drives on a bus, s. worst: upper bound for a round without errors, with the pauses
    between frames. In the tick that switches drives off, the board sends two frames to each drive. The bus drops frames
    that are still unsent at the next tick. there: minimum time from the start of a round until the first drive has its
    command, and maximum time until the last drive has its command."""

    mean: float  # average
    planned: float  # value for the maximum rate
    worst: float
    there: tuple[float, float]
    beats: float = 0.0  # fraction of the time that heartbeats take

    @property
    def fastest(self) -> float:
        """Maximum rate, rounds per second."""
        return min((USABLE - self.beats) / self.planned, (1.0 - self.beats) / self.worst)

    def share(self, rate: float) -> float:
        """Return the maximum bus load, 0 to 1, at `rate` rounds per second."""
        return rate * self.worst + self.beats


def bus_load(wire: Wire, drives: Sequence[tuple[int, DriveType]]) -> Load:
    """Return the bus time of a round of commands and replies. drives: (id, type). Equal arguments: equal results."""
    if wire.kind in WIRES:
        return servo_load(wire, [drive for _, drive in drives])
    chance = random.Random(0)
    pairs = [[sum(can.bits(f).seconds(wire.bitrate, wire.data_bitrate) for f in _pair(wire, id, drive, chance) if f)
              for _ in range(TRIALS)] for id, drive in drives]
    worst = sum(_most(wire, id, drive) for id, drive in drives)
    least = min(_least(wire, drive) for _, drive in drives)
    return Load(sum(sum(p) / TRIALS for p in pairs), sum(max(p) for p in pairs), worst, (least, worst - least),
                sum(can.most_bits(own.answer_bytes).seconds(wire.bitrate) / own.beat
                    for _, drive in drives if (own := family_of(drive)).beat))


def servo_load(wire: Wire, servos: Sequence[DriveType]) -> Load:
    """Return the bus time of servos on a half-duplex bus. The longest tick also switches the servos' motors."""
    half_duplex = WIRES[wire.kind].wire
    assert half_duplex is not None
    p = half_duplex.packets(servos)
    always = p.duties + p.question + p.answers
    worst = _seconds(always + p.switches, wire.bitrate) + p.pauses
    there = [_seconds(size, wire.bitrate) for size in (p.duties, p.duties + p.switches)]
    return Load(_seconds(always, wire.bitrate) + p.pauses, worst, worst, (there[0], there[1]))


def _seconds(count: int, bitrate: float) -> float:
    return count * BITS_A_BYTE / bitrate


def _most(wire: Wire, id: int, drive: DriveType) -> float:
    """Return an upper bound on the time of a command or question and its answer, s, for any contents."""
    own, fd = family_of(drive), wire.kind == "can-fd"
    if own.answer_id is None:
        return 2.0 * can.most_bits(own.frame_bytes, own.extended, fd).seconds(wire.bitrate, wire.data_bitrate)
    sent, back = _command(wire, id, drive, Target()), _answer(own, id, bytes(own.answer_bytes), fd)
    frames = [(sent, own.frame_bytes), (back, own.answer_bytes)]
    if own.poll is not None:  # longer frames are sent only while the drive is off, and need not fit into a tick
        frames = [(own.poll(id), 0), (sent, len(sent.data)), (back, own.answer_bytes)]
    return sum(can.most_bits(size, f.extended, fd, f.id).seconds(wire.bitrate, wire.data_bitrate)
               for f, size in frames)


def _answer(own: Family, id: int, data: bytes, fd: bool) -> can.Frame:
    """Return an answer. The family must derive the ids of answers from the drives' ids."""
    assert own.answer_id is not None
    return can.Frame(own.answer_id(id), data, own.answer_id(id) > can.STANDARD, fd)


def _least(wire: Wire, drive: DriveType) -> float:
    """Return the minimum duration of a command, s, without the pause after the frame."""
    sent = _command(wire, 0, drive, Target())
    bits = can.least_bits(len(sent.data), sent.extended, sent.fd)
    return bits.seconds(wire.bitrate, wire.data_bitrate) - can.INTERMISSION / wire.bitrate


def asked_after(wire: Wire, drives: Sequence[DriveType]) -> float:
    """Return the minimum time from the start of a round until the board asks the first drive for its state, s. The
    board sends all commands before the questions. Return 0 if no family of these drives needs questions."""
    polls = [own.poll(0) for drive in drives if (own := family_of(drive)).poll is not None]
    if not polls:
        return 0.0
    question = can.least_bits(0, polls[0].extended).seconds(wire.bitrate)
    return sum(_least(wire, drive) + can.INTERMISSION / wire.bitrate for drive in drives) + question - (
        can.INTERMISSION / wire.bitrate)


def measured_after(wire: Wire, drives: Sequence[tuple[int, DriveType]]) -> list[float]:
    """Return the usual time from the start of a round until each drive measures its position, s.

    A drive measures its position at the end of the question. Without a question it measures at the end of the command.
    Among the waiting frames, the frame with the lowest identifier is sent first. A drive's answer is not ready early
    enough to be the next frame on the bus."""
    if wire.kind in WIRES:
        half_duplex = WIRES[wire.kind].wire
        assert half_duplex is not None
        packets = half_duplex.packets([drive for _, drive in drives])
        return [_seconds(packets.duties + packets.question, wire.bitrate)] * len(drives)
    commands, answers, polls = zip(*(_pair(wire, id, drive, random.Random(0)) for id, drive in drives), strict=True)
    sent = [(f, k) for k, f in enumerate(commands)] + [(f, k) for k, f in enumerate(polls) if f is not None]
    after, now = [0.0] * len(drives), 0.0
    ready: list[tuple[float, can.Frame]] = []
    while sent:
        waiting = [f for at, f in ready if at <= now]
        frame, k = sent[0]
        first = min(waiting, key=_precedence, default=frame)
        answers_first = bool(waiting) and _precedence(first) < _precedence(frame)
        taken = first if answers_first else frame
        now += can.bits(taken).seconds(wire.bitrate, wire.data_bitrate)
        if answers_first:
            ready = [pair for pair in ready if pair[1] is not taken]
            continue
        sent.pop(0)
        if polls[k] is None or frame is polls[k]:
            after[k] = now - can.INTERMISSION / wire.bitrate
            ready.append((now + can.INTERMISSION / wire.bitrate, answers[k]))
    return after


def _precedence(frame: can.Frame) -> int:
    """Return the priority of a frame on the bus. The frame with the lowest number is sent first."""
    return frame.id if frame.extended else frame.id << 18


def _command(wire: Wire, id: int, drive: DriveType, target: Target) -> can.Frame:
    command = family_of(drive).command
    assert command is not None  # servos on a half-duplex bus use packets instead
    return command(drive, id, target, wire.kind == "can-fd")


def _pair(wire: Wire, id: int, drive: DriveType, chance: random.Random
          ) -> tuple[can.Frame, can.Frame, can.Frame | None]:
    """Return a command and an answer with random contents, and the question if the family needs one."""
    own = family_of(drive)
    sent = _command(wire, id, drive, Target(
        position=chance.uniform(-drive.position, drive.position),
        velocity=chance.uniform(-drive.velocity, drive.velocity),
        kp=chance.uniform(0.0, drive.kp), kd=chance.uniform(0.0, drive.kd),
        torque=chance.uniform(-drive.torque, drive.torque)))
    if own.answer_id is not None:
        back = _answer(own, id, chance.randbytes(own.answer_bytes), sent.fd)
    else:
        from_id = chance.getrandbits(29) if own.extended else id | 0x10
        back = can.Frame(from_id, chance.randbytes(own.answer_bytes), own.extended, sent.fd)
    return sent, back, None if own.poll is None else own.poll(id)
