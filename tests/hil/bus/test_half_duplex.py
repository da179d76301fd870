"""Servos in Python answer on a half-duplex bus. A servo family outside of this repository may be written in Python."""

from __future__ import annotations

import pytest

from femtorque.hil.bus.half_duplex import Framing, OneWire, Question, ServoInPython, Tap
from femtorque.hil.clock import OwnClock

BYTE = 1e-5  # s
ASK, ALL, TELL = b"?"[0], b"&"[0], b"!"[0]  # first bytes of packets; the length follows


def split(burst: bytes) -> tuple[int, int]:
    """Return the begin and the end of the first packet. The test ignores the bytes before the packet."""
    begin = next((k for k, byte in enumerate(burst) if byte in (ASK, ALL, TELL)), len(burst))
    return (begin, begin + burst[begin + 1]) if begin + 1 < len(burst) else (0, 0)


def question(packet: bytes) -> Question | None:
    """Return the question in a packet, which contains the ids of the servos. Each servo answers with two bytes. Between
    the bytes of two servos in a common answer there are 3 us."""
    return None if packet[0] == TELL else Question(packet[2:], 2, 3e-6 if packet[0] == ALL else None)


class Parrot(ServoInPython):
    listening, delay = True, 20e-6

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.told = number, b""

    @property
    def id(self) -> int:
        return self.number

    def heard(self, packet: bytes) -> None:
        self.told = packet[2:]

    def answer(self, packet: bytes, before: bytes) -> bytes:
        return bytes([self.number, len(before)])

    def twin(self) -> Parrot:
        return Parrot(self.number)


class Bench:
    def __init__(self, count: int = 3) -> None:
        self.clock = OwnClock()
        self.line = OneWire(self.clock, 1e6, Framing(split, question), seed=1)
        self.servos = [Parrot(k + 1) for k in range(count)]
        self.line.servos = self.servos
        self.came: list[tuple[float, bytes, bool]] = []
        self.line.arrive = lambda data, disturbed: self.came.append((self.clock.seconds, data, disturbed))

    def send(self, data: bytes, seconds: float = 1e-3) -> list[bytes]:
        """Send a burst, and return the answers."""
        self.came.clear()
        self.line.sent(data, BYTE)
        self.clock.run(seconds)
        return [data for _, data, _ in self.came]


def packet(kind: int, data: bytes) -> bytes:
    return bytes([kind, len(data) + 2]) + data


def test_that_all_packets_of_a_burst_are_heard_in_turn_and_the_question_answered():
    """Each answer of two bytes begins 20 us after the preceding stop bit."""
    bench = Bench()
    assert bench.send(b"xx" + packet(TELL, b"on") + packet(ASK, bytes([3, 1]))) == [b"\3\0", b"\1\0"]
    assert [servo.told for servo in bench.servos] == [b"on"] * 3
    assert [at for at, _, _ in bench.came] == pytest.approx([10 * BYTE + 20e-6, 12 * BYTE + 40e-6])


def test_that_a_missing_answer_is_waited_for_unless_all_make_one():
    """The board waits for 100 us plus the duration of the answer's bytes."""
    bench = Bench()
    bench.servos[1].listening = False
    assert bench.send(packet(ASK, bytes([1, 2, 3]))) == [b"\1\0", b"\3\0"]
    assert bench.came[1][0] - bench.came[0][0] == pytest.approx(2 * BYTE + 100e-6 + 2 * BYTE + 20e-6)
    assert bench.send(packet(ALL, bytes([1, 3, 2]))) == [b"\1\0", b"\3\2"]
    assert bench.came[1][0] - bench.came[0][0] == pytest.approx(2 * BYTE + 3e-6)


def test_that_a_newer_burst_or_another_rate_leaves_a_question_unanswered():
    bench = Bench()
    asked = packet(ASK, bytes([1, 2]))
    assert bench.send(asked, 6.5 * BYTE) == [b"\1\0"]
    assert bench.send(packet(TELL, b"")) == []
    bench.line.sent(asked, 1.1 * BYTE)
    bench.clock.run(1e-3)
    assert bench.came == []


def test_that_two_of_one_number_spoil_each_others_answers_as_low_levels_win():
    bench = Bench(1)
    bench.line.servos += (bench.servos[0].twin(),)
    assert bench.send(packet(ASK, b"\1")) == [b"\1\0"] and bench.came[0][2]


def test_that_noise_disturbs_its_share_of_packets_the_same_ones_each_time():
    """No servo receives a disturbed question. A disturbed answer has wrong bits."""
    def disturbed() -> tuple[int, int]:
        bench = Bench(1)
        bench.line.error_rate = 0.2
        answers = [bench.send(packet(ASK, b"\1")) for _ in range(500)]
        return answers.count([]), answers.count([b"\x11\0"])

    lost, wrong = disturbed()
    assert lost == pytest.approx(100, abs=30) and wrong == pytest.approx(80, abs=30) and disturbed() == (lost, wrong)


def test_that_on_a_shorted_wire_nothing_is_heard_and_beside_a_babbler_no_byte_is_whole():
    bench = Bench(1)
    bench.line.shorted = True
    assert bench.send(packet(ASK, b"\1")) == [] and bench.line.echo(b"\xff\xfe") == b"\0\0"
    bench.line.shorted, bench.line.babbles = False, True
    assert bench.send(packet(ASK, b"\1")) == [] and bench.line.echo(bytes(range(256))) != bytes(range(256))


def test_that_an_error_of_a_servo_is_raised_where_time_passes_and_a_longer_answer_than_fits_is_one():
    bench = Bench(1)
    bench.servos[0].answer = lambda packet, before: bytes(513)
    with pytest.raises(ValueError, match="an answer of 513 bytes"):
        bench.send(packet(ASK, b"\1"))


def test_that_programs_outside_hear_answers_and_not_what_they_send():
    bench, heard = Bench(), []
    tap = Tap(bench.line, heard.append)
    assert tap.take(packet(TELL, b"on") + packet(ASK, b"\2")) == 2 and tap.take(b"") == 1
    assert tap.take(packet(ASK, b"\2")) == 1
    bench.clock.run(1e-3)
    assert heard == [b"\2\0"] and [data for _, data, _ in bench.came] == [b"\2\0"]
