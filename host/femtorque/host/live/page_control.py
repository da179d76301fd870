"""Control from the live page. Sliders move joints, and a handle moves the tip.

While the user holds a slider or the handle, the page sends a JSON object about 30 times a second:

    {"page": "f3a9", "t": 12.345, "joints": {"elbow": 0.2}}     goals of joints, rad or m
    {"page": "f3a9", "t": 12.345, "tip": [0.4, 0.1, 0.0]}       goal of the tip, m, base frame

`t` is the page's clock, s. A real board moves only while objects contain "held": true, which the page sends while the
user holds its dead-man's key. Each object gives one target. So no further targets are sent when the user releases the
key or the button, or when the page is closed, hidden or disconnected. The tip and the joints move to a far goal at a
limited velocity."""

import json
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from time import monotonic
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, BadInput, hint
from femtorque.codegen.mechanism import Mechanism
from femtorque.host.link import PERIOD
from femtorque.host.live.following import Following
from femtorque.host.live.jog import TipJog

HZ = 30  # objects a second
GONE = 0.3  # time without an object until the page counts as released by the user, s
STEP = 0.1  # maximum time for which one object of a page moves the arm, s
APART = 0.5  # tolerated drift between a page's clock and this computer's clock, s
WAITING = 8  # maximum number of queued objects; the newest objects are kept
FAR = 1e3  # m
KEYS = ("page", "t", "held", "joints", "tip")
WHERE = "page"


@dataclass(frozen=True)
class Held:
    """One object from a page, with goals for joints or a goal for the tip."""

    page: str
    t: float  # page's clock, s
    joints: dict[int, float]
    tip: tuple[float, ...]


class Hand:
    """Objects from pages. One thread receives objects, and another thread sends targets."""

    def __init__(self, mechanism: Mechanism, tip: tuple[str, Any] | None, key: bool,
                 clock: Callable[[], float] = monotonic) -> None:
        """tip: name of a link and a point in the link (3,). key: True if the page must hold its dead-man's key."""
        self.token = secrets.token_urlsafe(32)
        self.key, self.tip = key, tip
        self._joints = [joint.name for joint in mechanism.streamed]
        self._clock = clock
        self._waiting: deque[Held] = deque(maxlen=WAITING)
        self._holder, self._heard = "", -np.inf

    def page(self) -> dict[str, Any]:
        point = None if self.tip is None else {"link": self.tip[0], "xyz": [float(x) for x in self.tip[1]]}
        return {"token": self.token, "key": self.key, "hz": HZ, "tip": point}

    def ask(self, token: str, text: str) -> tuple[HTTPStatus, str]:
        """Return an HTTP status for a page's object. If the object is refused, also return the reason."""
        if not compare_digest(token.encode(), self.token.encode()):
            return HTTPStatus.FORBIDDEN, ""
        try:
            held, down = self._read(text)
        except BadInput as error:
            return HTTPStatus.BAD_REQUEST, str(error)
        if self.key and not down:
            return HTTPStatus.CONFLICT, "a real board moves only while the key is held"
        now = self._clock()
        if held.page != self._holder and now - self._heard < GONE:
            return HTTPStatus.CONFLICT, "another page moves the arm"
        self._holder, self._heard = held.page, now
        self._waiting.append(held)
        return HTTPStatus.NO_CONTENT, ""

    def take(self) -> list[Held]:
        """Return the objects since the last call."""
        found = []
        while self._waiting:
            found.append(self._waiting.popleft())
        return found

    def _read(self, text: str) -> tuple[Held, bool]:
        """Return a text's object, and True if the dead-man's key is held. Raises BadInput with the wrong key."""
        try:
            table = json.loads(text)
        except (ValueError, RecursionError):
            raise BadInput(WHERE, "object", text[:60], "is not JSON") from None
        if not isinstance(table, dict):
            raise BadInput(WHERE, "object", text[:60], "must be a JSON object")
        for key in table:
            if key not in KEYS:
                raise BadInput(WHERE, "key", key[:60], "unknown key", ", ".join(KEYS))
        if ("joints" in table) == ("tip" in table):
            raise BadInput(WHERE, "joints", None, "is needed, or tip, and not both")
        page, down = table.get("page"), table.get("held", False)
        if not (isinstance(page, str) and 0 < len(page) <= 64):
            raise BadInput(WHERE, "page", None, "must be a name of 1 to 64 characters")
        if not isinstance(down, bool):
            raise BadInput(WHERE, "held", None, "must be true or false")
        joints = table.get("joints", {})
        if not isinstance(joints, dict) or ("joints" in table and not joints):
            raise BadInput(WHERE, "joints", None, "must be an object of joints and positions")
        for name in joints:
            if name not in self._joints:
                raise BadInput(WHERE, "joints", name[:60], "no such joint", hint(name, self._joints, "joints"))
        places = {self._joints.index(name): _number(f"joints.{name}", value) for name, value in joints.items()}
        tip = table.get("tip", [])
        if "tip" in table and (self.tip is None or not isinstance(tip, list) or len(tip) != 3):
            raise BadInput(WHERE, "tip", None, "must be x, y, z in m" if self.tip else "is not known of this arm")
        return Held(page, _number("t", table.get("t")), places, tuple(_number("tip", x) for x in tip)), down


def _number(key: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= (1e9 if key == "t" else FAR):
        raise BadInput(WHERE, key, None, "must be a number")
    return float(value)


class Mover:
    """Moves the joints toward a page's goals at limited velocity. begin: returns the hold positions (J,)."""

    def __init__(self, jog: TipJog, speed: float, begin: Callable[[], Array]) -> None:
        self._jog, self._speed, self._begin = jog, speed, begin
        self._last: Held | None = None
        self._moved_at, self._offset = -np.inf, 0.0

    def move(self, held: Held, now: float) -> tuple[Array, float]:
        """Return positions (J,) and the time of the page's object, s, on the clock of `now`."""
        last, self._last = self._last, held
        anew = last is None or last.page != held.page or now - self._moved_at > GONE
        if anew or not abs(held.t + self._offset - now) < APART:
            self._offset = now - held.t
        if anew or last is None:
            self._jog.q = np.array(self._begin(), float)
        dt = 0.0 if anew or last is None else min(max(held.t - last.t, 0.0), STEP)
        self._moved_at = now
        if held.tip:
            self._jog.toward(held.tip, dt, self._speed)
        else:
            self._jog.joints_toward(held.joints, dt)
        return self._jog.q.copy(), held.t + self._offset


def by_hand(f: Following, hand: Hand, jog: TipJog, speed: float, until: Callable[[], bool]) -> int:
    """Send a target whenever the page sends a position. speed: velocity of the tip, m/s. Returns the number of targets.
    """
    mover, sent = Mover(jog, speed, f.session.held), 0
    while not until():
        for held in hand.take():
            q, t = mover.move(held, f.session.clock.now())
            f.send(q, t=t)
            sent += 1
        f.wait(PERIOD)
    return sent
