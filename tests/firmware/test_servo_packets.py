"""Bytes from a wire of servos are split into answers. Only complete answers with a correct check sum are reported."""

import struct

import numpy as np
import pytest

from femtorque.codegen.drive.families.feetech import frames as feetech
from tests.firmware import frames
from tests.firmware.frames import AIM, GOAL, RUN, SERVOS, SET, STS, STS_OUT, SWITCH, Meant, compiled

QUIET = 8


@pytest.fixture(scope="module")
def c():
    return compiled("sts", cdef=STS)


class Wire(frames.Wire):
    kind, OUT = "sts", STS_OUT

    def pack(self, meant: int, number: int = 0, size: int = 0, data: bytes = b"") -> bytes:
        """Pack the same message for all servos."""
        return self.pack_each([Meant(meant, number, size, data)] * SERVOS)

    def on(self, said: list[tuple[int, bytes]]) -> list[bool]:
        """Return for each servo whether its motor counts as on after these answers to the last packet."""
        told = self.told(bytes(self.state.out)[:self.state.size] + b"".join(packed(said)))
        assert [id & 0xFF for id, _ in told] == [id for id, _ in said]
        return [id >> 31 == 1 for id, _ in told]


def answers(chance: np.random.Generator, count: int = SERVOS) -> list[tuple[int, bytes]]:
    return [(k + 1, chance.bytes(8)) for k in range(count)]


def packed(found: list[tuple[int, bytes]]) -> list[bytes]:
    return [feetech.packet(id, 0, data) for id, data in found]


def test_that_whole_answers_are_told_in_order(c):
    wire, chance = Wire(c), np.random.default_rng(1)
    for _ in range(200):
        sent, said = wire.pack(RUN), answers(chance)
        assert wire.came(sent + b"".join(packed(said))) == said


def test_that_of_disturbed_answers_the_others_are_told(c):
    """One flipped bit spoils one answer. A lost byte also spoils the next answer."""
    wire, chance = Wire(c), np.random.default_rng(2)
    for _ in range(300):
        sent, said = wire.pack(RUN), answers(chance)
        parts = packed(said)
        k, at, bit = (int(chance.integers(n)) for n in (SERVOS, len(parts[0]), 8))
        flipped = bytearray(parts[k])
        flipped[at] ^= 1 << bit
        found = wire.came(sent + b"".join([*parts[:k], bytes(flipped), *parts[k + 1:]]))
        assert found == said[:k] + said[k + 1:]
        found = wire.came(sent + b"".join([*parts[:k], parts[k][:at] + parts[k][at + 1:], *parts[k + 1:]]))
        assert len(found) >= SERVOS - 2 and set(found) <= set(said)


@pytest.mark.parametrize(("meant", "number", "size", "sent"), [
    (SET, 33, 1, lambda ids: feetech.duties(dict.fromkeys(ids, 0.0)) + feetech.settings(dict.fromkeys(ids, 2), 33, 1)
     + feetech.ask(ids, 33, 1)),
    (SET | QUIET, 7, 1, lambda ids: feetech.duties(dict.fromkeys(ids, 0.0))
     + feetech.settings(dict.fromkeys(ids, 2), 7, 1)),
    (QUIET, 0, 0, lambda ids: feetech.duties(dict.fromkeys(ids, 0.0))),
    (0, 48, 2, lambda ids: feetech.duties(dict.fromkeys(ids, 0.0)) + feetech.ask(ids, 48, 2)),
    (RUN | SWITCH, 0, 0, lambda ids: feetech.duties(dict.fromkeys(ids, 0.0)) + feetech.torques(dict.fromkeys(ids, True))
     + feetech.ask(ids))], ids=["set", "set quietly", "quiet", "asked", "switched on"])
def test_what_a_tick_packs(c, meant, number, size, sent):
    duty = bytes([0 if meant & RUN else 7, 1 if not meant & RUN else 0])  # a servo that is switched off gets no duty
    assert Wire(c).pack(meant, number, size, duty + bytes([2, 0])) == sent(list(range(1, SERVOS + 1)))


def chosen(each: list[Meant], quiet: bool) -> tuple[int, int]:
    """Return the register that a tick reads: the first register that a message names, otherwise the state. In a quiet
    tick only messages with the quiet bit count."""
    return next(((m.number, m.size) for m in each if m.size in (1, 2) and (not quiet or m.meant & QUIET)), (56, 8))


