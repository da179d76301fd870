"""Tests that the live page in a real browser and the datagrams show the board's numbers."""

import asyncio
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.wire import messages
from femtorque.hil.play import run_closed_loop as play
from femtorque.host.link import Configuration
from femtorque.host.record import sample
from femtorque.host.scene import Contact, Moment, scene
from femtorque.host.show.pages import CONNECTIONS, HEADER, PAGES, Pages
from femtorque.host.show.scene.page import scripts
from femtorque.host.show.udp import sending
from femtorque.host.show.web import HISTORY, SERVER, Again, Feed, page, serving
from tests.host.show.test_monitor import looking, refresh
from tests.support.browser import chromium
from tests.support.suite import HANG, until
from tests.support.tcp_board import TcpBoard
from tests.support.terminal import CTRL_C, PROMPT, terminal
from tests.whole.test_stream_command import MECHANISM, ROOT

LAG = 0.01  # angle by which the simulated arm lags behind its targets, rad


@pytest.fixture(scope="module")
def mechanism():
    return load_mechanism(MECHANISM)


@pytest.fixture
def board_at(mechanism):
    """Return a function that starts simulated boards. All boards are closed at the end."""
    with ExitStack() as stack:
        yield lambda **keys: stack.enter_context(closing(TcpBoard(Configuration.of(mechanism), **keys)))


