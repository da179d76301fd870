"""Encoder and decoder of the serial protocol's frames in Python, for the messages of femtorque.codegen.wire.messages. A
frame is COBS(type u8 | seq u16 | tag u16 | payload | crc32 u32) and a final zero byte, little endian. This module
defines the byte layout. The package `cobs` provides COBS, and zlib the CRC-32."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from cobs import cobs

from femtorque.codegen.common import BadInput, printable
from femtorque.codegen.wire.messages import CLASSES, MESSAGES, Field, J, Message, Payload

HEADER = struct.Struct("<BHH")
CRC = struct.Struct("<I")
OVERHEAD = HEADER.size + CRC.size

_CODES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "i64": "q", "f32": "f"}
SIZES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "i64": 8, "f32": 4}


class BadFrame(Exception):
    """An error: a frame has wrong stuffing, check sum, type or length."""


class Frame(NamedTuple):
    """A decoded frame: message and header."""

    message: Payload
    seq: int
    tag: int


@dataclass(frozen=True)
class _Layout:
    """The byte layout of one message, for a given number of joints."""

    message: Message
    packer: struct.Struct
    counts: tuple[int, ...]  # per field: 0 for a single value, n for an array of length n

    @staticmethod
    def of(message: Message, joints: int) -> _Layout:
        counts = tuple(length(f, joints) if f.length != 1 else 0 for f in message.fields)
        return _Layout(message, struct.Struct("<" + "".join(map(_code, message.fields, counts))), counts)

    def pack(self, message: Payload) -> bytes:
        values: list[Any] = []
        for f, n in zip(self.message.fields, self.counts, strict=True):
            value = getattr(message, f.name)
            if not n:
                values.append(value)
            elif f.type == "u8":
                values.append(bytes(value))
            elif len(value) != n:
                raise BadInput(self.message.name, f.name, None, f"has {len(value)} values where {n} are due")
            else:
                values.extend(value)
        try:
            return self.packer.pack(*values)
        except (struct.error, OverflowError) as error:
            raise BadInput(self.message.name, "value", None, f"does not fit its field ({error})") from None

    def unpack(self, payload: bytes) -> Payload:
        values: list[Any] = []
        i, items = 0, self.packer.unpack(payload)
        for f, n in zip(self.message.fields, self.counts, strict=True):
            step = n if n and f.type != "u8" else 1
            values.append(items[i : i + step] if n and f.type != "u8" else items[i])
            i += step
        return CLASSES[self.message.name](*values)


def length(f: Field, joints: int) -> int:
    """Return the number of values of a field."""
    return joints if f.length == J else int(f.length)


def payload_size(message: Message, joints: int) -> int:
    """Return the bytes of a message's payload."""
    return sum(SIZES[f.type] * length(f, joints) for f in message.fields)


def stuffed_size(frame: int) -> int:
    """Return the maximum number of bytes on the line for a frame of `frame` bytes. COBS adds one per 254 bytes and a
    final zero."""
    return frame + frame // 254 + 2


def _code(f: Field, n: int) -> str:
    if not n:
        return _CODES[f.type]
    return f"{n}s" if f.type == "u8" else f"{n}{_CODES[f.type]}"


def checked(stuffed: bytes) -> bytes:
    """Return header and payload of a frame of any configuration. data: bytes between two zeros. Raise BadFrame."""
    try:
        frame = cobs.decode(stuffed)
    except cobs.DecodeError as error:
        raise BadFrame("stuffing") from error
    if len(frame) < OVERHEAD:
        raise BadFrame("length")
    body, crc = frame[: -CRC.size], frame[-CRC.size :]
    if CRC.unpack(crc)[0] != zlib.crc32(body):
        raise BadFrame("check sum")
    return body


class Codec:
    """A stateless encoder and decoder of all messages, for a given number of joints."""

    def __init__(self, joints: int) -> None:
        self.joints = joints
        layouts = [_Layout.of(m, joints) for m in MESSAGES]
        self._by_type = {x.message.type: x for x in layouts}
        self._by_name = {x.message.name: x for x in layouts}

    def encode(self, message: Payload, tag: int, seq: int = 0) -> bytes:
        """Return the bytes of a frame with the final zero. Raise BadInput for a value that does not fit its field."""
        layout = self._by_name[message.NAME]
        body = HEADER.pack(layout.message.type, seq & 0xFFFF, tag) + layout.pack(message)
        return cobs.encode(body + CRC.pack(zlib.crc32(body))) + b"\0"

    def decode(self, stuffed: bytes) -> Frame:
        """Return one frame, decoded from the bytes between two zeros. Raise BadFrame."""
        body = checked(stuffed)
        kind, seq, tag = HEADER.unpack_from(body)
        layout = self._by_type.get(kind)
        if layout is None:
            raise BadFrame(f"type {kind}")
        payload = body[HEADER.size :]
        if len(payload) != layout.packer.size:
            raise BadFrame(f"{layout.message.name} of {len(payload)} bytes where {layout.packer.size} are due")
        return Frame(layout.unpack(payload), seq, tag)


class FrameReader:
    """A reader that splits a byte stream at zeros and decodes the frames."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._longest = stuffed_size(OVERHEAD + max(payload_size(m, codec.joints) for m in MESSAGES))
        self._buffer = bytearray()
        self.good = 0
        self.bad = 0  # number of rejected frames

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Accept bytes, and yield the valid frames that are now complete."""
        *complete, rest = (bytes(self._buffer) + data).split(b"\0")
        self._buffer[:] = rest[-self._longest - 1 :]  # limits the memory for a stream that contains no zeros
        for stuffed in complete:
            if not stuffed:
                continue
            try:
                frame = self._codec.decode(stuffed)
            except BadFrame:
                self.bad += 1
                continue
            self.good += 1
            yield frame


def text(padded: bytes) -> str:
    """Return the text of a zero-padded field on one line. The function replaces control characters by '?'."""
    return printable(padded.split(b"\0")[0].decode("ascii", "replace"))
