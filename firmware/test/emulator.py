"""QEMU's STM32F405 board, with its second serial port on a TCP socket and an open debug port."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

QEMU = "qemu-system-arm"
PC, XPSR = 15, 25  # register numbers of the debug protocol
THUMB = 0x01000000
PATIENCE = 300.0  # limit of the wall time, s: longer than any run, even on a busy machine


class Debugger:
    """The commands of GDB's remote protocol that a test needs."""

    def __init__(self, port: int) -> None:
        self._socket = _connect(port)
        self._received = b""
        assert self._answer().startswith("T")  # a new connection halts the processor, which QEMU reports
        self._ask("qXfer:features:read:target.xml:0,400")  # QEMU needs this packet before it sets single registers

    def _send(self, text: str) -> None:
        self._socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())

    def _answer(self) -> str:
        """Return the next packet. Skip acknowledgements (+) between packets."""
        while not (found := re.search(rb"\$([^#]*)#..", self._received, re.S)):
            data = self._socket.recv(4096)
            assert data, "the emulator closed its debug port"
            self._received += data
        self._received = self._received[found.end():]
        self._socket.sendall(b"+")
        return found[1].decode()

    def _ask(self, text: str) -> str:
        self._send(text)
        return self._answer()

    def halt(self) -> None:
        self._socket.sendall(b"\x03")
        assert self._answer().startswith("T")

    def resume(self) -> None:
        self._send("c")

    def jump(self, address: int) -> None:
        """Continue at an address outside of any conditional block."""
        for register, value in ((XPSR, THUMB), (PC, address & ~1)):
            assert self._ask(f"P{register:x}={value.to_bytes(4, 'little').hex()}") == "OK"

    def read(self, address: int, size: int) -> bytes:
        return b"".join(bytes.fromhex(self._ask(f"m{address + i:x},{min(512, size - i):x}"))
                        for i in range(0, size, 512))


class Emulator:
    """A running image. `link`: its serial port."""

    def __init__(self, elf: Path, link_port: int, debug_port: int) -> None:
        self.link = _connect(link_port)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.debugger = Debugger(debug_port)
        self.debugger.resume()
        with elf.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            self.symbols = {s.name: s["st_value"] for s in table.iter_symbols()}

    def words(self, symbol: str, count: int) -> list[int]:
        """Read memory while the processor is halted."""
        self.debugger.halt()
        data = self.debugger.read(self.symbols[symbol], 4 * count)
        self.debugger.resume()
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


@contextmanager
def emulator(elf: Path) -> Iterator[Emulator]:
    """Run an image in QEMU until the block ends."""
    if shutil.which(QEMU) is None:
        raise FileNotFoundError(f"{QEMU} is not on PATH: apt install qemu-system-arm")
    link_port, debug_port = _free_port(), _free_port()
    command = [
        QEMU, "-M", "netduinoplus2", "-nographic", "-monitor", "none", "-kernel", str(elf), "-icount", "shift=4",
        "-serial", "null",
        "-chardev", f"socket,id=link,host=127.0.0.1,port={link_port},server=on,wait=off,nodelay=on",
        "-serial", "chardev:link", "-gdb", f"tcp:127.0.0.1:{debug_port}",
    ]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield Emulator(elf, link_port, debug_port)
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _connect(port: int) -> socket.socket:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
