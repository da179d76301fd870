"""`femtorque` as a process whose time is the time of a TcpBoard: granted.py PORT ARGUMENT... At PORT the board grants
time. Host and board share one clock, which moves only while the host sleeps. On a busy machine neither waits in vain
for the other. The clock never runs ahead of the machine's clock, so that a user can press keys.
"""

import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from femtorque import main  # noqa: E402
from femtorque.host.link import link  # noqa: E402

SECONDS = struct.Struct("d")


class GrantedClock:
    """The host's clock.

    A sleep asks the board to run for this time, and lasts until the board has run. paced: the clock never runs ahead of
    the machine's clock.
    """

    def __init__(self, port: int, paced: bool = True) -> None:
        self._board = socket.create_connection(("127.0.0.1", port))
        self._paced, self._now = paced, 0.0
        self._told: float | None = None  # the board's time, since another host may have used the board before

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        if self._paced:
            time.sleep(seconds)
        self._board.sendall(SECONDS.pack(seconds))
        told, = SECONDS.unpack(self._board.recv(SECONDS.size, socket.MSG_WAITALL))
        self._now += seconds if self._told is None else told - self._told
        self._told = told


if __name__ == "__main__":
    clock = GrantedClock(int(sys.argv[1]))
    link.WallClock = lambda: clock
    main(sys.argv[2:])
