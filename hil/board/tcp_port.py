"""The host's end of a virtual board's link: a TCP port, or a cable to a host in this process. One host at a time."""

from __future__ import annotations

import socket

from hil.board.cable import Cable

HOST = "127.0.0.1"


class TcpPort:
    """port: that it listens at; url: what pyserial opens."""

    def __init__(self, port: int = 0) -> None:
        self._server = socket.create_server((HOST, port))
        self._server.setblocking(False)
        self._host: socket.socket | Cable | None = None
        self.port: int = self._server.getsockname()[1]
        self.url = f"socket://{HOST}:{self.port}"

    def plug_in(self) -> Cable:
        """A cable in the place of any other host."""
        self._hang_up()
        self._host = Cable(self.url)
        return self._host

    def receive(self) -> bytes | None:
        """What has come from the host; None where there is none."""
        if self._host is None and not self._accepted():
            return None
        assert self._host is not None
        try:
            if data := self._host.recv(65536):
                return data
        except BlockingIOError:
            return b""
        except OSError:
            pass
        self._hang_up()
        return None

    @property
    def live(self) -> bool:
        """Whether something can come from a host while the board runs: not from one in this process, which waits."""
        return not isinstance(self._host, Cable)

    def send(self, data: bytes) -> None:
        if not data or self._host is None:
            return
        try:
            self._host.sendall(data)
        except OSError:  # a host that does not read loses bytes, as on a wire
            pass

    def close(self) -> None:
        if self._host:
            self._host.close()
        self._server.close()

    def _accepted(self) -> bool:
        try:
            host, _ = self._server.accept()
        except BlockingIOError:
            return False
        host.setblocking(False)
        host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = host
        return True

    def _hang_up(self) -> None:
        if self._host:
            self._host.close()
        self._host = None
