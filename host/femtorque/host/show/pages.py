"""The live page's server, a separate process, so that pages never delay the streaming program.

`femtorque.host.show.web` runs this file with only the standard library. The input is lines. The first is a JSON object:
document, path (of the document), about, wishes (names of requests that pages may send), port, and history (samples for
a late page). Each further line is a letter and a text. s: a sample. a: the answer to a request, with a status and a
reason. g: the reason why the program ends. The first line of the output is the port, or the reason why it is not
available; each further line is a page's request: a JSON array of name, token and text. The process ends with its input.

A client that does not send its request within REQUEST seconds, or does not read the answer, is dropped. Requests caused
by another site are refused."""

import asyncio
import hmac
import json
import os
import re
import signal
import sys
from collections import deque
from contextlib import suppress
from http import HTTPStatus
from typing import Any

ADDRESS = "127.0.0.1"
BATCH = 5  # samples per event: 20 events per second
PAGES, CONNECTIONS = 32, 64  # at once
HEADER = 16384  # bytes of a request at most
BODY = 4096  # bytes of a wish at most
REQUEST = 5.0  # maximum time of a whole request, s
# time after which a client that reads nothing is dropped, s; its page connects again when the computer wakes
ASLEEP = 10.0
ALIVE = 5.0  # time without an event until a comment is sent, which detects closed pages, s
PRIORITY = 10  # niceness, so that the streaming program has priority over this server
# values of Sec-Fetch-Site for an address that the user typed and for the page's own requests
OURS = ("none", "same-origin")
TOKEN = re.compile(r"[\w-]{1,100}", re.ASCII)


