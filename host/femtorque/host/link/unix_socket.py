"""Private Unix sockets at unix:PATH, mode 0600, in a folder without write access for others, or with the sticky bit."""

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from femtorque.codegen.common import BadInput

SCHEME = "unix:"
MODE = 0o600
WRITE_TIMEOUT = 1.0  # time without progress until the port counts as broken, s


def served_folder() -> Path:
    """Return the folder of the sockets of this user's boards on this PC. Only this user may enter the folder."""
    folder = _folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    there = folder.lstat()
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid() or stat.S_IMODE(there.st_mode) & 0o077:
        raise BadInput(folder, "folder", None, "is open to other users, and holds the ports of boards", "remove it")
    return folder


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "femtorque" if runtime else Path(f"/tmp/femtorque-{os.getuid()}")


def served_here() -> list[str]:
    """Return the addresses of boards on this PC. A folder that no board has made is not made."""
    if not hasattr(socket, "AF_UNIX") or not _folder().exists():
        return []
    return [f"{SCHEME}{path}" for path in sorted(served_folder().glob("*.board"))
            if path.is_socket() and not _left_over(path, socket.SOCK_STREAM)]


def path_of(address: str) -> Path:
    return Path(address.removeprefix(SCHEME))


class Bound(socket.socket):
    """A socket at unix:PATH that only this user's programs can open. Closing the socket removes the file. If a killed
    program has left a socket file, the file is replaced. option: the command-line option that BadInput names."""

    def __init__(self, address: str, kind: int, option: str) -> None:
        super().__init__(socket.AF_UNIX, kind)
        self._path, self._made = path_of(address), (0, 0)
        try:
            if _left_over(self._path, kind):
                self._path.unlink()
            self._bind()
        except OSError as error:
            self.close()
            raise BadInput("command line", option, address, f"cannot be listened at ({error.strerror or error})",
                           "a path of this user that is free and short") from error

    def _bind(self) -> None:
        # create the file with its final mode, so that there is no moment with other permissions
        before = os.umask(0o777 & ~MODE)
        try:
            self.bind(str(self._path))
        finally:
            os.umask(before)
        made = self._path.stat()
        self._made = made.st_dev, made.st_ino
        if stat.S_IMODE(made.st_mode) & ~MODE:
            raise OSError("others may open it: the folder sets modes of its own")

    def close(self) -> None:
        """Close the socket, and remove its file unless another program has replaced the file."""
        super().close()
        with suppress(OSError):
            there = self._path.lstat()
            if (there.st_dev, there.st_ino) == self._made:
                self._path.unlink()


def _left_over(path: Path, kind: int) -> bool:
    """Return True if no program listens at a socket file."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX, kind) as asking:
        asking.setblocking(False)
        try:
            asking.connect(str(path))
        except OSError as error:
            return isinstance(error, ConnectionRefusedError)
    return False


class Connected:
    """Connection of a host to a served board, with the interface of pyserial's Serial. Raises OSError."""

    def __init__(self, address: str) -> None:
        self.name = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(WRITE_TIMEOUT)
        try:
            self._socket.connect(str(path_of(address)))
        except OSError:
            self._socket.close()
            raise

    def read(self, size: int) -> bytes:
        self._socket.settimeout(0.0)
        try:
            data = self._socket.recv(size)
        except BlockingIOError:
            return b""
        if not data:
            raise ConnectionResetError("the other end has closed it")
        return data

    def write(self, data: bytes) -> int:
        self._socket.settimeout(WRITE_TIMEOUT)
        self._socket.sendall(data)
        return len(data)

    def close(self) -> None:
        self._socket.close()
