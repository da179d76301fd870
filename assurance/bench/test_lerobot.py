"""Tests of LeRobot's original scripts with the plugin, as in docs/lerobot.md, headless, on virtual boards in real time.

Gravity loads the arms, so each is held from one script to the next. A simulated hand guides the leader's arm
(assurance.bench.lerobot.led). The policies and the camera are stand-ins (assurance/bench/lerobot/wave)."""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from assurance.bench.lerobot import environment, led
from femtorque import Board
from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.play import session_tape
from femtorque.host.live import BoardStatus
from femtorque.host.record import log as logs
from tests.integrations.lerobot.test_calibration import SO101, entries
from tests.support.suite import HANG, ROOT

pytestmark = pytest.mark.bench

PAGE = (ROOT / "docs" / "lerobot.md").read_text(encoding="utf-8")
LINES = re.findall(r"^    ((?:femtorque|lerobot-).*)$", PAGE, re.MULTILINE)
PLANE, ARM = "mechanisms/three_link.toml", "loaded.toml"  # the page's arm; the same arm in a vertical plane
CAMERA = "--robot.cameras='{front: {type: stripes, width: 64, height: 48, fps: 30}}'"
COUNT = "import av, sys; print(len({f.to_ndarray().tobytes() for f in av.open(sys.argv[1]).decode(video=0)}))"


@pytest.fixture(scope="module", params=[environment.OLD, environment.NEW])
def bin(request):
    made = environment.made(request.param)
    return made or pytest.skip(f"LeRobot {request.param} is for Python 3.12, and there is none")


