"""The host's end of a serial link as a pseudo-terminal. Some programs open a serial port only by its file name, or ask
for the number of waiting bytes; sockets have neither."""

import os


class TerminalPort:
    """url: the terminal's file. The terminal works on Linux and other POSIX systems, for one program at a time."""

    def __init__(self) -> None:
        self._ours, self._theirs = os.openpty()  # `theirs` stays open, so that reads work while no program is connected
        import tty  # noqa: PLC0415 (Windows has none, nor terminals of this kind)

        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.url = os.ttyname(self._theirs)

    def fileno(self) -> int:
        return self._ours

    def receive(self) -> bytes:
        """Return the bytes that have arrived."""
        try:
            return os.read(self._ours, 65536)
        except BlockingIOError:
            return b""

    def send(self, data: bytes) -> None:
        """Send bytes. Bytes that do not fit because no program reads are lost, as on a real serial line."""
        try:
            os.write(self._ours, data)
        except BlockingIOError:
            pass

    def close(self) -> None:
        os.close(self._ours)
        os.close(self._theirs)
