"""A simulated chip behind a serial server (socket://).

If an image is given, the chip first runs this image. When this image has started the boot loader in ROM, the boot
loader answers. When the flashed image has been started, that image answers."""

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from femtorque.hil.board import VirtualBoard
from tests.support.rom_fake import RomFake


class _Chip:
    """The chip. running(flash): starts the flash's image, and gives its socket:// address. before: the first image."""

    def __init__(self, fake: RomFake, running: Callable[[bytes], str], before: VirtualBoard | None) -> None:
        self.fake, self.running, self.before = fake, running, before
        self.server = socket.create_server(("127.0.0.1", 0))
        self.stop = threading.Event()

    def serve(self) -> None:
        """Serve one host after another."""
        while not self.stop.is_set():
            if select.select([self.server], [], [], 0.05)[0]:
                with self.server.accept()[0] as host, suppress(ConnectionError):  # a host may disconnect after any byte
                    self.talk(host)

    def talk(self, host: socket.socket) -> None:
        board: socket.socket | None = None
        if self.before is not None and not self.before.chip.in_rom:
            where, port = self.before.url.removeprefix("socket://").split(":")
            board = socket.create_connection((where, int(port)))
        try:
            while not self.stop.is_set():
                if board is None and self.fake.running:
                    where, port = self.running(bytes(self.fake.flash)).removeprefix("socket://").split(":")
                    board = socket.create_connection((where, int(port)))
                ready = select.select([end for end in (host, board) if end is not None], [], [], 0.05)[0]
                if board in ready:
                    host.sendall(board.recv(4096))
                if host in ready:
                    data = host.recv(4096)
                    if not data:
                        break
                    if board is not None:
                        board.sendall(data)
                    else:
                        self.fake.write(data)
                        host.sendall(self.fake.read(1 << 20))
        finally:
            if board is not None:
                board.close()


@contextmanager
def at_a_port(fake: RomFake, running: Callable[[bytes], str], before: VirtualBoard | None = None) -> Iterator[str]:
    """Yield the socket://host:port of the chip."""
    chip = _Chip(fake, running, before)
    thread = threading.Thread(target=chip.serve, daemon=True)
    thread.start()
    try:
        yield f"socket://127.0.0.1:{chip.server.getsockname()[1]}"
    finally:
        chip.stop.set()
        thread.join()
        chip.server.close()
