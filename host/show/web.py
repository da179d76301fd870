"""The live page: one HTML file and a stream of server-sent events, from the standard library, at 127.0.0.1 alone.

The page holds its own drawing code and asks nothing of any other machine. Samples go out in batches; a page that is
opened late gets what the last HISTORY seconds were. All that a page may ask for is that a motion be played again, and
that of a virtual board alone: by POST from this origin, with a token that stands in the page, where no other site can
read it.
"""

from __future__ import annotations

import hmac
import json
import queue
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from codegen.common.errors import BadInput
from codegen.common.templating import template
from codegen.wire import messages
from host.link.session import Session
from host.record.log import Truth
from host.record.telemetry import about, plain, sample
from host.scene.surroundings import Moment
from host.show.scene.page import scripts

ADDRESS = "127.0.0.1"
HISTORY = 60  # s
BATCH = 5  # samples per event: 20 events per second
BEHIND = 200  # events a page may be behind before it is let go
GONE = "event: gone"  # the last one that a page gets
ALIVE = 5.0  # s without an event after which a comment is sent, so that a page that is gone is noticed


Around = Callable[[], Moment]  # what is around a simulated arm now


class Again:
    """The wish of a page that a motion be played again. Offered only while `open`: the arm stands, its host waits."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.open = False
        self._asked = threading.Event()

    def ask(self, token: str) -> HTTPStatus:
        """What the page is answered."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return HTTPStatus.FORBIDDEN
        if not self.open:
            return HTTPStatus.CONFLICT
        self.open = False
        self._asked.set()
        return HTTPStatus.NO_CONTENT

    def taken(self) -> bool:
        """Whether it was asked for; the answer is given once."""
        asked = self._asked.is_set()
        self._asked.clear()
        return asked


class Feed:
    """What the pages are told. `take` is a listener for Session; pages come and go in other threads."""

    def __init__(self, session: Session, again: Again | None = None, truth: Truth | None = None,
                 around: Around | None = None) -> None:
        self.again, self._truth, self._around = again, truth, around
        self._session = session
        self._history: deque[dict[str, Any]] = deque(maxlen=HISTORY * messages.STATUS_HZ)
        self._batch: list[dict[str, Any]] = []
        self._pages: list[queue.Queue[str]] = []
        self._lock = threading.Lock()
        self.about = about(session) | {"serving": secrets.token_hex(8)}  # which program this is

    def take(self, _: Any) -> None:
        """The newest STATUS of the session."""
        now = sample(self._session) | {"again": self.again is not None and self.again.open}
        if self._truth is not None:
            now["true"] = plain(self._truth(self._session.status.tick)[0])
        if self._around is not None:
            now["around"] = self._around().data()
        with self._lock:
            self._history.append(now)
            self._batch.append(now)
            if len(self._batch) >= BATCH:
                self._put("samples", self._batch)
                self._batch = []

    def end(self, why: str) -> None:
        """Tell every page that no more will come."""
        with self._lock:
            self._put("gone", why)

    def page(self) -> queue.Queue[str]:
        """A new page's events: first all that there is."""
        events: queue.Queue[str] = queue.Queue(BEHIND)
        with self._lock:
            done = len(self._history) - len(self._batch)
            events.put_nowait(_event("samples", list(self._history)[:done]))
            self._pages.append(events)
        return events

    def leave(self, events: queue.Queue[str]) -> None:
        with self._lock:
            if events in self._pages:
                self._pages.remove(events)

    def last(self) -> dict[str, Any] | None:
        with self._lock:
            return self._history[-1] if self._history else None

    def _put(self, kind: str, data: Any) -> None:
        event = _event(kind, data)
        for events in list(self._pages):
            try:
                events.put_nowait(event)
            except queue.Full:
                self._pages.remove(events)  # asleep: it connects again when it wakes


def _event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def page(what: dict[str, Any], token: str = "", arm: dict[str, Any] | None = None) -> str:
    """The HTML page for one board. token: by which it may ask for the motion again. arm: host.scene.description."""
    states = {name: meaning for name, (_, meaning) in messages.STATES.items()}
    return template("monitor.html", "host.show", page=True).render(
        about=what, states=states, history=HISTORY, token=token, scene=arm, scripts=scripts() if arm else "")


@contextmanager
def serving(session: Session, port: int, again: Again | None = None, arm: dict[str, Any] | None = None,
            truth: Truth | None = None, around: Around | None = None) -> Iterator[str]:
    """The page's address while this lasts. again: where pages may ask for the motion. arm: what is drawn of it
    (host.scene.description); truth, around: of a simulated plant. Raises BadInput if the port is taken."""
    feed = Feed(session, again, truth, around)
    try:
        server = ThreadingHTTPServer((ADDRESS, port), _handler(feed, arm))
    except OSError as error:
        raise BadInput("command line", "--web", port, f"cannot be listened at: {error.strerror}",
                       "0 takes any") from None
    server.daemon_threads = True
    session.listeners.append(feed.take)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://{ADDRESS}:{server.server_port}/"
        feed.end("the program that shows the board has ended")
    except BaseException as error:
        feed.end(str(error) or "the program that shows the board was ended")
        raise
    finally:
        session.listeners.remove(feed.take)
        server.shutdown()
        server.server_close()


def _handler(feed: Feed, arm: dict[str, Any] | None) -> type[BaseHTTPRequestHandler]:
    document = page(feed.about, feed.again.token if feed.again else "", arm).encode()

    class Handler(BaseHTTPRequestHandler):
        def _foreign(self) -> bool:
            """Whether this came by a name that another site has pointed here."""
            return (self.headers.get("Host") or "").rpartition(":")[0] not in (ADDRESS, "localhost")

        def do_POST(self) -> None:  # noqa: N802, the library's name
            origin, token = self.headers.get("Origin"), self.headers.get("X-Femtorque-Token") or ""
            if self._foreign() or origin != f"http://{self.headers.get('Host')}" or feed.again is None:
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path != "/again":
                self.send_error(HTTPStatus.NOT_FOUND)
            else:
                self.send_response(feed.again.ask(token))
                self.send_header("Content-Length", "0")
                self.end_headers()

        def do_GET(self) -> None:  # noqa: N802, the library's name
            if self._foreign():
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path == "/":
                self._answer("text/html; charset=utf-8", document)
            elif self.path == "/status":
                self._answer("application/json", json.dumps(feed.about | {"last": feed.last()}).encode())
            elif self.path == "/events":
                self._events()
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _answer(self, kind: str, content: bytes) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Security-Policy", "default-src 'self'; script-src 'unsafe-inline'; "
                             "style-src 'unsafe-inline'; img-src data:")
            self.end_headers()
            self.wfile.write(content)

        def _events(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            events = feed.page()
            try:
                event = ""
                while not event.startswith(GONE):
                    try:
                        event = events.get(timeout=ALIVE)
                    except queue.Empty:
                        event = ": still here\n\n"
                    self.wfile.write(event.encode())
                    self.wfile.flush()
            except OSError:
                pass  # the page was closed
            finally:
                feed.leave(events)

        def log_message(self, *_: object) -> None:
            """Nothing: the terminal shows the board."""

    return Handler
