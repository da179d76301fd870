"""External torques in a log. The board reports external torques 50 times a second if the mechanism file has [feel]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mcap.records import Schema
from mcap_ros2.writer import Writer
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.codegen.wire import FELT_TOUCHED, Felt
from femtorque.host.record.definitions import definition

FELT = "/felt"
_FELT = ("std_msgs/Header header\nstring[] name\nfloat64[] external\nfloat64[] mean\nfloat64[] threshold\n"
         "bool touched\nstring joint\nuint16 touches" + definition("\n", "std_msgs/Header", "builtin_interfaces/Time"))


@dataclass(frozen=True)
class FromOutside:
    """External torques from a log. external, mean, threshold (T, J): torques, their means, and the thresholds of a
    contact, N m or N."""

    t: Array  # times (T,) since the board's reset, s
    external: Array
    mean: Array
    threshold: Array
    touched: NDArray[np.bool_]  # (T,): True during a contact
    joint: tuple[str, ...]  # (T,): joint of the current or last contact; empty before the first contact
    touches: NDArray[np.int64]  # (T,): number of contacts since reset; wraps


class Feeling:
    """Writer of the topic for external torques. The topic appears with the first report."""

    def __init__(self, names: Sequence[str], writer: Writer) -> None:
        self._names, self._writer, self._count = list(names), writer, 0
        self._schema: Schema | None = None

    def write(self, felt: Felt, stamp_ns: int, now: int) -> None:
        """Write a report, with the board's time and the host's clock, ns."""
        if self._schema is None:
            self._schema = self._writer.register_msgdef("femtorque_msgs/msg/Felt", _FELT)
        self._writer.write_message(FELT, self._schema, {
            "header": {"stamp": {"sec": stamp_ns // 10**9, "nanosec": stamp_ns % 10**9}, "frame_id": ""},
            "name": self._names, "external": list(felt.external), "mean": list(felt.mean),
            "threshold": list(felt.threshold), "touched": bool(felt.touched & FELT_TOUCHED["TOUCH"][0]),
            "joint": self._names[felt.joint] if felt.touches and felt.joint < len(self._names) else "",
            "touches": felt.touches}, stamp_ns, now, self._count)
        self._count += 1


def from_outside(messages: Sequence[tuple[int, Any]]) -> FromOutside | None:
    """Return all reports (ns, message) of a log; None without reports."""
    if not messages:
        return None
    rows = [message for _, message in messages]
    external, mean, threshold = (np.array([getattr(row, name) for row in rows], float)
                                 for name in ("external", "mean", "threshold"))
    return FromOutside(np.array([at for at, _ in messages], float) / 1e9, external, mean, threshold,
                   np.array([row.touched for row in rows], bool), tuple(row.joint for row in rows),
                   np.array([row.touches for row in rows], np.int64))
