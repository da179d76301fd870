"""A serial cable between a virtual board and a host in one process. Written bytes arrive at once, so runs are
repeatable; with a TCP port the operating system would choose the time."""


class Cable:
    """name: name of the port in messages. read, write, close: the host's end, a femtorque.host.link.link.Device. recv,
    sendall, close: the board's end, like a non-blocking socket. After one end has closed the cable, it is unusable."""

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
    """Remove the first bytes from a buffer and return them."""
    data = bytes(waiting[:size])
    del waiting[:size]
    return data
