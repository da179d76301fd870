"""The simulated Python board behind a TCP port, for tests that run the command line in another process, as a user does.
Board and host share one clock (granted.py), so no result depends on the load of the computer."""

import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.fake_board import FakeBoard, ManualClock
from tests.support.granted import SECONDS

PROGRAM = Path(__file__).with_name("granted.py")


class TcpBoard:
    """A server of one board at socket://127.0.0.1:port until the server is closed. Hosts may connect and disconnect.
    command: the beginning of a host's command line."""

    def __init__(self, conf, **keys) -> None:
        self.clock = ManualClock()
        self.board = FakeBoard(self.clock, conf, **keys)
        self.hold: Callable[[], bool] = lambda: False  # function that stops the clock while it returns true
        self._server, self._grants = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
        self.port = f"socket://127.0.0.1:{self._server.getsockname()[1]}"
        self.command = [sys.executable, str(PROGRAM), str(self._grants.getsockname()[1])]
        self._open = True
        self._host: socket.socket | None = None
        self._hosts_time: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self._open:
            listening = [self._server, self._grants, *self._hosts_time]
            for one in select.select(listening, [], [], 0.05)[0]:
                if one is self._server:
                    self._host, _ = one.accept()
                    self._host.setblocking(False)
                elif one is self._grants:
                    self._hosts_time.append(one.accept()[0])
                else:
                    self._grant(one)

    def _grant(self, asking: socket.socket) -> None:
        """Run the board for the duration of a host's sleep."""
        try:
            asked = asking.recv(SECONDS.size, socket.MSG_WAITALL)
            if len(asked) < SECONDS.size:
                raise ConnectionError
            while self._open and self.hold():
                time.sleep(1e-3)
            self._hear()
            self.clock.sleep(*SECONDS.unpack(asked))
            self._say()
            asking.sendall(SECONDS.pack(self.clock.now()))
        except OSError:
            asking.close()
            self._hosts_time.remove(asking)

    def _hear(self) -> None:
        try:
            while self._host is not None:
                data = self._host.recv(65536)
                if data:
                    self.board.write(data)
                else:
                    self._hang_up()
        except BlockingIOError:
            pass
        except OSError:
            self._hang_up()

    def _say(self) -> None:
        try:
            if self._host is not None:
                self._host.sendall(self.board.read(65536))
        except OSError:
            self._hang_up()

    def _hang_up(self) -> None:
        assert self._host is not None
        self._host.close()
        self._host = None

    def close(self) -> None:
        self._open = False
        self._thread.join()
        for one in (self._server, self._grants, self._host, *self._hosts_time):
            if one is not None:
                one.close()
