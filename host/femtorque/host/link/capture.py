"""Recordings on the board: four signals at up to the tick rate, which the host reads over the link afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import BadInput, Refused, hint
from femtorque.codegen.wire import CAPTURED, CAPTURES, Capture, Data, Read, position_unit
from femtorque.host.link.session import PERIOD, Session

COLUMNS, ROWS = 4, 8  # of a DATA message
REPEAT = 0.02  # time until an unanswered READ is repeated, s
ANSWER = 1.0  # s
WHOLE = ("position", "target")  # signals in wire units


@dataclass(frozen=True)
class Column:
    """signal: one of messages.CAPTURED; joint: its number."""

    signal: str
    joint: int

    def word(self, joints: int) -> int:
        """Return the index of this column among the signals that the board can record. Raises BadInput."""
        if self.signal not in CAPTURED:
            raise BadInput("recording", "signal", self.signal, "no such signal", hint(self.signal, CAPTURED, "signals"))
        return CAPTURED.index(self.signal) * joints + self.joint


@dataclass(frozen=True)
class Recording:
    """tick (S,): the board's ticks. values: one array (S,) per column, SI; positions are within half a turn of zero."""

    tick: NDArray[np.int64]
    columns: tuple[Column, ...]
    values: NDArray[np.float64]

    def column(self, signal: str, joint: int) -> NDArray[np.float64]:
        return self.values[:, self.columns.index(Column(signal, joint))]


class Recorder:
    """Recorder of signals on one board. Only one recording can run at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._id = 0
        self._columns: tuple[Column, ...] = ()
        self._every = 1

    def start(self, columns: Sequence[Column], every: int = 1, mode: str = "ONCE") -> None:
        """Begin with one to four columns. every: ticks between samples. mode: ONCE, or RING until a fault."""
        if not 1 <= len(columns) <= COLUMNS:
            raise BadInput("recording", "columns", len(columns), f"must be 1 to {COLUMNS}")
        joints = len(self._session.configuration.joints)
        words = [c.word(joints) for c in columns]
        self._columns, self._every = tuple(columns), every
        self._id = (self._read(0).id % 255) + 1
        message = Capture(self._id, CAPTURES[mode][0], every, tuple(words + words[:1] * (COLUMNS - len(words))))
        self._session.link.send(message)
        for _ in range(50):
            if self._read(0).id == self._id:
                return
            self._session.link.send(message)
        raise Refused(f"{self._session.link.port}: the board did not begin to record")

    def stop(self) -> None:
        for _ in range(50):
            self._session.link.send(Capture(self._id, CAPTURES["OFF"][0], 1, (0,) * COLUMNS))
            if not self._read(0).running:
                return
        raise Refused(f"{self._session.link.port}: the board did not stop recording")

    @property
    def count(self) -> int:
        return self._read(0).count

    def read(self) -> Recording:
        """Return all samples of a finished recording. Raises Refused if the recording has not finished."""
        head = self._read(0)
        if head.running:
            raise Refused(f"{self._session.link.port}: still recording; stop it first")
        rows: list[Any] = []
        while len(rows) < head.count:
            data = self._read(len(rows))
            rows += np.array(data.words, np.uint32).reshape(ROWS, COLUMNS)[:head.count - len(rows)].tolist()
        words = np.array(rows, np.uint32).reshape(-1, COLUMNS)
        tick = head.last_tick - self._every * np.arange(head.count - 1, -1, -1)
        values = [self._si(words[:, i], c) for i, c in enumerate(self._columns)]
        return Recording(tick, self._columns, np.stack(values, axis=1))

    def _si(self, words: NDArray[np.uint32], column: Column) -> NDArray[np.float64]:
        if column.signal in WHOLE:
            return words.view(np.int32).astype(float) * position_unit(self._session.configuration.joints[column.joint])
        return words.view(np.float32).astype(float)

    def _read(self, first: int) -> Data:
        session = self._session
        answers: list[Data] = []
        session.on_data = answers.append
        deadline, asked = session.clock.now() + ANSWER, -np.inf
        while session.clock.now() < deadline:
            if session.clock.now() - asked >= REPEAT:
                session.link.send(Read(first))
                asked = session.clock.now()
            session.pump()
            if found := next((a for a in answers if isinstance(a, Data) and a.first == first), None):
                return found
            session.clock.sleep(PERIOD)
        raise Refused(f"{session.link.port}: the board did not answer READ in {ANSWER:g} s; {session.describe()}")
