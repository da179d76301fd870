"""What comes on a wire of servos, taken apart: nothing but whole answers with their check sum is told of it."""

from __future__ import annotations

import numpy as np
import pytest

from codegen.common.firmware import application
from codegen.drive import feetech
from codegen.toolchain.host_compiler import build

SERVOS = 6
OUT, IN = 24 + 7 * SERVOS, 24 + 7 * SERVOS + 16 * SERVOS + 16
CDEF = f"""
typedef struct {{ uint32_t id, size; uint8_t data[8]; }} ft_frame;
typedef struct {{
    uint8_t out[{OUT}], in[{IN}];
    uint32_t size;
    ft_frame answer[{SERVOS}];
    uint32_t answers, read;
    uint8_t number, width;
    uint32_t servos;
    uint8_t servo[{SERVOS}];
    _Bool on[{SERVOS}];
    uint16_t echoes, damaged;
}} ft_sts;
void ft_sts_pack(ft_sts *, const ft_frame *, uint32_t);
void ft_sts_came(ft_sts *, uint32_t);
_Bool ft_sts_next(ft_sts *, ft_frame *);
"""
RUN, SWITCH, SET, QUIET = 1, 2, 4, 8


@pytest.fixture(scope="module")
def c():
    names = ("ft_sts.h", "ft_sts.c", "ft_frame.h")
    config = f"#define FT_WIRES 1\n#define FT_WIRE_MOST {SERVOS}u\n"
    return build({name: application()[name].read_text() for name in names} | {"ft_config.h": config}, CDEF)


class Wire:
    def __init__(self, c) -> None:
        self.ffi, self.lib = c
        self.state = self.ffi.new("ft_sts *")
        self.frame = self.ffi.new("ft_frame *")

    def pack(self, meant: int, number: int = 0, size: int = 0, data: bytes = b"") -> bytes:
        """The same to all servos."""
        frames = self.ffi.new(f"ft_frame[{SERVOS}]")
        for k in range(SERVOS):
            frames[k].id, frames[k].size = k + 1 | meant << 8 | number << 16 | size << 24, 4
            frames[k].data = data.ljust(8, b"\0")
        self.lib.ft_sts_pack(self.state, frames, SERVOS)
        return bytes(self.state.out)[:self.state.size]

    def came(self, data: bytes) -> list[tuple[int, bytes]]:
        """Number and bytes of every answer."""
        self.ffi.buffer(self.state)[OUT:OUT + len(data)] = data
        self.lib.ft_sts_came(self.state, len(data))
        found = []
        while self.lib.ft_sts_next(self.state, self.frame):
            found.append((self.frame.id & 0xFF, bytes(self.frame.data)[:self.frame.size]))
        return found


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
    """One flipped bit spoils one answer; a byte that is lost spoils no more than the next one besides."""
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


def test_that_noise_tells_nothing_and_stays_within_its_bounds(c):
    """A check sum of eight bits lets every 256th pass that looks like a packet otherwise: none here."""
    wire, chance = Wire(c), np.random.default_rng(3)
    for _ in range(2000):
        sent = wire.pack(int(chance.integers(16)), int(chance.integers(256)), int(chance.integers(16)),
                         chance.bytes(4))
        assert len(sent) <= OUT
        noise = chance.bytes(int(chance.integers(IN + 1)))
        head = sent if chance.integers(2) and len(sent) <= len(noise) else b""
        assert wire.came((head + noise)[:IN]) == []


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
    assert Wire(c).pack(meant, number, size, bytes([0, 0, 2, 0])) == sent(list(range(1, SERVOS + 1)))
