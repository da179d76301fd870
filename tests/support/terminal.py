"""A shell in a pseudo-terminal of a given size. Tests type into this terminal as a user would, and read its text."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.suite import HANG

PROMPT = "ready> "
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
CTRL_C = "\x03"


class Terminal:
    """A terminal that accepts lines and returns text. fd: file descriptor of the terminal's master side."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._shown = ""

    def keys(self, text: str) -> None:
        """Press these keys."""
        os.write(self._fd, text.encode())

    def until(self, word: str) -> str:
        """Return the output up to this word. Wait for the word for at most HANG."""
        end = time.monotonic() + HANG
        while word not in self._shown:
            assert time.monotonic() < end, f"{word!r} is not shown:\n{self._shown}"
            if select.select([self._fd], [], [], 0.5)[0]:
                self._shown += ESCAPES.sub("", os.read(self._fd, 65536).decode("utf-8", "replace"))
        shown, self._shown = self._shown.split(word, 1)
        return shown

    def begin(self, line: str) -> None:
        """Type a line, and do not wait until its command ends."""
        self.keys(line + "\n")
        self.until(line[-40:])

    def type(self, line: str) -> tuple[int, str]:
        """Type a line and wait for its end. Return exit status and text, with the last text of overwritten lines."""
        self.begin(line)
        shown = self.until(PROMPT)
        self.keys("echo $?\n")
        self.until("echo $?")
        status = int(self.until(PROMPT))
        return status, "\n".join(part.rstrip("\r").split("\r")[-1] for part in shown.split("\n")).strip()


@contextmanager
def terminal(folder: Path, columns: int = 110, rows: int = 50) -> Iterator[Terminal]:
    """Open a shell in a folder. The commands of this environment come first in PATH."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "COLUMNS", "LINES")}
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], own | {
            "PS1": PROMPT, "TERM": "xterm", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        made = Terminal(fd)
        made.keys("bind 'set enable-bracketed-paste off'\n")
        made.until(PROMPT)
        made.until(PROMPT)
        yield made
    finally:
        os.kill(pid, signal.SIGHUP)
        os.close(fd)
        os.waitpid(pid, 0)
