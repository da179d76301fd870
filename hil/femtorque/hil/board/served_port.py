"""The host's end of the link to a virtual board: a TCP port, a Unix socket of this user, or a cable in the same
process. The port serves one host: a new client disconnects other clients.

A web page can make a browser send bytes of its choice to this port. Therefore the chip gets no byte until the first
bytes contain a frame with a correct check sum. Drives without a board move no arm, so their port accepts each byte."""

import socket

from femtorque.codegen.wire import BadFrame, checked
from femtorque.hil.board.cable import Cable
from femtorque.host.link import Bound

HOST = "127.0.0.1"
LONGEST = 1024  # largest read, bytes; the longest frame of eight joints has 384 bytes


class ServedPort:
    """port: a TCP port (0: any), or unix:PATH. url: for hosts. framed: a client's first bytes must be a frame."""

    def __init__(self, port: int | str = 0, framed: bool = True) -> None:
        self._framed = framed
        self._server: socket.socket
        if isinstance(port, str):
            self._server, self.url = Bound(port, socket.SOCK_STREAM, "--port"), port
            self._server.listen()
        else:
            self._server = socket.create_server((HOST, port))
            self.url = f"socket://{HOST}:{self._server.getsockname()[1]}"
        self._server.setblocking(False)
        self._host: socket.socket | Cable | None = None
        self._first: bytes | None = None  # first bytes of a client, until they contain a frame; then None

    def fileno(self) -> int:
        """Return the descriptor on which bytes or the next client arrive."""
        return (self._host if isinstance(self._host, socket.socket) else self._server).fileno()

    def plug_in(self) -> Cable:
        """Return a cable whose host is in the same process. A new host replaces the previous host."""
        self._hang_up()
        self._host, self._first = Cable("virtual board"), None
        return self._host

    def receive(self) -> bytes | None:
        """Return bytes from the host, or None if no host is connected."""
        if self._host is None and not self._accepted():
            return None
        assert self._host is not None
        try:
            if data := self._host.recv(65536):
                return data if self._first is None else self._held(data)
        except BlockingIOError:
            return b""
        except (OSError, BadFrame):
            pass
        self._hang_up()
        return None

    def _held(self, data: bytes) -> bytes:
        """Hold back the first bytes until they contain a frame. Raises BadFrame if the bytes cannot become a frame."""
        first = (self._first or b"") + data
        frame, zero, _ = first.lstrip(b"\0").partition(b"\0")
        if zero:
            checked(frame)
        elif len(first) > LONGEST:
            raise BadFrame("length")
        self._first = None if zero else first
        return first if zero else b""

    @property
    def live(self) -> bool:
        """True if a host can send bytes while the board runs. A host in the same process waits while the board runs."""
        return not isinstance(self._host, Cable)

    def send(self, data: bytes) -> None:
        if not data or self._host is None:
            return
        try:
            self._host.sendall(data)
        except OSError:  # bytes that the host does not read are lost, as on a real serial line
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
        if host.family == socket.AF_INET:
            host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host, self._first = host, b"" if self._framed else None
        return True

    def _hang_up(self) -> None:
        if self._host:
            self._host.close()
        self._host = None
