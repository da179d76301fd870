"""The boot loader in the ROM of an STM32, over a UART (8E1; ST application notes AN3155 and AN2606). A command is a
byte and its complement. Addresses and data have an exclusive-or check sum. The chip answers every step by ACK or NACK.
After a garbled answer the host reads the memory back. At the end it compares the whole flash."""

from collections.abc import Callable
from functools import reduce
from operator import xor
from typing import Protocol

from femtorque.codegen.common import Refused

ACK, NACK, SYNC = 0x79, 0x1F, 0x7F
GET, GET_ID, READ, GO, WRITE, ERASE, EXTENDED_ERASE = 0x00, 0x02, 0x11, 0x21, 0x31, 0x43, 0x44
PIECE = 256  # bytes of one READ or WRITE, at most
TRIES = 4
# maximum waits, s: for the answer to a command, for a write of PIECE bytes, for the erasure of all sectors
ANSWER_S, WRITE_S, ERASE_S = 0.5, 1.0, 35.0
FILLER = 0x7E  # a byte that is no command; FILLER bytes never form a WRITE with a valid check sum
RESYNC = 300  # number of FILLER bytes that complete any interrupted command

PARTS = {0x413: "STM32F405/407/415/417", 0x419: "STM32F42x/43x", 0x431: "STM32F411", 0x433: "STM32F401xD/E",
         0x423: "STM32F401xB/C", 0x421: "STM32F446", 0x411: "STM32F2xx", 0x410: "STM32F1xx of medium density",
         0x468: "STM32G431/441", 0x469: "STM32G47x/48x", 0x479: "STM32G491/4A1", 0x449: "STM32F74x/75x",
         0x450: "STM32H74x/75x", 0x415: "STM32L47x/48x", 0x435: "STM32L43x/44x"}


def part(number: int) -> str:
    """Return the name of a product identifier."""
    return f"{PARTS.get(number, 'unknown chip')} (0x{number:03X})"


class Device(Protocol):
    """The subset of pyserial's Serial that is used here. `read` returns the bytes that came within `timeout`."""

    timeout: float | None

    def read(self, size: int) -> bytes: ...
    def write(self, data: bytes) -> int | None: ...


class _Torn(Exception):
    """An unusable answer: silence, NACK or noise. command: True if the answer is to the command byte."""

    def __init__(self, answer: bytes, command: bool = False) -> None:
        self.answer, self.command = answer, command


