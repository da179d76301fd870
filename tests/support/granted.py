"""`femtorque` as a process that shares the clock of a TcpBoard: granted.py PORT ARGUMENT... The board's server at PORT
advances this clock. The clock of host and board advances only while the host sleeps. So neither times out on a busy
computer because the partner is slow. If `paced` is set, the clock never runs ahead of the wall clock, so that a user
can press keys."""

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
    """The clock that the host uses.

    A sleep asks the board to run for this time, and returns when the board has run. paced: the clock never runs ahead
    of the wall clock."""

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
