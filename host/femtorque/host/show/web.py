"""The live page: one HTML file with its drawing code, and server-sent events, at 127.0.0.1 only.
`femtorque.host.show.pages` serves it and stores past samples in a separate process. So this process writes one line per
STATUS for any number of pages. A page's requests come by POST from this origin with a token that other sites cannot
read: to play again on a virtual board, or to move the arm (host/live/page_control.py)."""

import hmac
import json
import queue
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any

from femtorque.codegen.common import BadInput, template
from femtorque.codegen.wire import messages
from femtorque.host.link import Session
from femtorque.host.live import Hand
from femtorque.host.record import Truth, about, plain, sample
from femtorque.host.scene import Moment
from femtorque.host.show.pages import ADDRESS
from femtorque.host.show.scene.page import scripts

HISTORY = 60  # length of the past that a newly opened page receives, s
SERVER = Path(__file__).with_name("pages.py")
END = 3.0  # maximum wait for the end of the process that serves pages, s

Around = Callable[[], Moment]  # a simulated arm's present surroundings


class Again:
    """A page's request to repeat the motion, accepted while `open`: the arm is at rest, and the host waits."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.open = False
        self._asked = threading.Event()

    def ask(self, token: str) -> HTTPStatus:
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return HTTPStatus.FORBIDDEN
        if not self.open:
            return HTTPStatus.CONFLICT
        self.open = False
        self._asked.set()
        return HTTPStatus.NO_CONTENT

    def taken(self) -> bool:
        """Return True once after each request of a page."""
        asked = self._asked.is_set()
        self._asked.clear()
        return asked


class Feed:
    """Lines for the process that serves the pages. `take` is a listener for Session and returns immediately."""

    def __init__(self, session: Session, again: Again | None = None, truth: Truth | None = None,
                 around: Around | None = None, hand: Hand | None = None) -> None:
        self.again, self.hand, self._truth, self._around = again, hand, truth, around
        self._session, self._newest = session, dict[str, Any]()
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()  # lines not yet written; an empty line ends the output
        self.about = about(session) | {"serving": secrets.token_hex(8)}  # this program's identity

    def take(self, _: Any) -> None:
        """Take the session's newest STATUS. Discard the STATUS if the process is more than HISTORY behind."""
        self._newest = sample(self._session, self._newest)
        now = self._newest | {"again": self.again is not None and self.again.open}
        if self._truth is not None:
            now["true"] = plain(self._truth(self._session.status.tick)[0])
        if self._around is not None:
            now["around"] = self._around().data()
        if self.lines.qsize() < HISTORY * messages.STATUS_HZ:
            self.lines.put(f"s {json.dumps(now, separators=(',', ':'))}")

    def ask(self, name: str, token: str, text: str) -> None:
        status, why = HTTPStatus.FORBIDDEN, ""
        if name == "again" and self.again is not None:
            status = self.again.ask(token)
        elif name == "hand" and self.hand is not None:
            status, why = self.hand.ask(token, text)
        self.lines.put(f"a {status.value} {why}")

    def end(self, why: str) -> None:
        self.lines.put(f"g {json.dumps(why)}")
        self.lines.put("")


def page(what: dict[str, Any], token: str = "", arm: dict[str, Any] | None = None, hand: Hand | None = None) -> str:
    """Return one board's page. token: token for the page's requests. arm: data of femtorque.host.scene.description.
    hand: moves the arm."""
    states = {name: meaning for name, (_, meaning) in messages.STATES.items()}
    return template("monitor.html", "femtorque.host.show", page=True).render(
        about=what, states=states, history=HISTORY, token=token, scene=arm, scripts=scripts() if arm else "",
        hand=hand.page() if hand else None)


@contextmanager
def serving(session: Session, port: int, again: Again | None = None, arm: dict[str, Any] | None = None,
            truth: Truth | None = None, around: Around | None = None, hand: Hand | None = None) -> Iterator[str]:
    """Serve pages in a context, and yield their address. arm: data of femtorque.host.scene.description. truth, around:
    data of a simulated plant. hand: moves the arm. Raises BadInput if the port is taken."""
    feed = Feed(session, again, truth, around, hand)
    wishes = [name for name, there in (("again", again), ("hand", hand)) if there]
    # a random path that other users of this computer cannot guess
    path = f"/{secrets.token_urlsafe(32)}" if hand and hand.key else "/"
    served = {"document": page(feed.about, again.token if again else "", arm, hand), "path": path, "about": feed.about,
              "wishes": wishes, "port": port, "history": HISTORY * messages.STATUS_HZ}
    with subprocess.Popen([sys.executable, "-I", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, encoding="utf-8", start_new_session=True) as process:
        assert process.stdin is not None and process.stdout is not None
        writing = threading.Thread(target=_write, args=(feed, json.dumps(served), process.stdin), daemon=True)
        writing.start()
        listening = process.stdout.readline().strip()
        hearing = threading.Thread(target=_hear, args=(feed, process.stdout), daemon=True)
        hearing.start()
        try:
            if not listening.isdecimal():
                raise BadInput("command line", "--web", port,
                               f"cannot be listened at: {listening or 'its process has ended'}", "0 takes any")
            with session.hearing(feed.take):
                yield f"http://{ADDRESS}:{listening}{path}"
            feed.end("the program that shows the board has ended")
        except BaseException as error:
            feed.end(str(error) or "the program that shows the board was ended")
            raise
        finally:
            try:
                process.wait(END)
            except subprocess.TimeoutExpired:
                process.kill()
            for thread in (writing, hearing):
                thread.join(END)


def _write(feed: Feed, first: str, to: IO[str]) -> None:
    """Write a feed's lines until the feed ends or the reader closes."""
    with suppress(OSError), to:
        line = first
        while line:
            to.write(f"{line}\n")
            to.flush()
            line = feed.lines.get()


def _hear(feed: Feed, wishes: IO[str]) -> None:
    for line in wishes:
        feed.ask(*json.loads(line))