class RomLoader:
    """Connection to the boot loader of one chip. Raises Refused with the remedy."""

    def __init__(self, device: Device, name: str) -> None:
        self._device, self._name = device, name
        self._echo = False  # the line echoes sent bytes (half-duplex)
        self._met = False

    # -- bytes --------------------------------------------------------------

    def _read(self, size: int, seconds: float) -> bytes:
        self._device.timeout = seconds
        return self._device.read(size)

    def _write(self, data: bytes) -> None:
        self._device.write(data)
        if self._echo:
            self._read(len(data), ANSWER_S)

    def _drain(self) -> None:
        for _ in range(64):
            if not self._read(256, 0.02):
                return

    def _acknowledged(self, seconds: float = ANSWER_S, command: bool = False) -> None:
        answer = self._read(1, seconds)
        if answer != bytes([ACK]):
            raise _Torn(answer, command)

    def _command(self, code: int) -> None:
        self._write(bytes([code, code ^ 0xFF]))
        self._acknowledged(command=True)

    def _checked(self, data: bytes, seconds: float = ANSWER_S) -> None:
        self._write(data + bytes([reduce(xor, data, 0)]))
        self._acknowledged(seconds)

    def _exactly(self, size: int) -> bytes:
        data = self._read(size, ANSWER_S)
        if len(data) != size:
            raise _Torn(data)
        return data

    # -- getting in touch ---------------------------------------------------

    def awake(self) -> bool:
        """Return True if the loader answers its first byte. A running board ignores the byte."""
        self._drain()
        # a running board would send more bytes
        self._met = self._called() == bytes([ACK]) and not self._read(16, 0.05)
        return self._met

    def _called(self) -> bytes:
        """Send SYNC and return the loader's answer, after the line's echo."""
        self._device.write(bytes([SYNC]))
        answer = self._read(1, ANSWER_S)
        if answer == bytes([SYNC]):
            self._echo = True
            answer = self._read(1, ANSWER_S)
        return answer

    def start(self) -> None:
        """Let the loader find the baud rate. If the loader knows the rate already, its answer is NACK."""
        if self._met:
            return
        self._drain()
        for _ in range(TRIES):
            answer = self._called()
            if answer == bytes([ACK]):
                return
            if answer == bytes([NACK]) or answer and self._resynced():
                return
        if self._resynced():  # the loader was in the middle of a command
            return
        raise Refused(f"{self._name}: no answer from the chip's boot loader; hold BOOT0 high, reset the board, check "
                      "that this is a UART it listens on")

    def _resynced(self) -> bool:
        """Return True if the loader is ready. FILLER bytes complete an interrupted command, which gives a NACK."""
        for _ in range(RESYNC):
            self._write(bytes([FILLER]))
            if NACK in self._read(16, 0.02):
                self._drain()
                return True
        return False

    def _trying(self, what: str, action: Callable[[], bytes]) -> bytes:
        """Run an action, and repeat the action after noise on the line."""
        for _ in range(TRIES):
            try:
                return action()
            except _Torn as torn:
                last = torn
                if not self._resynced():
                    break
        said = f"answered {last.answer.hex()}" if last.answer else "did not answer"
        if last.command and last.answer == bytes([NACK]) and what.startswith(("read", "write", "erase", "start")):
            raise Refused(f"{self._name}: the chip refuses to {what}: its read-out protection is on; ST's programmer "
                          "can take it off, which erases the chip")
        raise Refused(f"{self._name}: the boot loader {said} when told to {what}; check the cable, reset with BOOT0 "
                      "high, start again")

    # -- commands -----------------------------------------------------------

    def _told(self, code: int, what: str) -> bytes:
        """Return the answer to a command without arguments, which begins with its length."""
        def get() -> bytes:
            self._command(code)
            answer = self._exactly(self._exactly(1)[0] + 1)
            self._acknowledged()
            return answer

        return self._trying(what, get)

    def commands(self) -> bytes:
        """Return the command codes that the loader knows."""
        return self._told(GET, "name its commands")[1:]

    def identify(self) -> int:
        return int.from_bytes(self._told(GET_ID, "name the chip"), "big")

    def read(self, address: int, size: int) -> bytes:
        """Read at most PIECE bytes of memory."""
        def get() -> bytes:
            self._command(READ)
            self._checked(address.to_bytes(4, "big"))
            self._write(bytes([size - 1, (size - 1) ^ 0xFF]))
            self._acknowledged()
            return self._exactly(size)

        return self._trying(f"read flash at 0x{address:08X}", get)

    def write(self, address: int, data: bytes) -> None:
        """Write at most PIECE bytes, a multiple of 8, into erased flash. After a garbled answer, compare the flash."""
        def put() -> bytes:
            self._command(WRITE)
            self._checked(address.to_bytes(4, "big"))
            self._checked(bytes([len(data) - 1]) + data, WRITE_S)
            return b""

        def put_or_find() -> bytes:
            try:
                return put()
            except _Torn as torn:
                if torn.command and torn.answer == bytes([NACK]):
                    raise
                if not self._resynced():
                    raise
                found = self.read(address, len(data))
                if found == data:
                    return b""
                if found != b"\xff" * len(data):
                    raise Refused(f"{self._name}: flash at 0x{address:08X} was left half written by noise on the line; "
                                  "flash again, more slowly (--baud)") from torn
                raise

        self._trying(f"write flash at 0x{address:08X}", put_or_find)

    def erase(self, pages: range, extended: bool) -> None:
        count = len(pages) - 1
        body = (b"".join(n.to_bytes(2, "big") for n in (count, *pages)) if extended
                else bytes([count, *pages]))

        def put() -> bytes:
            self._command(EXTENDED_ERASE if extended else ERASE)
            self._checked(body, ERASE_S)
            return b""

        self._trying("erase flash", put)

    def go(self, address: int) -> None:
        """Start the program at this vector table. After a lost answer, only its identity shows that it runs."""
        def jump() -> bytes:
            self._command(GO)
            try:
                self._checked(address.to_bytes(4, "big"))
            except _Torn as torn:
                if torn.answer == bytes([NACK]):
                    raise
            return b""

        self._trying("start the program", jump)
