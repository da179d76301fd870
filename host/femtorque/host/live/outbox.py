"""Queue of targets. STOP, END and DISARM do not wait behind these targets."""

from collections import deque
from collections.abc import Sequence

from femtorque.codegen.wire import MESSAGES, OVERHEAD, Status, Target, payload_size, state_name, stuffed_size
from femtorque.host.link import Link

BACKLOG = 0.02  # time of the queued targets at most, s; a command waits at most this time behind targets


class Outbox:
    """Queue of targets, sent as the line takes them. left_out: targets that newer targets replaced before that."""

    def __init__(self, link: Link, joints: int) -> None:
        self._link, self._waiting = link, deque[Target]()
        self._size = stuffed_size(OVERHEAD + payload_size(next(m for m in MESSAGES if m.name == Target.NAME), joints))
        self.sent = self.left_out = 0

    @property
    def carries(self) -> float:
        """Targets per second that fit on the line."""
        return 1.0 / self._link.seconds(self._size)

    def put(self, targets: Sequence[Target]) -> None:
        """Add a target or a chunk to the queue, and remove the queued targets that it replaces."""
        kept = [one for one in self._waiting if not _replaces(targets[0], one)]
        self.left_out += len(self._waiting) - len(kept)
        self._waiting = deque([*kept, *targets])
        self.send()

    def end(self, target: Target) -> None:
        """Send the last target now and discard the targets in the queue."""
        self._waiting.clear()
        self._link.send(target)
        self.sent += 1

    def send(self) -> None:
        while self._waiting and self._link.backlog < BACKLOG:
            self._link.send(self._waiting.popleft())
            self.sent += 1

    def take(self, status: Status) -> None:
        """Discard queued targets if the board has left FOLLOW."""
        if state_name(status) != "FOLLOW":
            self._waiting.clear()


def _replaces(new: Target, old: Target) -> bool:
    """Return True if a new target replaces a queued one: a single one always, a chunk from its time on."""
    later = (old.stamp + old.ahead - new.stamp - new.ahead) & 0xFFFFFFFF
    return new.chunk == old.chunk == 0 or later < 0x80000000
