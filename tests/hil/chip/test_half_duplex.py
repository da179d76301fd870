"""A USART in half duplex, in both families. It receives its own bytes, which other senders corrupt."""

import pytest

from femtorque.hil.bus import Framing, OneWire
from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32 import serial
from femtorque.hil.chip.stm32.chip import SRAM_START, Stm32
from tests.support.bare_chip import F4, G4, Bare

BYTE = 160  # cycles of 16 MHz, at 1 Mbit/s
FROM, TO = SRAM_START + 0x3000, SRAM_START + 0x4000
MEMORY = b"\xff\xff\xfe\x04" + bytes(60)
HALF = serial.HDSEL | serial.DMAT | serial.DMAR


class Desk:
    """A chip's USART3, with its first two DMA streams, on a half-duplex bus at 16 cycles per bit: by PB10 in open
    drain, or by a transceiver with enable PB14 and output PB11. heard: times, s, and packets, which are whole bursts
    here."""

    def __init__(self, kind: type[Stm32], between: bool = False) -> None:
        self.chip = Bare(kind).chip
        self.events = self.chip.core.events
        self.usart, self.port = self.chip.usarts["USART3"], self.chip.gpio["B"]
        self.line = OneWire(self.chip.clock(), 1e6, Framing(split=lambda burst: (0, len(burst))))
        self.heard: list[tuple[float, bytes]] = []
        self.line.log = lambda seconds, packet: self.heard.append((seconds, packet))
        pins = (10, 14, 11) if between else (10,)
        self.usart.plug(self.line, *((self.port, pin, 7) for pin in pins))
        self.port.value["OTYPER"] = 0 if between else 1 << 10
        self.port.value["MODER"] = sum(2 << 2 * pin for pin in pins)
        self.port.value["AFRH"] = sum(7 << 4 * (pin - 8) for pin in pins)
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
        """Start a DMA stream in the same way as the DMA models."""
        stream = self.chip.parts.state.streams[side]
        stream.memory, stream.left, stream.usual = memory, size, 0
        stream.sends, stream.link = side, self.usart.slot
        self.chip.parts.do("stream_start", self.chip.parts.ffi.addressof(stream))

    def send(self, size: int) -> None:
        self.stream(1, TO, size)

    def go(self, bytes_: float) -> None:
        self.events.now += round(bytes_ * BYTE)
        self.events.fire()
        self.usart.catch_up()


@pytest.fixture(params=[F4, G4], ids=["f4", "g4"])
def desk(request) -> Desk:
    return Desk(request.param)


def test_that_what_is_sent_comes_back_byte_by_byte(desk):
    desk.send(4)
    desk.go(2.5)
    assert desk.memory[:4] == b"\xff\xff\0\0"
    assert desk.heard == []
    desk.go(2.0)
    assert desk.heard == [(pytest.approx(4.5e-5), b"\xff\xff\xfe\x04")]
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
    desk.go(5.0)
    assert desk.heard == []
    assert bytes(desk.memory[:1]) == b"\x01" and b"\xff\xff\xfe\x04" not in desk.memory


@pytest.mark.parametrize(("key", "value", "control"), [
    ("MODER", 1 << 20, HALF), ("OTYPER", 0, HALF), ("OTYPER", 1 << 10, serial.DMAT | serial.DMAR)],
    ids=["no alternate function", "no open drain", "both lines"])
def test_that_off_the_wire_nothing_is_sent_and_nothing_comes_back(desk, key, value, control):
    desk.port.value[key] = value
    desk.request(control)
    desk.send(4)
    desk.go(5.0)
    assert desk.heard == [] and not any(desk.memory)


@pytest.mark.parametrize(("at", "behind"), [(16, 16), (0, 31), (31, 0)])
def test_that_a_g4_drives_a_transceiver_for_sixteenths_of_a_bit_before_and_after(at, behind):
    """RM0440 37.5.20, 37.8.1: DEAT from bit 21 and DEDT from bit 16 are in sixteenths of a bit at 16 samples per bit.
    DEM is bit 14 of CR3. The echo is later by DEAT."""
    desk = Desk(G4, between=True)
    desk.usart.value["CR1"] |= at << 21 | behind << 16
    desk.request(1 << 14 | serial.DMAT | serial.DMAR)
    desk.send(4)
    assert desk.line.state.driven == pytest.approx(4e-5 + (at + behind) / 16e6)
    desk.go(1.0 + at / 160.0 - 0.01)
    assert desk.memory[:1] == b"\0"
    desk.go(0.02)
    assert desk.memory[:2] == b"\xff\0"
    desk.go(3.0 - 0.02)
    assert desk.heard == []
    desk.go(0.04)
    assert [packet for _, packet in desk.heard] == [b"\xff\xff\xfe\x04"]


def test_that_what_drives_a_transceiver_is_set_while_the_usart_is_off():
    """These bits can be written only while the USART is off (RM0440 37.8). An F4 has none (RM0090 30.6.6)."""
    usart = Desk(G4).usart
    for write, value in ((usart.write_CR1, usart.value["CR1"] | 1 << 21), (usart.write_CR3, HALF | 1 << 14)):
        with pytest.raises(Unmodelled, match="while the USART is on"):
            write(value)
    usart.write_CR1(0)
    usart.write_CR3(1 << 14)
    usart.write_CR1(16 << 21 | 16 << 16)
    usart.write_CR1(16 << 21 | 16 << 16 | usart.UE | serial.TE | serial.RE)
    assert not next(r for r in Desk(F4).usart.REGISTERS.values() if r.name == "CR3").writable >> 14 & 1