@pytest.fixture(scope="module")
def folder(bin, tmp_path_factory):
    """Return a folder for the commands, with links to the checkout's mechanisms and build."""
    place = tmp_path_factory.mktemp("lerobot")
    (ROOT / "build").mkdir(exist_ok=True)
    for name in ("mechanisms", "build"):
        (place / name).symlink_to(ROOT / name)
    text = (ROOT / PLANE).read_text(encoding="utf-8").replace("[0.0, 0.0, -9.81]", "[0.0, -9.81, 0.0]")
    (place / ARM).write_text(text.replace('"three-link"', '"three-loaded"'), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def typed(bin, folder):
    """Return a function that runs a command line of docs/lerobot.md in LeRobot's environment: its output."""
    def run(line: str, **more) -> str:
        done = subprocess.run(shlex.split(line), cwd=folder, env=environment.variables(bin, folder / "home"),
                              capture_output=True, text=True, timeout=HANG, **more)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return done.stdout + done.stderr

    return run


@contextmanager
def served(folder, *command: str) -> Iterator[str]:
    """Run a virtual board in another process. Yield its url."""
    process = subprocess.Popen([sys.executable, "-m", *command], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=environment.variables(
                                   Path(sys.executable).parent, folder / "home") | {"PYTHONPATH": str(ROOT)})
    try:
        url = ""
        while not re.search("socket://|unix:", url):
            url = process.stdout.readline()
            assert url, "it ended"
        yield url.strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def here(line: str, follower: str, leader: str) -> str:
    """Return a command line of the page with the boards' ports and the loaded arm."""
    for was, becomes in ((PLANE, ARM), ("socket://localhost:5555", follower), ("socket://localhost:5556", leader)):
        line = line.replace(was, becomes)
    return line


def seconds(line: str, length: int) -> str:
    """Return a command line that records one episode of some seconds."""
    return line.replace("episode_time_s=10", f"episode_time_s={length}").replace("num_episodes=2", "num_episodes=1")


@dataclass
class Ran:
    """Results of the command lines in the page. actions, states (N, J), deg: of the first stored episode. replayed:
    STATUS after the replay. Then another replay was killed."""

    teleoperated: str
    actions: np.ndarray
    states: np.ndarray
    replayed: BoardStatus
    log: Any  # log of the follower's board
    pictures: int  # number of different images of a camera


def homed(folder: Path, arm: str, url: str) -> None:
    words = [sys.executable, "-m", "femtorque", "home", arm, "--port", url]
    subprocess.run(words, cwd=folder, check=True, timeout=HANG)


def looked(url: str, folder: Path, arm: str = ARM) -> BoardStatus:
    with Board.connect(url, folder / arm, look=True) as board:
        return board.status


def replayed_log(folder: Path, name: str) -> Any:
    """Return the log of a tape, in the board's time."""
    session_tape.replay_tape(load_mechanism(folder / ARM), session_tape.read_tape(folder / f"{name}.tape"),
                             log=folder / f"{name}.mcap")
    return logs.read_log(folder / f"{name}.mcap")


@pytest.fixture(scope="module")
def ran(typed, bin, folder) -> Ran:
    with (served(folder, "femtorque", "hil", "serve", ARM, "--port", "0", "--tape", "run.tape") as follower,
          served(folder, "assurance.bench.lerobot.led", ARM) as leader):
        homed(folder, ARM, follower)
        homed(folder, ARM, leader)
        teleoperate, record, replay = (here(one, follower, leader) for one in LINES if one.startswith("lerobot-"))
        told = typed(teleoperate)
        typed(record)
        typed(f"{seconds(record, 3)} {CAMERA}".replace("wave", "seen").replace("video=false", "video=true"))
        typed(replay)
        time.sleep(0.5)
        replayed = looked(follower, folder)
        killed(replay, bin, folder)
        time.sleep(3.0)
    (film,) = (folder / "seen" / "videos").rglob("*.mp4")
    pictures = int(typed(f"python -c '{COUNT}' {film}").split()[-1])
    (file,) = (folder / "wave" / "data").rglob("*.parquet")
    table = parquet.read_table(file).to_pydict()
    first = np.array(table["episode_index"]) == 0
    actions, states = (np.array(table[name])[first] for name in ("action", "observation.state"))
    return Ran(told, actions, states, replayed, replayed_log(folder, "run"), pictures)


def killed(line: str, bin, folder) -> None:
    """Kill a script 3 s after the arm has begun to move."""
    script = subprocess.Popen(shlex.split(line), cwd=folder, env=environment.variables(bin, folder / "home"),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while "Replaying episode" not in (said := script.stderr.readline()):
        assert said, "it ended"
    time.sleep(3.0)
    assert script.poll() is None, "still in motion"
    script.kill()
    script.communicate()


def test_the_classes_keep_their_promises_with_lerobot_itself(bin, folder):
    """The tests of tests/integrations/lerobot pass with the real LeRobot."""
    done = subprocess.run(["python", "-m", "pytest", "tests/integrations/lerobot", "-p", "no:cacheprovider"],
                          cwd=ROOT, env=environment.variables(bin, folder / "home"), capture_output=True, text=True,
                          timeout=HANG)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"(\d+) passed", done.stdout) and "skipped" not in done.stdout


def test_lerobots_own_conversion_of_counts_has_the_degrees_of_the_mechanism_file(typed, folder):
    """LeRobot's FeetechMotorsBus reads the calibration file. The mechanism file has the same values."""
    (folder / "so101.toml").write_text(SO101.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "follower.json").write_text(json.dumps(entries()), encoding="utf-8")
    lines = typed("python -m assurance.bench.lerobot.counts so101.toml follower.json").splitlines()
    rows = [line.split() for line in lines if line.count(" ") == 3]
    assert len(rows) == 18
    for name, count, theirs, ours in rows:
        assert float(ours) == pytest.approx(float(theirs), abs=0.15), (name, count)


def test_a_recording_is_that_of_the_hand_and_the_follower_moves_as_far(ran):
    """The delay is only printed, because on a busy computer boards are slower than real time."""
    assert re.search(r"Teleop loop time: .*\(\d\d Hz\)", ran.teleoperated)
    assert len(ran.actions) == len(ran.states) > 200
    moved = np.ptp(ran.actions, axis=0)
    assert np.all(moved > np.degrees(led.REACH) / np.arange(1, 4)), moved
    a, s = ran.actions[60:], ran.states[60:]  # after the follower has caught up with the hand
    late = [np.sqrt(np.mean((s[k:] - a[:len(a) - k]) ** 2, axis=0)) for k in range(45)]
    best = int(np.argmin([np.sum(row / moved) for row in late]))
    print(f"behind by {best} frames of 1/30 s, then rms {late[best].round(2)} of {moved.round(1)} deg")
    np.testing.assert_allclose(np.ptp(ran.states, axis=0), moved, rtol=0.25)


def followed(log: Any, what: str, most: float, least: float) -> None:
    """In the time of the chip, the simulated arm follows the targets. most: largest rms error, rad. least: rad."""
    moving = np.array(log.state) == "FOLLOW"
    rms = np.sqrt(np.mean((log.target - log.position)[moving] ** 2, axis=0))
    print(f"{what}: rms {(1e3 * rms).round(2)} mrad over {moving.sum()} STATUS")
    assert np.all(rms < most) and np.ptp(log.position[moving], axis=0).min() > least


def test_the_boards_targets_are_followed_closely(ran):
    followed(ran.log, "tracking error", 5e-3, 0.1)


def test_a_recording_is_replayed(ran):
    assert ran.replayed.state in ("HOLD", "HELD")
    np.testing.assert_allclose(np.degrees(ran.replayed.positions), ran.actions[-1], atol=0.3)


def test_scripts_one_after_another_never_let_a_loaded_arm_go(ran):
    """The outputs are on in these states."""
    state = np.array(ran.log.state)
    used = slice(int(np.argmax(state == "HOLD")), None)
    assert set(state[used]) == {"HOLD", "FOLLOW", "HELD"} and state[-1] == "HELD"
    begun = np.flatnonzero((state[:-1] == "HELD") & (state[1:] != "HELD"))
    assert len(begun) == 4  # two recordings and two replays, each after another script
    moved = max(float(np.ptp(ran.log.position[k - 20:k + 3], axis=0).max()) for k in begun)
    off = np.abs(ran.log.target - ran.log.position)[used][state[used] != "FOLLOW"].max()
    print(f"taken over {len(begun)} times: moved {1e3 * moved:.2f} mrad, at rest at most {1e3 * off:.2f} mrad off")
    assert moved < 1e-3 and off < 5e-3  # one count of the encoder is 0.77 mrad; off as in motion


def test_a_cameras_pictures_are_recorded(ran):
    assert ran.pictures > 30


def test_a_pc_as_the_board_records_and_replays(typed, folder):
    """The hand guides the leader on a chip's image. The follower has the PC's program and three Damiao drives."""
    text = (ROOT / "mechanisms" / "damiao_arm.toml").read_text(encoding="utf-8")
    text = re.sub(r"k(u|v) = (\d+\.\d)", lambda m: f"k{m[1]} = {0.4 * float(m[2])}", text)  # gains for 200 Hz
    for was, becomes in (("f405rg-4", "pc"), ("rate_hz = 1000", "rate_hz = 200"), ("knot_hz = 100", "knot_hz = 50")):
        text = text.replace(was, becomes)
    (folder / "pc_arm.toml").write_text(text, encoding="utf-8")
    with (served(folder, "femtorque", "hil", "serve", "pc_arm.toml", "--port", f"unix:{folder}/pc") as follower,
          served(folder, "assurance.bench.lerobot.led", ARM) as leader):
        homed(folder, "pc_arm.toml", follower)
        homed(folder, ARM, leader)
        for line in [one for one in LINES if re.match("lerobot-re(cord|play)", one)]:
            line = here(line, follower, leader).replace(f"robot.mechanism={ARM}", "robot.mechanism=pc_arm.toml")
            typed(seconds(line, 4).replace("wave", "pc_wave"))
        time.sleep(0.5)
        replayed = looked(follower, folder, "pc_arm.toml")
    (file,) = (folder / "pc_wave" / "data").rglob("*.parquet")
    actions = np.array(parquet.read_table(file).to_pydict()["action"])
    assert len(actions) > 60 and np.all(np.ptp(actions, axis=0) > 5.0)
    assert replayed.state in ("HOLD", "HELD")  # held after the script
    np.testing.assert_allclose(np.degrees(replayed.positions), actions[-1], atol=0.3)


@contextmanager
def rolled(folder: Path, name: str) -> Iterator[str]:
    """Serve a homed arm, and yield its port. The arm must be held afterwards."""
    with served(folder, "femtorque", "hil", "serve", ARM, "--port", "0", "--tape", f"{name}.tape") as url:
        homed(folder, ARM, url)
        yield f"--robot.type=femtorque --robot.mechanism={ARM} --robot.port={url} {CAMERA}"
        time.sleep(0.5)
        left = looked(url, folder)
    assert left.state in ("HOLD", "HELD")


@pytest.mark.parametrize("bin", [environment.NEW], indirect=True)
def test_a_policy_that_thinks_in_chunks_is_followed(folder, typed):
    """lerobot-rollout uses real-time chunking. Predictions take 0.2 s, and differ from each other."""
    typed("python -m assurance.bench.lerobot.policy wave")
    with rolled(folder, "roll") as robot:
        typed(f"lerobot-rollout --strategy.type=base --policy.path=wave_policy --inference.type=rtc --task=wave "
              f"--duration=6 --fps=30 --interpolation_multiplier=2 {robot}")
    followed(replayed_log(folder, "roll"), "a policy's chunks", 1e-3, 0.17)


@pytest.mark.parametrize("bin", [environment.NEW], indirect=True)
def test_a_policy_on_a_server_is_followed_until_ctrl_c(folder, typed, bin):
    """The policy is untrained, so the arm moves to some pose and waves about it."""
    typed("python -m assurance.bench.lerobot.policy act")
    with rolled(folder, "async") as robot, ExitStack() as ends, socket.create_server(("127.0.0.1", 0)) as free:
        def begun(line: str, said: str) -> subprocess.Popen:
            words = shlex.split(f"python -m lerobot.async_inference.{line}")
            program = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       env=environment.variables(bin, folder / "home"))
            ends.callback(program.wait)
            ends.callback(program.kill)
            assert any(said in one for one in program.stdout), "it ended"
            return program

        port = free.getsockname()[1]
        free.close()
        server = begun(f"policy_server --host=127.0.0.1 --port={port}", "started")
        threading.Thread(target=server.stdout.read, daemon=True).start()  # the server prints much
        client = begun(f"robot_client {robot} --policy_type=act --pretrained_name_or_path=act_policy "
                       f"--actions_per_chunk=20 --server_address=127.0.0.1:{port}", "Control loop")
        time.sleep(10.0)
        client.send_signal(signal.SIGINT)
        assert "Client stopped" in client.communicate(timeout=HANG)[0]
    followed(replayed_log(folder, "async"), "a server's chunks", 1e-3, 0.17)
