"""A serial cable between a virtual board and a host in the same process. What one end writes is there for the other at
once, in every run alike; through a TCP port that would be up to the operating system."""

from __future__ import annotations


class Cable:
    """name: what messages call the port. read, write, close: the host's end, as
    femtorque.host.link.link.Device; recv, sendall,
    close: the board's, as a socket that does not wait. Once either has closed it, it is of no use to the other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._to_board, self._to_host = bytearray(), bytearray()
        self._closed = False

    def close(self) -> None:
        self._closed = True

    def read(self, size: int) -> bytes:
        return _first(self._to_host, size) or self._unless_closed(b"")

    def write(self, data: bytes) -> int:
        self._to_board += self._unless_closed(data)
        return len(data)

    def recv(self, size: int) -> bytes:
        if not self._to_board and not self._closed:
            raise BlockingIOError
        return _first(self._to_board, size)

    def sendall(self, data: bytes) -> None:
        self._to_host += self._unless_closed(data)

    def _unless_closed(self, data: bytes) -> bytes:
        if self._closed:
            raise OSError("the other end is closed")
        return data


def _first(waiting: bytearray, size: int) -> bytes:
    """Take bytes out of what waits."""
    data = bytes(waiting[:size])
    del waiting[:size]
    return data
