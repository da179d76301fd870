"""Keys as the user presses them on a terminal, on POSIX systems and on Windows."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """Yield a function that returns the keys pressed since its last call. The function never blocks."""
    print("w s: x, a d: y, e c: z; q ends", file=sys.stderr)
    if sys.platform == "win32":
        yield _of_windows
        return
    import select
    import termios
    import tty

    number, before = sys.stdin.fileno(), termios.tcgetattr(sys.stdin)

    def pressed() -> str:
        found = b""
        while select.select([number], [], [], 0.0)[0] and (more := os.read(number, 64)):
            found += more
        return found.decode("utf-8", "replace")

    try:
        tty.setcbreak(number)
        yield pressed
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _of_windows() -> str:
    if sys.platform != "win32":
        raise NotImplementedError
    import msvcrt

    found = ""
    while msvcrt.kbhit():
        found += msvcrt.getwch()
    return found
