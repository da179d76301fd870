"""The byte protocols of serial adapters for CAN, in the C of a PC's board, judged by packages of makers and others."""

from typing import Any
from unittest.mock import Mock

import pytest
from can.interfaces.slcan import slcanBus
from hypothesis import given, strategies as st
from moteus.fdcanusb_device import FdcanusbDevice

from femtorque.codegen.common import FIRMWARE
from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.bus import Frame
from femtorque.hil.bus.frame import SIZES
from femtorque.hil.bus.gateway import frame_of, line_of

LONG, REMOTE, NO_FRAME = 1 << 31, 1 << 30, 0xFFFFFFFF
CDEF = """
typedef struct { uint32_t id, size; uint8_t data[64]; } ft_frame;
typedef struct {
    const char *name;
    uint32_t baud;
    uint32_t (*begin)(uint8_t *bytes, uint32_t bitrate, uint32_t data_bitrate);
    uint32_t (*pack)(uint8_t *bytes, const ft_frame *f, bool fd);
    uint32_t (*unpack)(const uint8_t *bytes, uint32_t count, ft_frame *f);
    const char *end;
} ft_dialect;
extern ft_dialect ft_slcan, ft_fdcanusb, ft_damiao_usb, ft_robstride_usb;
"""
CHIP = FIRMWARE / "chip" / "linux"
SOURCES = {name: (CHIP / name).read_text() for name in ("ft_text.c", "ft_binary.c", "ft_parts.h")} | {
    name: (FIRMWARE / "src" / "core" / name).read_text() for name in ("ft_chip.h", "ft_frame.h")} | {
    "ft_frame_bytes.h": "#define FT_FRAME_BYTES 64u\n"}


@pytest.fixture(scope="module")
def c():
    return host_compiler.build(SOURCES, CDEF)


class Dialect:
    def __init__(self, c: Any, name: str) -> None:
        self.ffi, lib = c
        self.own = getattr(lib, name)

    def pack(self, frame: Frame) -> bytes:
        out, f = self.ffi.new("uint8_t[192]"), self.ffi.new("ft_frame *")
        f.id, f.size = frame.id | LONG * frame.extended | REMOTE * frame.remote, len(frame.data)
        f.data[0:len(frame.data)] = frame.data
        return bytes(self.ffi.buffer(out, self.own.pack(out, f, frame.fd)))

    def unpack(self, data: bytes) -> tuple[list[tuple[int, bytes]], int]:
        """Return (id, data) of all frames, and how many bytes are left."""
        found, f = [], self.ffi.new("ft_frame *")
        while data:
            f.size = NO_FRAME
            done = self.own.unpack(data, len(data), f)
            assert done <= len(data)
            if f.size != NO_FRAME:
                assert f.size <= 64
                found.append((f.id, bytes(self.ffi.buffer(f.data, f.size))))
            if not done:
                break
            data = data[done:]
        return found, len(data)

    def begin(self, bitrate: int, data_bitrate: int = 0) -> bytes:
        out = self.ffi.new("uint8_t[256]")
        return bytes(self.ffi.buffer(out, self.own.begin(out, bitrate, data_bitrate)))


def frames(fd: bool):
    sizes = SIZES if fd else range(9)
    return st.builds(lambda size, byte, id, long: Frame(id if long else id & 0x7FF, bytes([byte]) * size, long, False,
                                                        fd, fd),
                     st.sampled_from(sizes), st.integers(0, 255), st.integers(0, (1 << 29) - 1), st.booleans())


def of(frame: Frame) -> tuple[int, bytes]:
    return frame.id | LONG * frame.extended | REMOTE * frame.remote, frame.data


@given(st.booleans().flatmap(frames))
def test_slcan_is_what_the_virtual_gateway_speaks(c, frame):
    """The gateway's lines are held against python-can elsewhere."""
    slcan = Dialect(c, "ft_slcan")
    assert slcan.pack(frame) == line_of(frame)
    assert slcan.unpack(b"\r\a" + line_of(frame) + line_of(frame)[:-1]) == ([of(frame)], len(line_of(frame)) - 1)
    asked = frame._replace(data=b"", remote=True, fd=False, fast=False)
    assert frame_of(slcan.pack(asked)[:-1].decode()) == asked


