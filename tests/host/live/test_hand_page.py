"""Tests in a real browser the live page that moves an arm: sliders, handle, dead-man's key."""

import signal
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.wire import from_wire
from femtorque.host.link import Configuration
from femtorque.host.plan import forward_kinematics
from tests.support.browser import chromium
from tests.support.rig import ROOT
from tests.support.suite import HANG, until
from tests.support.tcp_board import TcpBoard

MECHANISM = ROOT / "mechanisms" / "three_link.toml"
VIRTUAL = b"\x00\x00\x00\x00\x1fVIRTUAL"
START = np.array([0.3, 0.6, 0.5])


@contextmanager
def moved(*options, **board):
    """Run `teleop --web` on a simulated board. Yields the board and the page's address."""
    tcp = TcpBoard(Configuration.of(load_mechanism(MECHANISM)), **board)
    tcp.board.target[:] = np.round(START * 2**32 / (2 * np.pi)).astype(np.int64)
    tcp.board._flag(HOMED=True)
    process = subprocess.Popen([*tcp.command, "teleop", MECHANISM, "--port", tcp.port, "--web", "0", "--speed", "0.25",
                                "--tip", "hand:0.2,0,0", *options], cwd=ROOT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        yield tcp, process.stderr.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(HANG)
        process.stderr.close()
        tcp.close()


def targets(tcp):
    return [from_wire(m.position, tcp.board.conf.joints) for _, m in list(tcp.board.targets)]


def still(tcp, seconds=0.5):
    """Return True if the board gets no target during these seconds of the board's time."""
    before, end = len(tcp.board.targets), tcp.clock.now() + seconds
    until(lambda: tcp.clock.now() > end)
    return len(tcp.board.targets) == before


def middle(browser, what):
    """Return the middle of an element or of the handle, px."""
    if what == "ball":
        return browser.run("""
            const r = view.renderer.domElement.getBoundingClientRect();
            const p = view.up.localToWorld(femtorque.tip()).project(view.camera);
            return [r.left + (p.x + 1) / 2 * r.width, r.top + (1 - p.y) / 2 * r.height];""")
    return browser.run(f"const r = document.querySelector({what!r}).getBoundingClientRect(); "
                       "return [r.left + r.width / 2, r.top + r.height / 2];")


def take_handle(browser, tip, dx, dy):
    """Drag the handle by (dx, dy) px, and return the pointer's position. Before this, the page must show the resting
    arm with its tip at `tip` (m). If the press missed the handle, the drag would rotate the view."""
    browser.until(f"return femtorque.tip().distanceTo(new THREE.Vector3(...{tip.tolist()})) < 1e-6")

    def hand(x, y):
        browser.mouse("mouseMoved", x, y)
        return browser.run("return document.querySelector('#view').classList.contains('reach')")

    def over():
        browser.mouse("mouseMoved", 0, 0)  # so that the next mouse move gives a single event
        return hand(*middle(browser, "ball"))

    until(over)
    x, y = middle(browser, "ball")
    browser.mouse("mousePressed", x, y)
    assert hand(x + dx, y + dy), "taken: the pointer is a hand far from where the handle was"
    return x + dx, y + dy


@pytest.fixture
def page():
    with chromium() as browser:
        def opened(url):
            browser.go(url)
            browser.look(1300, 1000)
            browser.until("return samples.length > 5 && Boolean(view.others.ghost)")
            browser.run("document.querySelector('#hand').scrollIntoView({block: 'end'})")
            return browser
        yield opened


def test_a_slider_and_the_handle_move_a_virtual_arm_until_they_are_let_go(page):
    mechanism = load_mechanism(MECHANISM)
    with moved(unique=VIRTUAL) as (tcp, url):
        browser = page(url)
        assert browser.run("return document.querySelector('#hand-key')") is None
        assert still(tcp), "nothing is sent before something is held"
        x, y = middle(browser, "#hand input[data-joint=elbow]")
        browser.mouse("mousePressed", x, y)
        browser.mouse("mouseMoved", x + 40, y)
        goal = browser.run("return Number(document.querySelector('#hand input[data-joint=elbow]').value)")
        until(lambda: targets(tcp) and abs(targets(tcp)[-1][1] - goal) < 1e-6)
        browser.mouse("mouseReleased", x + 40, y)
        until(lambda: still(tcp))  # wait until the page has sent its last target
        slid = np.array(targets(tcp))
        assert np.ptp(slid[:, [0, 2]], axis=0).max() < 1e-6 and abs(slid[0, 1] - START[1]) < 1e-6

        begin = forward_kinematics(mechanism, slid[-1], "hand", [0.2, 0.0, 0.0])[0]
        x, y = take_handle(browser, begin, -40, 30)
        count = len(slid)
        until(lambda: len(targets(tcp)) > count + 20)
        view = "return view.controls.target.toArray().concat(view.camera.position.toArray())"
        looked = browser.run(view)
        browser.mouse("mouseReleased", x, y)
        until(lambda: still(tcp))  # wait until the page has sent its last target
        end = forward_kinematics(mechanism, targets(tcp)[-1], "hand", [0.2, 0.0, 0.0])[0]
        assert np.linalg.norm(end - begin) > 0.01
        turned = np.subtract(browser.run(view), looked)
        assert np.abs(turned).max() < 0.02, "the view is not turned by a drag of the handle: 50 px are half a radian"
        assert not [entry for entry in browser.console() if entry["level"] == "SEVERE"]


def test_a_real_arm_moves_only_while_the_key_is_held_on_a_page_that_is_looked_at(page):
    with moved("--real") as (tcp, url):
        browser = page(url)
        x, y = middle(browser, "#hand input[data-joint=elbow]")
        browser.mouse("mousePressed", x, y)
        browser.mouse("mouseMoved", x + 60, y)
        until(lambda: "hold Shift" in browser.run("return document.querySelector('#hand-said').textContent"))
        assert still(tcp) and not targets(tcp), "a drag alone is not enough"
        browser.mouse("mouseReleased", x + 60, y)

        def drag():
            before = len(targets(tcp))
            browser.key("keyDown", "Shift")
            browser.mouse("mousePressed", x, y, shift=True)
            browser.mouse("mouseMoved", x + 60, y, shift=True)
            until(lambda: len(targets(tcp)) > before + 5)

        for let_go in ("key", "blur", "hidden", "other"):
            drag()
            if let_go == "key":
                browser.key("keyUp", "Shift")
            elif let_go == "blur":
                browser.run("window.dispatchEvent(new Event('blur'))")
            elif let_go == "hidden":
                browser.run("Object.defineProperty(document, 'hidden', {value: true, configurable: true}); "
                            "document.dispatchEvent(new Event('visibilitychange'))")
            else:
                browser.go("about:blank")
            until(lambda: still(tcp))
            if let_go != "other":
                browser.mouse("mouseReleased", x + 60, y)
                browser.key("keyUp", "Shift")
