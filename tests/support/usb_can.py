"""Emulators of serial adapters for CAN, written from publications about the adapters.

fdcanusb: README of mjbots/fdcanusb. Damiao's adapter: python-can's interface DamiaoBus, and the test vectors of
dora-lerobot. RobStride's adapter: public clients, which agree. No emulator passes frames before the set-up."""

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable

from femtorque.hil.bus import Adapter, Frame


class UsbCan(ABC):
    """An adapter on a CAN bus. send: called with bytes for the program. refused: wrong messages of the program."""

    on = False

    def __init__(self, adapter: Adapter, send: Callable[[bytes], None]) -> None:
        self._adapter, self.send, self._begun = adapter, send, b""
        self.refused: list[bytes] = []
        adapter.hear(lambda frame: send(self.told(frame)) if self.on else None)

    def take(self, data: bytes) -> int:
        """Take bytes of the program. Return the number of their frames."""
        self._begun, frames = self._begun + data, list[Frame]()
        while size := self.size(self._begun):
            part, self._begun = self._begun[:size], self._begun[size:]
            if (frame := self.heard(part)) is not None and self.on:
                frames.append(frame)
        if frames:
            self._adapter.send(frames)
        return len(frames)

    @abstractmethod
    def size(self, data: bytes) -> int:
        """Return the size of the first message, or 0 if the message is not complete."""

    @abstractmethod
    def heard(self, part: bytes) -> Frame | None:
        """Obey a message. Return the message's frame, or None."""

    @abstractmethod
    def told(self, frame: Frame) -> bytes:
        """Return the message about a received frame."""


class Fdcanusb(UsbCan):
    """mjbots' adapter. rates: the configured bit rates by name."""

    _SENT = re.compile(rb"can (std|ext) ([0-9A-Fa-f]+) ((?:[0-9A-Fa-f]{2})*) ([BbFfRr ]*)")

    def __init__(self, adapter: Adapter, send: Callable[[bytes], None]) -> None:
        super().__init__(adapter, send)
        self.rates: dict[bytes, int] = {}

    def size(self, data: bytes) -> int:
        return data.find(b"\n") + 1

    def heard(self, part: bytes) -> Frame | None:
        line, frame, good = part.strip(), None, True
        if line in (b"can on", b"can off"):
            good, self.on = line == b"can off" or not self.on, line == b"can on"
        elif sent := self._SENT.fullmatch(line):
            frame = Frame(int(sent[2], 16), bytes.fromhex(sent[3].decode()), sent[1] == b"ext", b"R" in sent[4],
                          b"F" in sent[4], b"B" in sent[4])
            good = self.on
        elif line.startswith(b"conf set ") and not self.on:
            key, value = line.split()[2:]
            self.rates[key] = int(value)
        else:
            good = not line
        self.refused += [] if good else [part]
        self.send(b"OK\r\n" if good else b"ERR unknown command\r\n")
        return frame if good else None

    def told(self, frame: Frame) -> bytes:
        flags = "".join(f" {letter if set_ else letter.lower()}" for letter, set_ in (
            ("E", frame.extended), ("B", frame.fast), ("F", frame.fd), ("R", frame.remote)))
        return f"rcv {frame.id:X} {frame.data.hex().upper()}{flags} t31235 f-1\r\n".encode()


class DamiaoUsb(UsbCan):
    """Damiao's adapter, which also reports each sent frame. number: number of the bit rate, 0 for 1 Mbit/s."""

    number: int | None = None
    _OUT = struct.Struct("<2sBBIIBIBBBB8sB")  # head, length, 3, count, interval, ext, id, rtr, dlc, 0, 0, data, crc
    _RATE = re.compile(rb"\x55\x05(.)\xaa\x55", re.DOTALL)

    @property
    def on(self) -> bool:  # type: ignore[override]  # the bit rate switches it on
        return self.number is not None

    def size(self, data: bytes) -> int:
        length = data[2] if data[:2] == b"\x55\xaa" and len(data) > 2 else 5 if data[:2] == b"\x55\x05" else 0
        return length if len(data) >= length else 0

    def heard(self, part: bytes) -> Frame | None:
        if rate := self._RATE.fullmatch(part):
            self.number = rate[1][0]
            return None
        _, _, command, count, _, extended, number, remote, size, _, _, data, _ = self._OUT.unpack(part)
        if (command, count) != (3, 1):
            self.refused.append(part)
            return None
        self.send(self._message(0x12, frame := Frame(number, data[:size], bool(extended), bool(remote), False, False)))
        return frame

    def told(self, frame: Frame) -> bytes:
        return self._message(0x11, frame)

    @staticmethod
    def _message(command: int, frame: Frame) -> bytes:
        kind = len(frame.data) | frame.extended << 6 | frame.remote << 7
        return struct.pack("<BBBI8sB", 0xAA, command, kind, frame.id, frame.data, 0x55)


class RobStrideUsb(UsbCan):
    """RobStride's adapter. Commands of its set-up are text, and frames are bytes."""

    def size(self, data: bytes) -> int:
        if not self.on:
            return data.find(b"\r\n") + 2 if b"\r\n" in data else 0
        length = 9 + data[6] if len(data) > 6 else 0
        return length if len(data) >= length else 0

    def heard(self, part: bytes) -> Frame | None:
        if not self.on:
            self.on = part == b"AT+AT\r\n"
            self.send(b"OK\r\n")
            return None
        word = int.from_bytes(part[2:6], "big")
        if part[:2] != b"AT" or part[-2:] != b"\r\n":
            self.refused.append(part)
            return None
        extended = bool(word & 4)
        return Frame(word >> (3 if extended else 21), part[7:-2], extended, bool(word & 2), False, False)

    def told(self, frame: Frame) -> bytes:
        word = (frame.id << 3 | 4 if frame.extended else frame.id << 21) | 2 * frame.remote
        return b"AT" + word.to_bytes(4, "big") + bytes([len(frame.data)]) + frame.data + b"\r\n"


FDCANUSB, DAMIAO, ROBSTRIDE = ("fdcanusb", Fdcanusb), ("damiao", DamiaoUsb), ("robstride", RobStrideUsb)
