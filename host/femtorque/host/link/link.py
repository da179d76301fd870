"""Sends and receives frames over a serial device, socket://host:port or unix:PATH. No call blocks. Data are written at
the speed of the line, so that a command never waits behind a second of knots."""

import errno
import os
import re
import socket
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import serial
from serial.tools import list_ports

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.wire import Codec, Frame, FrameReader, Payload
from femtorque.host.link import unix_socket
from femtorque.host.link.clock import Clock, WallClock

BAUD = 1_000_000
BITS_PER_BYTE = 10  # start, eight, stop


class Device(Protocol):
    """The methods of pyserial's Serial that are used here."""

    def read(self, size: int) -> bytes: ...
    def write(self, data: bytes) -> int | None: ...
    def close(self) -> None: ...


class Link:
    """Frames to and from one board. `configure` sets joints and tag later if unknown. Raises BadInput if the port
    cannot be opened, and Refused when it breaks."""

    def __init__(
        self, port: str | Device, joints: int = 1, tag: int = 0, clock: Clock | None = None, baud: int = BAUD
    ) -> None:
        self.port = port if isinstance(port, str) else getattr(port, "name", type(port).__name__)
        self.clock = clock or WallClock()
        self.sent = 0  # frames
        self.worst_gap = 0.0  # longest time between two valid frames, s
        self.heard_at: float | None = None  # time of the last valid frame
        self.sent_at = self.clock.now()
        self.bytes_received = 0
        self._seconds_per_byte = BITS_PER_BYTE / baud
        self._wire_free_at = self.sent_at
        self._bad_before = 0
        self._reader = FrameReader(Codec(joints))
        self.configure(joints, tag)
        self._device: Any = open_port(port, baud) if isinstance(port, str) else port

    def configure(self, joints: int, tag: int) -> None:
        """Use the frames of this configuration from now on."""
        self._bad_before += self._reader.bad
        self.tag = tag
        self._codec = Codec(joints)
        self._reader = FrameReader(self._codec)

    @property
    def bad(self) -> int:
        """Number of frames with a wrong check sum, type or length."""
        return self._bad_before + self._reader.bad

    @property
    def backlog(self) -> float:
        """Seconds until all sent bytes have left the port."""
        return max(0.0, self._wire_free_at - self.clock.now())

    def seconds(self, size: int) -> float:
        """Return the transmission time of some bytes, s."""
        return size * self._seconds_per_byte

    def send(self, message: Payload, seq: int = 0) -> None:
        data = self._codec.encode(message, self.tag, seq)
        try:
            self._device.write(data)
        except (OSError, serial.SerialException) as error:
            raise Refused(self._broken(error)) from error
        self.sent += 1
        self.sent_at = self.clock.now()
        self._wire_free_at = max(self.sent_at, self._wire_free_at) + self.seconds(len(data))

    def receive(self) -> list[Frame]:
        """Return the valid frames since the last call, with any tag."""
        try:
            data = self._device.read(65536)
        except (OSError, serial.SerialException) as error:
            raise Refused(self._broken(error)) from error
        self.bytes_received += len(data)
        frames = list(self._reader.feed(data)) if data else []
        if frames:
            now = self.clock.now()
            if self.heard_at is not None:
                self.worst_gap = max(self.worst_gap, now - self.heard_at)
            self.heard_at = now
        return frames

    def close(self) -> None:
        self._device.close()

    def _broken(self, error: Exception) -> str:
        return f"{self.port}: the link broke ({error}); check cable and power, then start again"


def open_port(port: str, baud: int) -> Device:
    """Open a port whose reads never wait. Raises BadInput."""
    try:
        if port.startswith(unix_socket.SCHEME):
            return unix_socket.Connected(port)
        if port.startswith("socket:") and not (urlsplit(port).hostname and urlsplit(port).port):
            raise ValueError("host or port is missing")
        return serial.serial_for_url(port, baudrate=baud, timeout=0,
                                     write_timeout=unix_socket.WRITE_TIMEOUT, exclusive=True)
    except (OSError, ValueError, serial.SerialException) as error:
        raise BadInput(port, "port", None, f"cannot be opened ({_reason(error)})", _remedy(port, error)) from error


def _remedy(port: str, error: BaseException) -> str:
    """Return a remedy for missing rights or for another program at the port, else the list of ports."""
    number = _number(error)
    if number in (errno.EACCES, errno.EPERM) and (group := _group(port)):
        return f"it belongs to the group {group}: `sudo usermod -aG {group} $USER`, then log out and in"
    if number in (errno.EAGAIN, errno.EBUSY, errno.EWOULDBLOCK):
        return "another program has it open (`femtorque monitor`, a terminal program): close that"
    return _ports_hint(port)


def _group(port: str) -> str:
    """Return the group that may use a device; empty if unknown."""
    try:
        return Path(port).group()
    except (OSError, KeyError, NotImplementedError):
        return ""


def _number(error: BaseException) -> int | None:
    """Return the operating system's error number, found in an error's causes."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno and not isinstance(cause, socket.gaierror):
            return cause.errno
        cause = cause.__context__
    return None


def _reason(error: BaseException) -> str:
    """Return the operating system's error message, if known, without the text that pyserial adds."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):  # has numbers of its own
            return cause.strerror or str(cause)
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno)
        if cause.args[:1] == (errno.ENOTTY,):  # an error of termios
            return "it is no serial port"
        cause = cause.__context__
    return str(error)


def _ports_hint(port: str) -> str:
    if port.startswith(unix_socket.SCHEME):
        return "a virtual board there: `femtorque hil serve MECH --port unix:PATH`"
    if port.startswith("socket:"):
        return "socket://host:port, and a virtual board there: `femtorque hil serve MECH`"

    if re.fullmatch(r"[\w.-]+:\d+", port):
        return f"did you mean socket://{port}?"
    found = [p.device for p in list_ports.comports()]
    if not found:
        return "no serial port is plugged in; a virtual board is socket://host:port"
    return "ports here: " + ", ".join(found)