@pytest.fixture
def watched(board_at):
    """Yield a board, the address of its page, and a socket that gets the datagrams."""
    board = board_at(lag=LAG)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(HANG)
        to = f"127.0.0.1:{receiver.getsockname()[1]}"
        process = subprocess.Popen(
            [*board.command, "monitor", "--port", board.port, MECHANISM, "--web", "0", "--udp", to],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            yield board, process.stderr.readline().strip(), receiver
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(HANG)
            process.stderr.close()


def coloured(browser, joint, plot, colour):
    """Return the number of pixels of a plot that have a given colour of the page."""
    return browser.run(f"""
      const c = document.querySelector("section[data-joint={joint}] canvas[data-plot={plot}]");
      const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      const want = getComputedStyle(document.documentElement).getPropertyValue("--{colour}").trim();
      const rgb = [1, 3, 5].map(i => parseInt(want.slice(i, i + 2), 16));
      let n = 0;
      for (let i = 0; i < d.length; i += 4)
        if (d[i + 3] > 60 && rgb.every((x, k) => Math.abs(x - d[i + k]) < 16)) n += 1;
      return n""")


def test_the_page_shows_what_the_board_says(watched, tmp_path):
    tcp, url, receiver = watched
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
    board = tcp.board
    board.target[:] = (np.array([0.25, -0.5, 1.0]) * 2**32 / (2 * np.pi)).astype(np.int64)
    board._flag(HOMED=True, OUTPUTS=True)

    datagram = json.loads(receiver.recv(65536))
    while abs(datagram["elbow"]["target"] + 0.5) > 1e-6:
        datagram = json.loads(receiver.recv(65536))
    assert datagram["elbow"]["error"] == pytest.approx(LAG, abs=1e-6) and datagram["tick"]["cycles"] == 50_000
    assert datagram["shoulder"]["position"] == pytest.approx(0.25 - LAG, abs=1e-6) and datagram["timestamp"] > 0.0

    with chromium() as browser:
        browser.go(url)
        browser.until("return received > 40 && "
                       "document.getElementById('flags').textContent.includes('homed, outputs on')")
        browser.until("return samples[0].target[0] !== samples[samples.length - 1].target[0] || received > 150")

        def shown(joint, what):
            return float(browser.run(f"return document.querySelector('section[data-joint={joint}] "
                                     f"[data-value={what}]').textContent"))

        for joint, target in zip(("shoulder", "elbow", "wrist"), (0.25, -0.5, 1.0), strict=True):
            assert shown(joint, "position") == pytest.approx(target - LAG, abs=6e-5)
            assert shown(joint, "error") == pytest.approx(1e3 * LAG, rel=0.06)
            assert shown(joint, "torque") == pytest.approx(0.3, abs=1e-6)
        last = browser.run("return samples[samples.length - 1]")
        gains = [35.4, 6.96, 1.67]
        np.testing.assert_allclose(last["pd"], np.array(gains) * LAG, rtol=1e-4)
        np.testing.assert_allclose(np.add(last["pd"], last["rest"]), [0.2] * 3, rtol=1e-4)
        text = browser.run("return document.querySelector('main').innerText")
        assert "50,000 · 29.8 %" in text and "60,000 · 35.7 %" in text and "24.0 V" in text
        for plot, colour in (("position", "measured"), ("position", "desired"), ("error", "error"), ("torque", "pd"),
                             ("torque", "feedforward"), ("torque", "rest"), ("torque", "torque"), ("duty", "duty")):
            until(lambda plot=plot, colour=colour: coloured(browser, "elbow", plot, colour) > 30)
        browser.until("return Math.abs(view.arm.q.elbow + 0.5 + " + str(LAG) + ") < 1e-6")
        assert browser.run("return view.others.ghost.q.elbow") == pytest.approx(-0.5, abs=1e-6), "desired"
        assert browser.run("return view.marked.length") == 0
        assert browser.run("return [...document.querySelectorAll('select, canvas[data-plot], #view')].every("
                           "e => e.labels?.length || e.ariaLabel)")
        browser.screenshot(tmp_path / "monitor.png")
        assert (tmp_path / "monitor.png").stat().st_size > 30_000

        browser.run("document.getElementById('pause').click()")
        held = browser.run("return document.getElementById('t').textContent")
        paused = tcp.clock.now()
        until(lambda: tcp.clock.now() > paused + 0.5)
        assert browser.run("return document.getElementById('t').textContent") == held
        browser.run("document.getElementById('pause').click()")

        board.fail("FOLLOWING", joint=1)
        browser.until("return !document.getElementById('fault').hidden")
        assert browser.run("return document.getElementById('fault').textContent").startswith(
            f"fault FOLLOWING at joint elbow: {messages.FAULTS['FOLLOWING'][1]}; {messages.FAULTS['FOLLOWING'][2]}")
        assert browser.run("return document.getElementById('state').className") == "FAULT"
        browser.until("return view.marked.map(mark => mark.name).join() === 'elbow'")

        browser.go("about:blank")  # a page that is opened late gets the past samples
        browser.go(url)
        browser.until("return samples.length > 100")
        board.silent = True
        browser.until("return !document.getElementById('gone').hidden")
        assert "the board has been silent for" in browser.run("return document.getElementById('gone').textContent")
        wrong = [entry for entry in browser.console() if entry["level"] == "SEVERE"
                 and "net::ERR" not in entry["message"]]
        assert not wrong


def test_the_page_is_for_this_machine_alone(watched):
    _, url, _ = watched
    with urllib.request.urlopen(url, timeout=HANG) as answer:
        text = answer.read().decode()
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert scripts() in text
    own = text.replace(scripts(), "")  # three.js contains the name space of elements
    assert not re.findall(r"(?:src|href)=\"(?!data:)|@import|https?://", own), "nothing is asked of anyone"
    assert json.loads(document(f"{url}status"))["name"] == "three-link"
    for request in (urllib.request.Request(url, headers={"Host": "evil.example:80"}),
                    urllib.request.Request(f"{url}etc/passwd")):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=HANG)


