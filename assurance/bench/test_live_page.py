"""Twenty pages that are opened at once, after a minute of motion, do not delay the stream in real time."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from assurance.bench import table
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import formats
from tests.support.suite import HANG, ROOT

pytestmark = pytest.mark.bench

PAST, OPEN, PAGES = 62.0, 10.0, 20  # s of motion before, s with open pages, number of pages
SLACK = 5e-3  # s by which the worst gap may grow
ARM = ROOT / "mechanisms" / "six_axis.toml"  # six joints
PERIOD, REACH = 4.0, 0.1  # s, rad


def to_and_fro(path: Path) -> Path:
    """Write a motion that returns to its start, from rest to rest."""
    joints = load_mechanism(ARM).streamed
    t = np.linspace(0.0, PERIOD, 401)
    w = 2.0 * np.pi / PERIOD
    each = np.ones(len(joints))
    q, qd, qdd = (REACH * np.outer(x, each) for x in (1.0 - np.cos(w * t), w * np.sin(w * t), w**2 * np.cos(w * t)))
    formats.write(path, [joint.name for joint in joints], t, q + [joint.start for joint in joints], qd, qdd)
    return path


@contextmanager
def femtorque(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command. Yield the process and its first line."""
    with subprocess.Popen([sys.executable, "-m", "femtorque", *map(str, arguments)], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process, process.stderr.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def last(url: str) -> Any:
    with urllib.request.urlopen(f"{url}status", timeout=HANG) as answer:
        return json.load(answer)["last"]


def read(port: int, pages: list[bytes]) -> None:
    """Open one page and read all its events."""
    with socket.create_connection(("127.0.0.1", port), HANG) as page:
        page.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        end, come = time.monotonic() + OPEN, bytearray()
        while time.monotonic() < end:
            come += page.recv(1 << 20)
        pages.append(bytes(come))


def samples(come: bytes) -> list[dict[str, Any]]:
    """Return the samples of a page, without a last event that is cut."""
    return [sample for event in come.split(b"\n\n")[:-1] if b"samples" in event
            for sample in json.loads(event.partition(b"data: ")[2])]


def test_twenty_pages_at_once_do_not_delay_the_stream(tmp_path):
    motion, pages = to_and_fro(tmp_path / "motion.csv"), list[bytes]()
    with femtorque("hil", "serve", ARM, "--port", 0) as (_, port), \
            femtorque("stream", ARM, motion, "--port", port, "--home", "--loop", 100, "--resume", 99,
                      "--web", 0) as (stream, url):
        time.sleep(PAST)
        opened = last(url)["t"]
        readers = [Thread(target=read, args=(int(re.findall(r"\d+", url)[-1]), pages)) for _ in range(PAGES)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert stream.poll() is None and last(url)["state"] == "TRACK"
    shown = samples(max(pages, key=len))
    gaps = {late: max(sample["worst_gap"] for sample in shown if (sample["t"] > opened) is late)
            for late in (False, True)}
    least = min(map(len, pages))
    table.keep("bench-pages.md", table.show(
        "The longest time without a frame from the board", ["", "ms"],
        [["a minute of motion", f"{gaps[False] * 1e3:.1f}"],
         [f"{OPEN:g} s with {PAGES} pages opened at once", f"{gaps[True] * 1e3:.1f}"]],
        [f"each page was sent {least / 1e6:.1f} MB at least"]))
    assert len(pages) == PAGES and least > 5_000_000
    assert gaps[True] <= gaps[False] + SLACK