def of_tick(each: list[Meant]) -> bytes:
    """Return the packets of a tick, by the documentation."""
    quiet, ids = any(m.meant & QUIET for m in each), range(1, len(each) + 1)
    number, size = chosen(each, quiet)
    packets = feetech.settings({i: int.from_bytes(m.data[:2], "little") if m.meant & RUN else 0
                                for i, m in zip(ids, each, strict=True)}, 44, 2)
    if any(m.meant & SWITCH for m in each) and not quiet:
        packets += feetech.torques({i: bool(m.meant & RUN) for i, m in zip(ids, each, strict=True) if m.meant & SWITCH})
    values = {i: int.from_bytes(m.data[2:2 + size], "little") for i, m in zip(ids, each, strict=True)
              if m.meant & SET and not m.meant & SWITCH and m.number == number}
    packets += feetech.settings(values, number, size) if values and (number, size) != (56, 8) else b""
    return packets if quiet else packets + feetech.ask(list(ids), number, size)


def test_what_a_tick_packs_of_frames_that_differ(c):
    """The lower the probability of a meaning bit, the more often only one servo has it."""
    wire, chance = Wire(c), np.random.default_rng(4)
    for _ in range(3000):
        shares = chance.uniform(0.0, 0.7, 4) * (chance.random(4) < 0.5)
        each = [Meant(sum(1 << k for k in range(4) if chance.random() < shares[k]), int(chance.choice([0, 33, 48, 56])),
                      int(chance.choice([0, 0, 1, 2, 3, 8])), chance.bytes(4))
                for _ in range(int(chance.integers(1, SERVOS + 1)))]
        assert wire.pack_each(each) == of_tick(each), each


def test_that_no_more_servos_are_told_and_heard_than_the_wire_has(c):
    wire, chance = Wire(c), np.random.default_rng(5)
    each = [Meant(RUN, data=chance.bytes(2)) for _ in range(SERVOS + 2)]
    sent = wire.pack_each(each)
    assert sent == of_tick(each[:SERVOS])
    assert wire.came(sent + b"".join(packed(said := answers(chance, SERVOS + 2)))) == said[:SERVOS]
    assert wire.state.damaged == 0


def test_that_a_motor_is_on_when_it_has_said_so_until_it_is_told_otherwise(c):
    """A servo that is switched on may still be off. Once switched off, it counts as off against its own report."""
    wire, chance = Wire(c), np.random.default_rng(6)
    state, ids = answers(chance), range(1, SERVOS + 1)
    wire.pack(RUN | SWITCH)
    assert not any(wire.on(state))
    wire.pack(RUN | SWITCH, 40, 1)
    assert wire.on([(i, bytes([i % 3])) for i in ids]) == [i % 3 == 1 for i in ids]
    wire.pack(RUN)
    assert wire.on(state) == [i % 3 == 1 for i in ids]
    wire.pack(RUN | SWITCH)
    assert wire.on(state) == [i % 3 == 1 for i in ids]
    wire.pack_each([Meant(SWITCH if i == 4 else RUN) for i in ids])
    assert wire.on(state) == [i == 1 for i in ids]
    wire.pack(RUN, 48, 2)
    assert wire.on([(i, bytes([1, 0])) for i in ids]) == [i == 1 for i in ids]
    wire.pack(RUN, 40, 1)
    assert wire.on([(i, bytes([1])) for i in ids]) == [True] * SERVOS
    wire.pack(SWITCH)
    assert not any(wire.on(state))


def test_that_an_answer_has_its_error_its_register_and_its_size_beside_its_number(c):
    wire = Wire(c)
    sent = wire.pack(0, 48, 2)
    assert wire.told(sent + feetech.packet(3, 0x25, b"\1\2")) == [(3 | 0x25 << 8 | 48 << 16 | 2 << 24, b"\1\2")]


def test_that_who_is_not_on_the_wire_is_on_by_no_word_of_its_own(c):
    wire = Wire(c)
    wire.pack(RUN, 40, 1)
    assert wire.on([(SERVOS + 3, b"\1")]) == [False]