def test_slcan_sets_an_adapter_up_as_python_can_does(c):
    slcan, port = Dialect(c, "ft_slcan"), Mock()
    written: list[bytes] = []
    port.write = written.append
    bus = slcanBus.__new__(slcanBus)
    bus.serialPortOrig, bus._listen_only = port, False
    bus.set_bitrate(1_000_000, 5_000_000)
    assert slcan.begin(1_000_000, 5_000_000) == b"\r" + b"".join(written)
    assert slcan.begin(123_456) == b""


@given(st.booleans().flatmap(frames))
def test_fdcanusb_hears_the_makers_package(c, frame):
    """Its adapter reads numbers in any case, and hands on what moteus' package reads."""
    own = Dialect(c, "ft_fdcanusb")
    line = own.pack(frame).decode().split(" ")
    assert line[:2] == ["can", "ext" if frame.extended else "std"] and int(line[2], 16) == frame.id
    assert bytes.fromhex(line[3]) == frame.data and line[4] == ("BF\n" if frame.fd else "bf\n")
    told = f"rcv {frame.id:x} {frame.data.hex()} {'E' if frame.extended else 'e'} {'B F' if frame.fd else 'b f'} t12\n"
    assert own.unpack(b"OK\r\n" + told.encode()) == ([of(frame)], 0)
    parsed = FdcanusbDevice.__new__(FdcanusbDevice)._parse_frame(told.encode())
    assert (parsed.arbitration_id, parsed.data, parsed.is_fd) == (frame.id, frame.data, frame.fd)


def test_fdcanusb_sets_the_rates_while_its_bus_is_off(c):
    lines = Dialect(c, "ft_fdcanusb").begin(1_000_000, 5_000_000).decode().split("\n")
    assert lines == ["", "can off", "conf set can.bitrate 1000000", "conf set can.fd_bitrate 5000000", "can on", ""]


def test_damiaos_adapter_by_published_vectors(c):
    """dora-lerobot's test vectors: id 7 out, id 0x17 in."""
    damiao = Dialect(c, "ft_damiao_usb")
    assert damiao.pack(Frame(7, bytes(range(1, 9)))) == bytes.fromhex(
        "55aa1e03010000000a000000000700000000080000010203040506070800")
    told = bytes.fromhex("aa110817000000090807060504030255")
    assert damiao.unpack(b"\x00\xaa" + told + told[:9]) == ([(0x17, bytes.fromhex("0908070605040302"))], 9)
    sent = told.replace(b"\xaa\x11", b"\xaa\x12")  # a report on a sent frame
    assert damiao.unpack(sent + told)[0] == [(0x17, bytes.fromhex("0908070605040302"))]
    assert damiao.begin(1_000_000) == bytes.fromhex("550500aa55") and damiao.begin(1_000_000, 5_000_000) == b""


@given(frames(fd=False), st.binary(max_size=6))
def test_robstrides_adapter_goes_by_length(c, frame, noise):
    """The data may hold the bytes that end a frame. Noise without the begin of a frame is skipped."""
    robstride = Dialect(c, "ft_robstride_usb")
    frame = frame._replace(data=(b"\r\nAT" * 2)[:len(frame.data)])
    sent = robstride.pack(frame)
    number = frame.id << 3 | 4 if frame.extended else frame.id << 21
    assert sent == b"AT" + number.to_bytes(4, "big") + bytes([len(frame.data)]) + frame.data + b"\r\n"
    assert robstride.unpack(noise.replace(b"A", b"B") + sent + sent[:-1]) == ([of(frame)], len(sent) - 1)
    assert robstride.begin(1_000_000).endswith(b"AT+AT\r\n") and robstride.begin(500_000) == b""


@pytest.mark.parametrize("name", ["ft_slcan", "ft_fdcanusb", "ft_damiao_usb", "ft_robstride_usb"])
@given(st.binary(max_size=700))
def test_any_bytes_are_taken_without_harm(c, name, data):
    """No protocol waits for ever: fewer bytes are left than its longest frame has."""
    assert Dialect(c, name).unpack(data)[1] <= 256
