"""The pictures of README and docs, made anew: python -m tests.docs.pictures [plan run_page monitor ...].

Each comes from what the text beside it tells the reader to type, in a folder of its own. The live page is looked at in
Chromium, on a board that is served in real time: a busy machine makes gaps in it.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path

from PIL import Image

from codegen.common.firmware import MECHANISMS
from hil.papers import closed
from hil.scenarios import demo
from tests.codegen.mechanism.test_urdf import robot
from tests.conftest import HANG, ROOT
from tests.support.browser import chromium

HERE = ROOT / "docs"
COMMAND = [sys.executable, str(ROOT / "femtorque")]
WIDE = """
[[waypoint]]
joints = { shoulder_pan = -0.7, shoulder_lift = 0.5, elbow_flex = -0.3, wrist_flex = 0.6, wrist_roll = 0.4 }
stop = false

[[waypoint]]
joints = { shoulder_pan = 0.7, shoulder_lift = -0.6, elbow_flex = 0.5, wrist_flex = -0.5, gripper = 0.9 }
"""  # waypoints of the run that is shown
SIZE = (1200, 880)  # of the live page that is shown, px
FULL = 450  # STATUS, at 100 a second: the page shows the last five seconds


def plan() -> None:
    """The tour's own plan."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```toml\n(.*?)```", readme, re.DOTALL)
    assert found is not None
    lines = re.findall(r"^    femtorque ((?:init|plan) .*)$", readme, re.MULTILINE)
    shutil.copy(robot("so101.urdf"), "so101.urdf")
    Path("reach.toml").write_text(found[1], encoding="utf-8")
    for line in lines:
        subprocess.run([*COMMAND, *line.split()], check=True)
    shutil.copy("reach.png", HERE / "plan.png")


def run_page() -> None:
    """The page of a run of the tour's arm on the virtual board, in the light. The meshes are those of
    https://github.com/TheRobotStudio/SO-ARM100 (Apache-2.0)."""
    Path("wide.toml").write_text(WIDE, encoding="utf-8")
    for line in (f"init so101 --from {robot('so101.urdf')} --board f405rg-6",
                 "plan so101.toml wide.toml -o wide.csv --back --speed 0.7",
                 "hil so101.toml wide.csv --log run.mcap", "plot run.mcap -o run.html"):
        subprocess.run([*COMMAND, *line.split()], check=True)
    with chromium() as browser:
        browser.look(1500, 860, finer=2.0)
        browser.open(Path("run.html"))
        browser.run("femtorque.seek(1.12); document.getElementById('torque-shares').scrollIntoView()")
        time.sleep(1.5)  # until it is drawn
        large = Image.open(browser.shown(Path("large.png"))).convert("RGB")
    large.resize((1500, 860), Image.Resampling.LANCZOS).save(HERE / "run_page.png", optimize=True)


def monitor() -> None:
    """In the middle of a motion."""
    mechanism, motion = MECHANISMS / "three_link.toml", MECHANISMS / "three_link.csv"
    board = subprocess.Popen([*COMMAND, "hil", mechanism, "--serve", "0"], stderr=subprocess.PIPE, text=True)
    assert board.stderr is not None
    port = ["--port", board.stderr.readline().strip()]
    subprocess.run([*COMMAND, "home", mechanism, *port], check=True)
    player = subprocess.Popen([*COMMAND, "stream", mechanism, motion, *port, "--approach", "--web", "0", "--resume",
                               "99", "--speed", "0.4"], stderr=subprocess.PIPE, text=True)
    try:
        assert player.stderr is not None
        with chromium() as browser:
            browser.go(player.stderr.readline().strip())
            until = time.monotonic() + HANG
            while not browser.run(f"return received > {FULL}"):
                assert time.monotonic() < until and player.poll() is None
                time.sleep(0.05)
            browser._call("goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
                "width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}})
            time.sleep(0.5)  # drawn anew at that size
            shot = browser._call("goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": {}})
            (HERE / "monitor.png").write_bytes(base64.b64decode(shot["data"]))
    finally:
        for process in (player, board):
            process.send_signal(signal.SIGINT)
        player.send_signal(signal.SIGINT)
        player.communicate()
        board.communicate()


def closed_loops() -> None:
    """The four-bar linkage of the papers' page."""
    url = closed._picture(closed.play(closed.EXAMPLES[:1], brief=False)[0]).url
    (HERE / "closed_loops.png").write_bytes(base64.b64decode(url.split(",")[1]))


def three_link() -> None:
    """`make demo`."""
    assert demo.main() == 0
    shutil.copy(demo.FIGURE, HERE / "three_link.png")


ALL = {make.__name__: make for make in (plan, run_page, monitor, closed_loops, three_link)}

if __name__ == "__main__":
    for name in sys.argv[1:] or list(ALL):
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            ALL[name]()
        print(f"docs/{name}.png", os.path.getsize(HERE / f"{name}.png"))