def test_that_what_came_back_otherwise_and_bytes_of_no_packet_are_counted(c):
    """The echo may be missing completely if answers come. If the echo is wrong, no answer is used."""
    wire, chance = Wire(c), np.random.default_rng(7)
    sent, said = wire.pack(RUN), answers(chance)
    good = b"".join(packed(said))

    def counts() -> tuple[int, int]:
        return wire.state.echoes, wire.state.damaged

    assert (wire.came(sent + good), counts()) == (said, (0, 0))
    assert (wire.came(good), counts()) == (said, (0, 0))
    assert (wire.came(sent), counts()) == ([], (0, 0))
    assert (wire.came(sent[:-1]), counts()) == ([], (1, 0))  # the memory still holds the last byte of the previous echo
    assert (wire.came(sent[:-1] + b"\0" + good), counts()) == ([], (2, 0))
    assert (wire.came(good), counts()) == (said, (2, 0))  # old bytes in the memory complete the next packets
    assert (wire.came(b""), counts()) == ([], (3, 0))
    assert (wire.came(b"\xff\xff"), counts()) == ([], (4, 0))
    assert (wire.came(b"\xff\xff\1"), counts()) == ([], (4, 3))
    assert (wire.came(b"\0" + good), counts()) == ([], (5, 3))
    assert (wire.came(b"\0\xff\1" + good), counts()) == ([], (6, 3))
    assert (wire.came(b"\xff\0\1" + good), counts()) == ([], (7, 3))
    assert (wire.came(b"\xff\xff\xfe" + good), counts()) == ([], (8, 3))
    assert (wire.came(sent + b"\1\2" + good), counts()) == (said, (8, 5))


@pytest.mark.parametrize("other", [
    lambda p: b"\0" + p[1:], lambda p: p[:1] + b"\0" + p[2:], lambda p: p[:-1] + bytes([p[-1] ^ 1]), lambda p: p[:-1],
    lambda p: feetech.packet(0xFE, 0, p[5:-1]), lambda p: feetech.packet(0xFF, 0, p[5:-1]),
    lambda p: feetech.packet(1, 0, p[5:-2]), lambda p: feetech.packet(1, 0, p[5:-1] + b"\0"),
    lambda p: p[:3] + bytes([p[3] + 1]) + p[4:-1] + bytes([p[-1] - 1])],
    ids=["first byte", "second byte", "check sum", "cut off", "of everybody", "of nobody", "too short", "too long",
         "length"])
def test_that_what_is_no_packet_answers_nothing(c, other):
    wire = Wire(c)
    sent, good = wire.pack(RUN), feetech.packet(1, 0, bytes(range(1, 9)))
    assert wire.came(sent + good) == [(1, bytes(range(1, 9)))]
    assert wire.came(sent + other(good)) == []


# ---- servos that close their position loops ----------------------------------------------------------

@pytest.fixture
def holding() -> Wire:
    """Return a wire in position mode."""
    return Wire(compiled("sts", cdef=GOAL + STS.replace("uint16_t echoes", f"ft_goal goal[{SERVOS}]; uint16_t echoes"),
                         loop=1))


def aimed(goal: int, *asked: int) -> Meant:
    """Return a goal, with 500 counts a duty and a duty of at most 0.5."""
    return Meant(RUN | AIM, *asked, data=struct.pack("<HHf", goal, 500, 500.0))


def test_that_goals_of_motors_that_run_are_packed_and_a_servo_without_a_goal_stays(holding):
    off, stays, ids = Meant(SWITCH), Meant(RUN), range(1, SERVOS + 1)
    ask, switched = feetech.ask(list(ids)), feetech.torques(dict.fromkeys(ids, False))
    sent = holding.pack_each([off] * SERVOS)
    assert sent == switched + ask
    holding.came(sent + b"".join(feetech.packet(k, 0, struct.pack("<4H", 700 + k, 0, 0, 0)) for k in ids))
    assert holding.pack_each([aimed(2000), off, stays, off, stays, aimed(9)]) == (
        feetech.settings({1: 2000, 3: 703, 5: 705, 6: 9}, 42, 2) + feetech.torques({2: False, 4: False}) + ask)


@pytest.mark.parametrize(("at", "load", "strained"), [
    (1900, 0, True), (1900, 210, False), (2100, 210, True), (2100, 0x400 | 210, False), (0x8000 | 100, 500, False),
    (0x8000 | 100, 0, True)])
def test_that_the_fifth_load_that_the_loop_does_not_make_is_an_error(holding, at, load, strained):
    """The goal is 2000. A hundred counts make a duty of 0.2 and the drag. A register that is read between two states
    says nothing about a load."""
    for count in range(1, 7):
        for asked, data in ((40, 1), b"\1"), ((21, 2), bytes(2)), ((), struct.pack("<4H", at, 0, load, 0)):
            sent = holding.pack_each([aimed(2000, *asked)] * SERVOS)
            told = holding.told(sent + b"".join(feetech.packet(k + 1, 0, data) for k in range(SERVOS)))
            assert [id >> 8 & 0xFF for id, _ in told] == [64 * (strained and not asked and count > 4)] * SERVOS
