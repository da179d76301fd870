"""A USART in half duplex on the chips' models: it receives its own bytes, and other senders spoil them."""

from __future__ import annotations

import pytest

from femtorque.hil.chip.events import Events
from femtorque.hil.chip.stm32 import serial
from femtorque.hil.chip.stm32f4 import serial as f4
from femtorque.hil.chip.stm32g4 import serial as g4

HZ = 42_000_000
BYTE = 420  # cycles, at 1 Mbit/s
MEMORY = b"\xff\xff\xfe\x04" + bytes(60)
HALF = serial.HDSEL | serial.DMAT | serial.DMAR


class Wire:
    connected = True

    def __init__(self) -> None:
        self.heard: list[tuple[bytes, float]] = []

    def sent(self, data: bytes, seconds: float) -> None:
        self.heard.append((data, seconds))

    def echo(self, data: bytes) -> bytes:
        return data


class Desk:
    def __init__(self, kind) -> None:
        self.events = Events()
        self.usart = kind("USART3", 0x40004800, self.events, lambda: 1.0)
        self.usart.clock_hz = lambda: HZ
        self.usart.wire = self.wire = Wire()
        self.memory = bytearray(256)
        self.usart.value["BRR"] = 42
        self.usart.value["CR1"] = kind.UE | serial.TE | serial.RE
        self.usart.value["CR3"] = HALF
        self.usart.receive_stream = self.stream(lambda at, data: self.memory.__setitem__(
            slice(at, at + len(data)), data), 64)

    def stream(self, store, size: int) -> serial.Stream:
        stream = serial.Stream(lambda at, count: MEMORY[at:at + count], store, 0)
        stream.control, stream.left, stream.reload = 1, size, size
        return stream

    def send(self, size: int) -> None:
        """Start a stream as the DMA models do."""
        stream = self.stream(lambda at, data: None, size)
        self.usart.sending(stream)
        self.usart.transmit_stream = stream
        self.usart.catch_up()

    def go(self, bytes_: float) -> None:
        self.events.now += round(bytes_ * BYTE)
        self.usart.catch_up()


@pytest.fixture(params=[f4.Usart, g4.Usart], ids=["f4", "g4"])
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


def test_that_with_both_lines_nothing_comes_back(desk):
    desk.usart.value["CR3"] = serial.DMAT | serial.DMAR
    desk.send(4)
    desk.go(5.0)
    assert desk.wire.heard == [] and not any(desk.memory)
