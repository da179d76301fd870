"""A USART in half duplex on the chips' models: it receives its own bytes, and other senders spoil them."""

from __future__ import annotations

import pytest

from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32 import serial
from femtorque.hil.chip.stm32.chip import SRAM_START, Stm32
from tests.support.bare_chip import F4, G4, Bare

BYTE = 160  # cycles of 16 MHz, at 1 Mbit/s
FROM, TO = SRAM_START + 0x3000, SRAM_START + 0x4000
MEMORY = b"\xff\xff\xfe\x04" + bytes(60)
HALF = serial.HDSEL | serial.DMAT | serial.DMAR


class Wire:
    connected = True

    def __init__(self) -> None:
        self.heard: list[tuple[bytes, float]] = []
        self.guards: list[tuple[float, float]] = []

    def sent(self, data: bytes, seconds: float, before: float, after: float) -> None:
        self.heard.append((data, seconds))
        self.guards.append((before, after))

    def echo(self, data: bytes) -> bytes:
        return data


class Desk:
    """A chip's USART3 with its first two DMA streams, at 16 cycles a bit."""

    def __init__(self, kind: type[Stm32]) -> None:
        self.chip = Bare(kind).chip
        self.events = self.chip.core.events
        self.usart = self.chip.usarts["USART3"]
        self.usart.wire = self.wire = Wire()
        self.usart.value["BRR"] = 16
        self.usart.value["CR1"] = self.usart.UE | serial.TE | serial.RE
        self.chip.core.load(TO, MEMORY)
        self.chip.core.load(FROM, bytes(64))
        self.stream(0, FROM, 64)
        self.request(HALF)

    def request(self, control: int) -> None:
        self.usart.value["CR3"] = control
        self.usart.settings_changed()

    @property
    def memory(self) -> bytes:
        return self.chip.core.memory(FROM, 64)

    def stream(self, side: int, memory: int, size: int) -> None:
        """Start a stream as the DMA models do."""
        stream = self.chip.parts.state.streams[side]
        stream.memory, stream.left, stream.usual = memory, size, 0
        stream.sends, stream.link = side, self.usart.slot
        self.chip.parts.do("stream_start", self.chip.parts.ffi.addressof(stream))

    def send(self, size: int) -> None:
        self.usart.sending(MEMORY[:size])
        self.stream(1, TO, size)

    def go(self, bytes_: float) -> None:
        self.events.now += round(bytes_ * BYTE)
        self.usart.catch_up()


@pytest.fixture(params=[F4, G4], ids=["f4", "g4"])
def desk(request) -> Desk:
    return Desk(request.param)


def test_that_what_is_sent_comes_back_byte_by_byte(desk):
    desk.send(4)
    assert desk.wire.heard == [(b"\xff\xff\xfe\x04", pytest.approx(1e-5))]
    desk.go(2.5)
    assert desk.memory[:4] == b"\xff\xff\0\0"
    desk.go(2.0)
    assert desk.memory[:4] == b"\xff\xff\xfe\x04" and desk.usart.line_out() == b"\xff\xff\xfe\x04"


def test_that_an_answer_follows_what_was_sent(desk):
    desk.send(4)
    desk.go(4.5)
    desk.usart.line_in(b"\x01\x02")
    desk.go(3.0)
    assert desk.memory[:6] == b"\xff\xff\xfe\x04\x01\x02"


def test_that_who_talks_meanwhile_is_not_understood_and_spoils_what_comes_back(desk):
    desk.usart.line_in(b"\x01\x02\x03")
    desk.go(1.2)
    desk.send(4)
    assert desk.wire.heard == [(b"", pytest.approx(1e-5))]
    desk.go(5.0)
    assert bytes(desk.memory[:1]) == b"\x01" and b"\xff\xff\xfe\x04" not in desk.memory


def test_that_off_the_wire_nothing_is_sent_and_nothing_comes_back(desk):
    desk.wire.connected = False
    desk.send(4)
    desk.go(5.0)
    assert desk.wire.heard == [] and not any(desk.memory)


@pytest.mark.parametrize(("at", "behind"), [(16, 16), (0, 31), (31, 0)])
def test_that_a_g4_drives_a_transceiver_for_sixteenths_of_a_bit_before_and_after(at, behind):
    """RM0440 37.5.20 and 37.8.1: DEAT from bit 21, DEDT from bit 16, in sixteenths of a bit at 16 samples a bit; DEM
    is bit 14 of CR3. The echo comes that much later."""
    desk = Desk(G4)
    desk.usart.value["CR1"] |= at << 21 | behind << 16
    desk.request(1 << 14 | serial.DMAT | serial.DMAR)
    desk.send(4)
    assert desk.wire.heard == [(b"\xff\xff\xfe\x04", pytest.approx(1e-5))]
    assert desk.wire.guards == [(pytest.approx(at / 16e6), pytest.approx(behind / 16e6))]
    desk.go(1.0 + at / 160.0 - 0.01)
    assert desk.memory[:1] == b"\0"
    desk.go(0.02)
    assert desk.memory[:2] == b"\xff\0"


def test_that_what_drives_a_transceiver_is_set_while_the_usart_is_off():
    """As RM0440 37.8 says of each; an F4 has none of it (RM0090 30.6.6)."""
    usart = Desk(G4).usart
    for write, value in ((usart.write_CR1, usart.value["CR1"] | 1 << 21), (usart.write_CR3, HALF | 1 << 14)):
        with pytest.raises(Unmodelled, match="while the USART is on"):
            write(value)
    usart.write_CR1(0)
    usart.write_CR3(1 << 14)
    usart.write_CR1(16 << 21 | 16 << 16)
    usart.write_CR1(16 << 21 | 16 << 16 | usart.UE | serial.TE | serial.RE)
    assert not next(r for r in Desk(F4).usart.REGISTERS.values() if r.name == "CR3").writable >> 14 & 1


def test_that_with_both_lines_nothing_comes_back(desk):
    desk.request(serial.DMAT | serial.DMAR)
    desk.send(4)
    desk.go(5.0)
    assert desk.wire.heard == [] and not any(desk.memory)
