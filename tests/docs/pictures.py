"""Maker of the pictures of README and docs: python -m tests.docs.pictures [plan run_page monitor ...]. The commands in
the text next to a picture make the picture, in a temporary folder. Chromium shows the pages. FEMTORQUE_PICTURES names a
folder for the pictures, by default docs."""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from itertools import count
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from assurance.bench import following, knowing, test_intervals
from assurance.campaigns import seven_drives
from femtorque.codegen.common import MECHANISMS, colours
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.hil.papers import closed
from femtorque.hil.play import run_closed_loop as play, wrapped
from femtorque.hil.scenarios import demo, perform
from femtorque.host.link import Session
from femtorque.host.record import Truth
from femtorque.host.scene import scene
from femtorque.host.show import serving
from tests.codegen.mechanism.test_urdf import robot
from tests.hil.play import test_identify_whole
from tests.support.browser import Browser, chromium
from tests.support.differing import differing
from tests.support.suite import ROOT

HERE = Path(os.environ.get("FEMTORQUE_PICTURES", "docs")).resolve()
COMMAND = [sys.executable, str(ROOT / "femtorque")]
WIDE = """
[[waypoint]]
joints = { shoulder_pan = -0.7, shoulder_lift = 0.5, elbow_flex = -0.3, wrist_flex = 0.6, wrist_roll = 0.4 }
stop = false

[[waypoint]]
joints = { shoulder_pan = 0.7, shoulder_lift = -0.6, elbow_flex = 0.5, wrist_flex = -0.5, gripper = 0.9 }
"""  # waypoints of the run in the picture
SIZE = (1200, 880)  # size of the live page in the picture, px
FRAMES_HZ = 12  # frames of the moving picture, per second
SEEN = 290  # STATUS messages, 100 a second


def plan() -> None:
    """Draw the tour's plan."""
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
    """Show the page of a run of the tour's arm in the light theme, as a still and as a moving picture.

    The arm's meshes come from https://github.com/TheRobotStudio/SO-ARM100 (Apache-2.0)."""
    Path("wide.toml").write_text(WIDE, encoding="utf-8")
    for line in (f"init so101 --from {robot('so101.urdf')} --board f405rg-6",
                 "plan so101.toml wide.toml -o wide.csv --back --speed 0.7",
                 "hil run so101.toml wide.csv --log run.mcap", "plot run.mcap -o run.html"):
        subprocess.run([*COMMAND, *line.split()], check=True)
    with chromium() as browser:
        browser.look(1500, 860, finer=2.0)
        browser.open(Path("run.html"))
        browser.run("femtorque.seek(0.45 * femtorque.player.last)")
        browser.run("document.getElementById('torque-shares').scrollIntoView()")
        time.sleep(1.5)  # until it is drawn
        large = Image.open(browser.shown(Path("large.png"))).convert("RGB")
        browser.look(1200, 688)
        last = browser.run("return femtorque.player.last")
        moving = [_frame(browser, seconds) for seconds in np.linspace(0.0, last, 3 * FRAMES_HZ)]
    large.resize((1500, 860), Image.Resampling.LANCZOS).save(HERE / "run_page.png", optimize=True)
    moving[0].save(HERE / "moving.webp", save_all=True, append_images=moving[1:], duration=1000 // FRAMES_HZ, loop=0,
                   quality=60, method=6)


def _frame(browser: Browser, seconds: float) -> Image.Image:
    """Return the run page's picture at a time of the motion."""
    browser.run(f"femtorque.seek({seconds})")
    time.sleep(0.3)  # until it is drawn
    return Image.open(browser.shown(Path("frame.png"))).convert("RGB")


def monitor() -> None:
    """Show the live page near the end of a motion. The virtual board's time has no gaps on a busy machine."""
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    told = count()
    with chromium() as browser:
        def look(_: object) -> None:
            if next(told) == SEEN:
                browser.run("const s = byId('span'); s.value = 5; s.dispatchEvent(new Event('change'))")
                time.sleep(1.5)  # until it is drawn
                large = Image.open(browser.shown(Path("large.png"))).convert("RGB")
                large.resize(SIZE, Image.Resampling.LANCZOS).save(HERE / "monitor.png", optimize=True)

        @contextmanager
        def watch(session: Session, truth: Truth) -> Iterator[None]:
            with serving(session, 0, arm=scene(mechanism), truth=truth) as url:
                browser.look(*SIZE, finer=2.0)
                browser.go(url)
                session.listeners.append(look)
                yield

        play(mechanism, Trajectory.load(MECHANISMS / "three_link.csv", mechanism), watch=watch)


def closed_loops() -> None:
    """Draw the four-bar linkage of the papers' page."""
    url = closed._picture(closed.play(closed.EXAMPLES[:1], brief=False)[0]).url
    (HERE / "closed_loops.png").write_bytes(base64.b64decode(url.split(",")[1]))


def three_link() -> None:
    """Draw the figure of `make demo`."""
    with tempfile.TemporaryDirectory() as folder:
        assert demo.demonstrate(Path(folder), sweep=True).good
        shutil.copy(Path(folder) / demo.FIGURE, HERE / "three_link.png")


def push() -> None:
    """Draw the errors of all joints in the scenario with a box in the arm's way."""
    shown = perform("push")
    assert shown.good
    figure = Figure((9.0, 6.0), layout="constrained")
    for axes, joint, k in zip(figure.subplots(3, 1, sharex=True), shown.scenario.mechanism.streamed, count()):
        for name, result in shown.results.items():
            error = 1e3 * wrapped(result.target_positions - result.record.q, result.mechanism)[:, k]
            t = (np.arange(len(error)) - result.moving.start) / result.mechanism.control.rate_hz
            axes.plot(t, error, label=name,
                      color=colours.FEED_FORWARD if result.feedforward else colours.FEEDBACK,
                      linestyle=":" if name.startswith("nothing") else "-")
        axes.set_ylabel(f"{joint.name}, error, mrad")
        axes.set_xlim(0.0, shown.scenario.trajectory(False).duration)
        axes.grid(alpha=0.3)
    axes.set_xlabel("time, s")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    figure.savefig(HERE / "push.png", dpi=110)


def follow() -> None:
    """Draw four ways to follow live targets."""
    following.draw(HERE / "follow.png")


def drives() -> None:
    """Draw the arm of seven drives of `make bench`."""
    seven_drives.draw(seven_drives.compare(), HERE / "drives.png")


def known() -> None:
    """Draw the identification of the six-joint arm, starting from a wrong file."""
    arm = test_identify_whole.six()
    truth = differing(arm)
    knowing.draw(knowing.identified(arm, truth), truth, HERE / "known.png")


def coverage() -> None:
    """Draw the errors of drawn arms against their intervals."""
    test_intervals.draw(HERE / "coverage.png")


ALL = {make.__name__: make for make in (plan, run_page, monitor, closed_loops, three_link, push, follow, drives, known,
                                         coverage)}

if __name__ == "__main__":
    for name in sys.argv[1:] or list(ALL):
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            ALL[name]()
        print(HERE / f"{name}.png", os.path.getsize(HERE / f"{name}.png"))
