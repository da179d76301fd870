"""A simulation of the boot loader in an STM32's ROM, byte by byte after ST's AN3155.

The loader's state decides the meaning of a byte. The class has the methods of a serial port that the host calls."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import reduce
from operator import xor

from femtorque.codegen.board import Chip

ACK, NACK = b"\x79", b"\x1f"
START = 0x08000000
COMMANDS = bytes([0x00, 0x01, 0x02, 0x11, 0x21, 0x31, 0x44, 0x63, 0x73, 0x82, 0x92])


class RomFake:
    """The simulated boot loader at a port. flash: the content of the chip's flash. echo: true if the line sends every
    byte back. to_chip, to_host: functions that change the bytes of each call."""

    def __init__(self, chip: Chip, number: int | None = None, protected: bool = False, echo: bool = False) -> None:
        self.chip, self.number, self.protected, self.echo = chip, number or chip.rom_id, protected, echo
        self.timeout: float | None = None  # time-out as in pyserial, s
        self.flash = bytearray(b"\x00" * chip.flash_bytes)  # old content
        self.log: list[str] = []  # the received commands
        self.running = False
        self.unique = b"ABCDEFGHIJKL"
        self.to_chip: Callable[[bytes], bytes] = lambda data: data
        self.to_host: Callable[[bytes], bytes] = lambda data: data
        self.stuck_page: int | None = None  # number of a sector that cannot be erased
        self._out = bytearray()
        self._machine = self._loader()
        next(self._machine)

    # -- the port -----------------------------------------------------------

    def write(self, data: bytes) -> int:
        if self.echo:
            self._out += data
        for byte in self.to_chip(bytes(data)):
            if not self.running:
                self._machine.send(byte)
        return len(data)

    def read(self, size: int) -> bytes:
        data, self._out = bytes(self._out[:size]), self._out[size:]
        return data

    def close(self) -> None:
        pass

    def __enter__(self) -> RomFake:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def noise(self, data: bytes) -> None:
        """Add bytes to the line as noise."""
        self._out += data

    def _say(self, data: bytes) -> None:
        self._out += self.to_host(data)

    # -- the loader ---------------------------------------------------------

    def _loader(self) -> Generator[None, int, None]:
        while (yield) != 0x7F:  # detects the baud rate
            pass
        self._say(ACK)
        handlers = {0x00: self._get, 0x02: self._get_id, 0x11: self._read, 0x21: self._go, 0x31: self._write,
                    0x44: self._erase}
        while True:
            command = yield
            if (yield) != command ^ 0xFF or command not in handlers:
                self._say(NACK)
            elif self.protected and command in (0x11, 0x21, 0x31, 0x44):
                self._say(NACK)
            else:
                self._say(ACK)
                yield from handlers[command]()

    def _take(self, size: int) -> Generator[None, int, bytes]:
        data = bytearray()
        while len(data) < size:
            data.append((yield))
        return bytes(data)

    def _address(self) -> Generator[None, int, int | None]:
        data = yield from self._take(5)
        address = int.from_bytes(data[:4], "big")
        good = not reduce(xor, data) and START <= address < START + len(self.flash)
        self.at = address
        good = good or not reduce(xor, data) and address == self.chip.unique
        self._say(ACK if good else NACK)
        return address - START if good else None

    def _get(self) -> Generator[None, int, None]:
        self._say(bytes([len(COMMANDS), 0x31]) + COMMANDS + ACK)
        yield from ()

    def _get_id(self) -> Generator[None, int, None]:
        self._say(b"\x01" + self.number.to_bytes(2, "big") + ACK)
        yield from ()

    def _read(self) -> Generator[None, int, None]:
        at = yield from self._address()
        if at is None:
            return
        size, check = yield from self._take(2)
        if size ^ check != 0xFF:
            self._say(NACK)
            return
        self._say(ACK + (self.unique if self.at == self.chip.unique else bytes(self.flash[at:at + size + 1])))

    def _write(self) -> Generator[None, int, None]:
        at = yield from self._address()
        if at is None:
            return
        count = yield
        data = yield from self._take(count + 1)
        check = yield
        if reduce(xor, data, count) != check:
            self._say(NACK)
            return
        if at % 8 or len(data) % 8 or any(self.flash[at:at + len(data)][i] != 0xFF for i in range(len(data))):
            self._say(NACK)  # only erased flash can be written, in whole double words
            return
        self.flash[at:at + len(data)] = data
        self.log.append(f"write {at:#x} {len(data)}")
        self._say(ACK)

    def _erase(self) -> Generator[None, int, None]:
        head = yield from self._take(2)
        count = int.from_bytes(head, "big") + 1
        body = yield from self._take(2 * count)
        check = yield
        if reduce(xor, head + body) != check:
            self._say(NACK)
            return
        for i in range(count):
            page = int.from_bytes(body[2 * i:2 * i + 2], "big")
            at = sum(self.chip.sectors[:page])
            if page != self.stuck_page:
                self.flash[at:at + self.chip.sectors[page]] = b"\xff" * self.chip.sectors[page]
        self.log.append(f"erase {count}")
        self._say(ACK)

    def _go(self) -> Generator[None, int, None]:
        at = yield from self._address()
        if at is not None:
            self.running = True
            self.log.append(f"go {at:#x}")
