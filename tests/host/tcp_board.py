"""The Python board behind a TCP port and in real time, for tests that run the command line as a user does."""

from __future__ import annotations

import socket
import threading
import time

from tests.host.fake_board import FakeBoard, ManualClock


class TcpBoard:
    """Serves one board at socket://127.0.0.1:port until closed; hosts may come and go.

    Patient, for the machine that runs the tests may be busy elsewhere.
    """

    def __init__(self, conf, **keys) -> None:
        self.clock = ManualClock()
        self.board = FakeBoard(self.clock, conf, host_timeout=1.0, **keys)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(0.05)
        self.port = f"socket://127.0.0.1:{self._server.getsockname()[1]}"
        self._open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        host: socket.socket | None = None
        last = time.monotonic()
        while self._open:
            if host is None:
                try:
                    host, _ = self._server.accept()
                    host.setblocking(False)
                except TimeoutError:
                    pass
            if host is not None:
                host = self._exchange(host)
            now = time.monotonic()
            if now - last > 1e-3:
                self.clock.sleep(min(now - last, 1.0))
                last = now
            time.sleep(5e-4)

    def _exchange(self, host: socket.socket) -> socket.socket | None:
        try:
            data = host.recv(65536)
            if not data:
                return None
            self.board.write(data)
        except BlockingIOError:
            pass
        except OSError:
            return None
        try:
            host.sendall(self.board.read(65536))
        except OSError:
            return None
        return host

    def close(self) -> None:
        self._open = False
        self._thread.join()
        self._server.close()