def test_a_stream_shows_itself_too(board_at):
    """Only one program can open a serial port, so the streaming program serves the page."""
    tcp, states = board_at(), set()
    tcp.hold = lambda: tcp.board.played > 250 and "TRACK" not in states  # a third of it
    process = subprocess.Popen(
        [*tcp.command, "stream", MECHANISM, ROOT / "mechanisms" / "three_link.csv", "--port", tcp.port,
         "--home", "--web", "0", "--json"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = process.stderr.readline().strip()
    assert process.stderr.readline().startswith("the page closes after the motion")
    while process.poll() is None and "TRACK" not in states:
        with suppress(OSError):
            states.add((told(url) or {}).get("state"))
        time.sleep(0.05)
    output, _ = process.communicate(timeout=HANG)
    assert "TRACK" in states and process.returncode == 0 and json.loads(output)["ended"] == "done"


@contextmanager
def typed(tcp, *options):
    """Type `stream --web` in a terminal. Yields the terminal and the page's address once the motion has ended."""
    with terminal(ROOT, columns=1000) as shell:
        shell.begin(shlex.join(map(str, [
            *tcp.command, "stream", MECHANISM, ROOT / "mechanisms" / "three_link.csv", "--port", tcp.port, "--home",
            "--web", "0", *options])))
        yield shell, re.search(r"http://127\.0\.0\.1:\d+/", shell.until("the page stays until Ctrl-C"))[0]


def left(shell):
    """Press Ctrl-C. Returns the last output, and the exit status as text."""
    shell.keys(CTRL_C)
    return shell.until(PROMPT), shell.type("echo $?")[1]


def asked(url, **headers):
    """Request a repetition of the motion from the page's server. Returns the status."""
    request = urllib.request.Request(f"{url}again", method="POST", data=b"", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=HANG) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def told(url):
    return json.loads(document(f"{url}status"))["last"]


def document(url):
    with urllib.request.urlopen(url, timeout=HANG) as answer:
        return answer.read().decode()


def test_the_page_stays_after_the_motion_and_a_virtual_board_plays_it_again(board_at, tmp_path):
    tcp = board_at(unique=b"\x00\x00\x00\x00\x1fVIRTUAL")
    with typed(tcp, "--log", tmp_path / "run.mcap") as (shell, url):
        token = re.search(r'"X-Femtorque-Token": "([\w-]{40,})"', document(url))[1]
        first = len(tcp.board.received)
        assert told(url)["state"] in ("HOLD", "DISARMED")
        until(lambda: told(url)["state"] == "DISARMED" and told(url)["again"])

        good = {"Origin": url.rstrip("/"), "X-Femtorque-Token": token}
        for wrong in ({}, good | {"Origin": "http://evil.example"}, good | {"X-Femtorque-Token": token[:-1] + "!"},
                      {"X-Femtorque-Token": token}, good | {"Host": "evil.example:80"}):
            assert asked(url, **wrong) == 403, wrong
        assert told(url)["again"], "nothing of that was taken"

        with chromium() as browser:
            browser.go(url)
            browser.until("return samples.length > 5 && !document.getElementById('again').disabled")
            browser.run("document.getElementById('again').click()")
            shown = shell.until("the page stays until Ctrl-C")
            assert len(tcp.board.received) > first + 100
        last, status = left(shell)
        assert status == "0" and "done" in shown + last
        assert "packing " in last and "(Ctrl-C leaves it unpacked)" in last
    assert (tmp_path / "run.mcap").is_file() and (tmp_path / "run-2.mcap").is_file(), "nothing is overwritten"


def test_a_real_board_is_not_moved_by_a_page(board_at):
    with typed(board_at()) as (shell, url):
        assert 'id="again"' not in document(url)
        assert asked(url, Origin=url.rstrip("/"), **{"X-Femtorque-Token": ""}) == 403
        shown, status = left(shell)
        assert status == "0" and "play it again" not in shown


def test_a_motion_under_way_is_not_begun_anew():
    again = Again()
    assert again.ask(again.token) == 409 and not again.taken()
    again.open = True
    assert again.ask("") == 403 and again.ask(again.token) == 204 and again.ask(again.token) == 409
    assert again.taken() and not again.taken()


def test_a_page_finds_the_next_program_at_its_port(mechanism):
    """The page stays open in the browser after the first program at its port has ended."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    session, _ = looking()
    with chromium() as browser:
        with serving(session, port) as url:
            browser.go(url)
            browser.until("return typeof about === 'object'")
            browser.run("window.old = true")
        browser.until("return document.getElementById('gone').textContent.includes('waiting for it to come back')")
        with serving(session, port):
            browser.until("return window.old === undefined")


def test_without_gains_all_but_feedforward_is_the_rest():
    session, board = looking(lag=LAG)
    board._flag(OUTPUTS=True)
    refresh(session)
    values = sample(session)
    assert values["pd"] == [0.0] * 3 and values["rest"] == pytest.approx([0.2] * 3)


def test_numbers_that_are_none_become_null():
    session, _ = looking()
    session.status = replace(session.status, torque=(float("nan"),) * 3)
    assert sample(session)["torque"] == [None] * 3


def said(feed):
    """Return the samples sent to the pages' process since the last call."""
    lines = [feed.lines.get() for _ in range(feed.lines.qsize())]
    return [json.loads(line[2:]) for line in lines if line.startswith("s ")]


def test_the_stream_keeps_no_past_for_pages(mechanism):
    """Each STATUS adds one line of constant size, even if nobody reads."""
    session, _ = looking()
    feed = Feed(session)
    feed.take(None)
    first = feed.lines.get()
    for _ in range(HISTORY * messages.STATUS_HZ):
        feed.take(None)
        assert feed.lines.qsize() == 1 and feed.lines.get() == first
    for _ in range(HISTORY * messages.STATUS_HZ + 10):
        feed.take(None)
    assert len(said(feed)) == HISTORY * messages.STATUS_HZ


def samples_of(chunk):
    return json.loads(chunk.partition(b"data: ")[2])


def test_twenty_pages_at_once_are_nothing_to_the_program_that_streams(mechanism):
    """Another process serves the pages, past samples in small pieces. A page whose reader stops delays no other."""
    session, _ = looking()
    with serving(session, 0) as url, ExitStack() as stack:
        threads = threading.active_count()
        for _ in range(HISTORY * messages.STATUS_HZ):
            session.listeners[-1](None)
        until(session.listeners[-1].__self__.lines.empty)
        session.status = replace(session.status, tick=12_345)
        session.listeners[-1](None)
        until(lambda: told(url)["t"] == 12_345 / session.configuration.rate_hz)
        deaf = [stack.enter_context(connection(url, "/events")) for _ in range(10)]
        pages = [stack.enter_context(connection(url, "/events")) for _ in range(10)]
        for page in pages:
            file = stack.enter_context(page.makefile("rb"))
            while file.readline().strip():  # its header
                pass
            count = 0
            while count < HISTORY * messages.STATUS_HZ:
                event = file.readline() + file.readline() + file.readline()
                assert len(event) < 16_384 and event.startswith(b"event: samples")
                count += len(samples_of(event))
        assert threading.active_count() == threads and len(deaf) == 10


def connection(url, path, *headers):
    """Return a socket that has requested a page."""
    host, port = re.fullmatch(r"http://([\d.]+):(\d+)/", url).groups()
    here = socket.create_connection((host, int(port)), HANG)
    here.sendall("\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host}:{port}", *headers, "", ""]).encode())
    return here