class Pages:
    """Server of the pages. `line` handles one line of the input, and `connected` handles one connection."""

    def __init__(self, served: dict[str, Any]) -> None:
        self._document, self._wishes = served["document"].encode(), frozenset(served["wishes"])
        self._path = served["path"]
        self._about = json.dumps(served["about"])
        self._last = "null"
        self._batch: list[str] = []
        self._events: deque[bytes] = deque(maxlen=served["history"] // BATCH)
        self._count = 0  # number of all events
        self._news = asyncio.Event()
        self._gone = b""
        self._wish, self._answer = asyncio.Lock(), asyncio.Queue[tuple[int, str]]()
        self._connections = self._pages = 0

    def line(self, kind: str, text: str) -> None:
        if kind == "s":
            self._last = text
            self._batch.append(text)
            if len(self._batch) == BATCH:
                self._events.append(event("samples", f"[{','.join(self._batch)}]"))
                self._count += 1
                self._batch = []
        elif kind == "a":
            status, _, why = text.partition(" ")
            self._answer.put_nowait((int(status), why))
        else:
            self._gone = event("gone", text)
        self._news.set()
        self._news = asyncio.Event()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        self._connections += 1
        writer.transport.set_write_buffer_limits(0)  # after `drain`, the data has left this process
        try:
            if self._connections > CONNECTIONS:
                await self._say(writer, HTTPStatus.SERVICE_UNAVAILABLE)
            else:
                async with asyncio.timeout(REQUEST):
                    head = await reader.readuntil(b"\r\n\r\n")
                await self._request(reader, writer, head.decode("latin-1"))
            writer.close()
            await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is closed or asleep, or sends no request
        finally:
            self._connections -= 1
            writer.transport.abort()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str) -> None:
        first, *rest = head.split("\r\n")
        method, _, path = first.partition(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        path = path.partition(" ")[0]
        if foreign(headers) or (method == "POST" and "origin" not in headers):
            await self._say(writer, HTTPStatus.FORBIDDEN)
        elif method == "GET" and hmac.compare_digest(path.encode(), self._path.encode()):
            await self._say(writer, HTTPStatus.OK, "text/html; charset=utf-8", self._document)
        elif (method, path) == ("GET", "/status"):
            content = f'{self._about[:-1]}, "last": {self._last}}}'
            await self._say(writer, HTTPStatus.OK, "application/json", content.encode())
        elif (method, path) == ("GET", "/events") and self._pages >= PAGES:
            await self._say(writer, HTTPStatus.SERVICE_UNAVAILABLE)
        elif (method, path) == ("GET", "/events"):
            self._pages += 1
            try:
                await self._stream(writer)
            finally:
                self._pages -= 1
        elif method == "POST" and path in ("/again", "/hand"):
            status, why = await self._asked(path[1:], headers, reader)
            await self._say(writer, status, content=why.encode())
        else:
            await self._say(writer, HTTPStatus.NOT_FOUND)

    async def _asked(self, name: str, headers: dict[str, str], reader: asyncio.StreamReader) -> tuple[HTTPStatus, str]:
        """Return the streaming program's answer to a wish, and the reason."""
        token, length = headers.get("x-femtorque-token", ""), headers.get("content-length", "0")
        if name not in self._wishes or not TOKEN.fullmatch(token):
            return HTTPStatus.FORBIDDEN, ""
        if not (length.isdecimal() and len(length) < 9 and int(length) <= BODY):
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {BODY} bytes"
        async with asyncio.timeout(REQUEST):
            text = (await reader.readexactly(int(length))).decode("utf-8", "replace")
            async with self._wish:
                self._answer = asyncio.Queue()
                print(json.dumps([name, token, text]), flush=True)
                status, why = await self._answer.get()
        return HTTPStatus(status), why

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        """Send all past events, one by one, and then new ones."""
        await self._write(writer, header(HTTPStatus.OK, "text/event-stream"))
        at = self._count - len(self._events)
        while at >= (oldest := self._count - len(self._events)):
            news = self._news
            if at < self._count:
                at += 1
                await self._write(writer, self._events[at - 1 - oldest])
            elif self._gone:
                return await self._write(writer, self._gone)
            else:
                try:
                    await asyncio.wait_for(news.wait(), ALIVE)
                except TimeoutError:
                    await self._write(writer, b": still here\n\n")
        return None

    async def _say(self, writer: asyncio.StreamWriter, status: HTTPStatus, kind: str = "text/plain; charset=utf-8",
                   content: bytes = b"") -> None:
        await self._write(writer, header(status, kind, len(content)) + content)

    @staticmethod
    async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        async with asyncio.timeout(ASLEEP):
            await writer.drain()


def foreign(headers: dict[str, str]) -> bool:
    """Return True for a request with another host name, or from another site's page."""
    host = headers.get("host", "")
    return (host.rpartition(":")[0] not in (ADDRESS, "localhost")
            or headers.get("origin", f"http://{host}") != f"http://{host}"
            or headers.get("sec-fetch-site", "none") not in OURS)


def event(kind: str, data: str) -> bytes:
    return f"event: {kind}\ndata: {data}\n\n".encode()


def header(status: HTTPStatus, kind: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", f"Content-Type: {kind}", "Cache-Control: no-store",
             "Connection: close", "Content-Security-Policy: default-src 'self'; script-src 'unsafe-inline'; "
             "style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def serve() -> None:
    """Serve until the input ends."""
    lines = asyncio.StreamReader(limit=2**30)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    served = json.loads(await lines.readline())
    pages = Pages(served)
    try:
        server = await asyncio.start_server(pages.connected, ADDRESS, served["port"], limit=HEADER)
    except OSError as error:
        print(os.strerror(error.errno) if error.errno else error, flush=True)
        return
    print(server.sockets[0].getsockname()[1], flush=True)
    while line := await lines.readline():
        pages.line(chr(line[0]), line[2:-1].decode())
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if others:
        await asyncio.wait(others, timeout=1.0)  # time for the pages to read the reason of the end


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the streaming program reacts to Ctrl-C
    os.nice(PRIORITY)
    with suppress(BrokenPipeError):
        asyncio.run(serve())
