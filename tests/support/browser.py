"""A headless Chromium for tests, through chromedriver's WebDriver protocol."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.suite import HANG, until

WIDTH = 1300
FLAGS = ("--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--no-first-run", "--disable-background-networking",
         "--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={WIDTH},1000")


@dataclass(frozen=True)
class Browser:
    """A browser with one page at a time."""

    root: str  # the address of the chromedriver session

    def open(self, page: Path) -> None:
        self.go(page.resolve().as_uri())

    def go(self, url: str) -> None:
        self._call("url", {"url": url})

    def run(self, script: str) -> Any:
        """Run the body of a JavaScript function and return its result."""
        return self._call("execute/sync", {"script": script, "args": []})

    def until(self, script: str) -> None:
        """Wait until the body of a JavaScript function returns true."""
        until(lambda: bool(self.run(script)))

    def console(self) -> list[dict[str, Any]]:
        """Return the messages of the page and of the browser since the last call."""
        return self._call("se/log", {"type": "browser"})

    def look(self, width: int, height: int, finer: float = 1.0, dark: bool = False) -> None:
        """Set the size of pages, px, the number of dots per pixel, and a light or dark colour scheme."""
        self._call("goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": finer, "mobile": False}})
        self._call("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}})

    def mouse(self, what: str, x: float, y: float, shift: bool = False) -> None:
        """Send mousePressed, mouseMoved or mouseReleased of the left button at a position in the window, px."""
        self._input("Mouse", {"type": what, "x": x, "y": y, "button": "left", "clickCount": 1, "modifiers": 8 * shift,
                              "buttons": int(what != "mouseReleased")})

    def key(self, what: str, key: str) -> None:
        """Send keyDown or keyUp."""
        self._input("Key", {"type": what, "key": key, "code": f"{key}Left", "modifiers": 8 * (what == "keyDown")})

    def _input(self, device: str, event: dict[str, Any]) -> None:
        self._call("goog/cdp/execute", {"cmd": f"Input.dispatch{device}Event", "params": event})

    def shown(self, path: Path) -> Path:
        """Write an image of the window as PNG."""
        shot = self._call("goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": {}})
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def screenshot(self, path: Path) -> Path:
        """Write an image of the whole page as PNG."""
        height = self.run("return document.documentElement.scrollHeight")
        self._call("goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}})
        shot = self._call("goog/cdp/execute",
                          {"cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": True}})
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def _call(self, what: str, body: dict[str, Any]) -> Any:
        return _post(f"{self.root}/{what}", body)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Open a browser with a new profile, and remove the profile afterwards."""
    for tool in ("chromium", "chromedriver"):
        assert shutil.which(tool), f"{tool} is missing: apt install chromium chromium-driver"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(port)
            session = _post(f"{url}/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                "timeouts": {"script": int(1e3 * HANG), "pageLoad": int(1e3 * HANG)},
                "goog:chromeOptions": {"binary": shutil.which("chromium"),
                                       "args": [*FLAGS, f"--user-data-dir={profile}"]},
            }}})
            root = f"{url}/session/{session['sessionId']}"
            try:
                yield Browser(root)
            finally:
                urllib.request.urlopen(urllib.request.Request(root, method="DELETE"), timeout=HANG).read()
        finally:
            driver.terminate()
            driver.wait(HANG)


def _wait(port: int) -> None:
    end = time.monotonic() + HANG
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            assert time.monotonic() < end, "chromedriver does not listen"
            time.sleep(0.05)


def _post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=HANG) as answer:
        return json.load(answer)["value"]