def answer(url, path, *headers):
    with connection(url, path, *headers) as here:
        return int(here.recv(64).split()[1])


@pytest.mark.parametrize("path", ["/", "/status", "/events"])
def test_other_sites_cannot_open_the_page(mechanism, path):
    """Other host names and scripts of other sites are refused; the page's own requests and typed addresses pass."""
    session, _ = looking()
    with serving(session, 0) as url:
        own = url.rstrip("/")
        for header in ("Origin: https://evil.example", "Origin: null", "Origin: http://127.0.0.1:1",
                       "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"):
            assert answer(url, path, header) == 403, header
        for header in (f"Origin: {own}", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"):
            assert answer(url, path, header) == 200, header


def test_pages_and_connections_are_bounded(mechanism):
    session, _ = looking()
    with serving(session, 0) as url, ExitStack() as stack:
        for _ in range(PAGES):
            assert stack.enter_context(connection(url, "/events")).recv(12) == b"HTTP/1.1 200"
        assert answer(url, "/events") == 503 and answer(url, "/status") == 200
        address = ("127.0.0.1", int(re.search(r"\d+(?=/$)", url)[0]))
        for _ in range(CONNECTIONS - PAGES):
            stack.enter_context(socket.create_connection(address, HANG))
        until(lambda: answer(url, "/status") == 503)


def pages_of():
    return Pages({"document": "", "path": "/", "about": {}, "wishes": [], "history": 6000})


def test_half_a_request_and_one_without_end_are_hung_up(monkeypatch):
    """The test shortens the server's time-outs."""
    async def half(*pieces):
        pages = pages_of()
        server = await asyncio.start_server(pages.connected, "127.0.0.1", 0, limit=HEADER)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        with suppress(OSError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()
            server.close()

    monkeypatch.setattr("femtorque.host.show.pages.REQUEST", 0.05)
    assert asyncio.run(half(b"GET / HTTP/1.1\r\nHost: 127")) == b""
    monkeypatch.undo()
    assert asyncio.run(half(b"GET / HTTP/1.1\r\n", b"a: b\r\n" * HEADER)) == b""


def test_a_page_that_is_asleep_is_let_go(monkeypatch):
    async def asleep():
        pages = pages_of()
        server = await asyncio.start_server(pages.connected, "127.0.0.1", 0, limit=HEADER)
        host, port = server.sockets[0].getsockname()[:2]
        reader, writer = await asyncio.open_connection(host, port, limit=1)
        writer.write(f"GET /events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        while pages._pages == 0:
            await asyncio.sleep(0)
        while pages._pages:  # write until the buffers of the operating system are full
            pages.line("s", json.dumps("x" * 100_000))
            await asyncio.sleep(0)
        writer.transport.abort()
        server.close()

    monkeypatch.setattr("femtorque.host.show.pages.ASLEEP", 0.05)
    asyncio.run(asyncio.wait_for(asleep(), HANG))


def test_the_server_ends_with_the_program_that_started_it():
    """The server must end when its input ends. Samples arrive through its input."""
    served = {"document": "", "path": "/", "about": {}, "wishes": [], "port": 0, "history": 6000}
    with subprocess.Popen([sys.executable, "-I", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        process.stdin.write(json.dumps(served) + "\n")
        process.stdin.flush()
        assert process.stdout.readline().strip().isdecimal()
        process.stdin.close()
        assert process.wait(HANG) == 0


def test_a_board_whose_mechanism_is_not_known_has_a_page_without_an_arm():
    session, _ = looking()
    text = page(Feed(session).about)
    assert 'id="view"' not in text and "THREE" not in text and 'id="pause"' in text


def test_what_a_simulated_arm_touches_goes_out_with_every_sample():
    touch = Contact("hand", "box", np.array([0.1, 0.0, 0.2]), np.array([0.0, 3.0, 0.0]))
    session, _ = looking()
    feed = Feed(session, around=lambda: Moment({"box": (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)}, (touch,)))
    feed.take(None)
    assert said(feed)[0]["around"] == {"places": {"box": [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]},
                                     "contacts": [["hand", "box", 0.1, 0.0, 0.2, 0.0, 3.0, 0.0]]}


def test_a_simulated_arm_is_shown_where_it_truly_is(mechanism):
    shown = {}

    @contextmanager
    def watch(session, truth):
        with serving(session, 0, arm=scene(mechanism), truth=truth) as url:
            yield
            last = sample(session)["t"]

            until(lambda: told(url)["t"] == last)
            shown.update(told(url), page=document(url))

    start = np.array([joint.start for joint in mechanism.streamed])
    motion = Trajectory.of(mechanism, [0.0, 0.3, 0.6], [start, start + 0.05, start + 0.1])
    assert play(mechanism, motion, watch=watch).ended == "done"
    np.testing.assert_allclose(shown["true"], shown["position"], atol=2e-3)
    np.testing.assert_allclose(shown["true"], start + 0.1, atol=2e-3)
    assert shown["true"] != shown["position"] and 'id="truth"' in shown["page"]


def test_names_cannot_break_out_of_the_page(mechanism):
    session, _ = looking()
    what = Feed(session).about | {"name": "</script><script>alert(1)</script>"}
    assert "<script>alert" not in page(what)


@pytest.mark.parametrize("to", ["here", "localhost", "localhost:x", "localhost:0", "localhost:99999", ":5"])
def test_an_address_that_is_none(to):
    session, _ = looking()
    with pytest.raises(BadInput, match="--udp"):
        with sending(session, to):
            pass


def test_a_port_that_is_taken_is_named(board_at):
    board = board_at()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        shown = subprocess.run([*board.command, "monitor", "--port", board.port, "--web", str(taken.getsockname()[1])],
                               cwd=ROOT, capture_output=True, text=True, timeout=HANG)
    assert shown.returncode == 2 and "cannot be listened at: " in shown.stderr and "0 takes any" in shown.stderr
