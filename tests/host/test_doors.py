"""Inputs of a host: each becomes a target or is counted and reported as faulty, and the arm goes on moving."""

import importlib
import io
import json
import math
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from http import HTTPStatus
from unittest.mock import MagicMock

import numpy as np
import pytest

from femtorque import BadInput, Board, Mechanism, Refused
from femtorque.hil.play import session_tape
from femtorque.host.link import Errors
from femtorque.host.live import Hand, TipJog
from femtorque.host.live.external_targets import Pipe, Port, relay, udp
from femtorque.host.live.page_control import by_hand
from femtorque.host.live.teleop import Leading, lead
from femtorque.host.ros import Arm, RclpyNode, interfaces, keys, node as ros
from femtorque.host.ros.interfaces import message
from tests.host.ros.test_rclpy_node import graph  # noqa: F401
from tests.integrations.lerobot.conftest import plugin  # noqa: F401
from tests.support.fake_board import a_session
from tests.support.rig import ROOT
from tests.support.suite import HANG

ARM = ROOT / "mechanisms" / "three_link.toml"
MOTION = ROOT / "mechanisms" / "three_link.csv"
NAMES = ("shoulder", "elbow", "wrist")
NUMBERS = (0.1, -0.2, 0, 1e9, 1e39, -1e300, math.nan, math.inf, -math.inf, 2**63, 10**400, -0.0)
ODD = (None, True, "x", "", "0.1", [], {}, [[0.1]], "\ud800", "9" * 5000, {"elbow": 1})
MANY = 300


def odd(rng: np.random.Generator) -> object:
    """Return a random value, which is rarely a valid number."""
    kinds = NUMBERS if rng.random() < 0.7 else ODD
    return kinds[rng.integers(len(kinds))]


def row(rng: np.random.Generator) -> object:
    """Return random values of the joints, as a list or by name. Most values are good."""
    if rng.random() < 0.1:
        return odd(rng)
    values = [odd(rng) if rng.random() < 0.08 else 0.1 * float(rng.normal()) for _ in range(3 - (rng.random() < 0.1))]
    return dict(zip(NAMES, values, strict=False)) if rng.random() < 0.2 else values


def spoilt(rng: np.random.Generator, text: str) -> str:
    """Return the text, sometimes with a fault: a flipped, doubled or missing character, or deep nesting."""
    if rng.random() < 0.7 or not text:
        return text
    k = int(rng.integers(len(text)))
    return [text[:k], text[:k] + chr(rng.integers(1, 200)) + text[k + 1:], text[:k] + text, text[:k] + "[" * 100_000,
            # in the last variant a control character could control a terminal
            text.replace("0.", "\x1b")][rng.integers(5)]


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Yield lines and datagrams with targets, chunks and plain numbers. The first line is no UTF-8."""
    yield "\ud800"
    for _ in range(MANY):
        kind = rng.integers(4)
        table = {"q": row(rng)} | {key: make(rng) for key, make in (("v", row), ("t", odd)) if rng.random() < 0.2}
        if kind == 0:
            table = {"times": [odd(rng) if rng.random() < 0.2 else 0.1 * k for k in range(3)],
                     "Q": [row(rng) for _ in range(3)]} | ({"V": [row(rng)] * 3} if rng.random() < 0.3 else {})
        elif kind == 1:
            table[str(odd(rng))] = 1
        if rng.random() < 0.1:
            table.popitem()
        bare = " ".join(str(x) for x in np.array(row(rng), object).ravel())
        yield spoilt(rng, bare if kind == 2 else json.dumps(table)).replace("\n", " ")


@pytest.fixture
def following(fake):
    with Board.connect("any", Mechanism.load(ARM)) as board:
        board.home([0.0, 0.0, 0.0])
        with board.follow() as f:
            yield f


def by_stdin(f, rng) -> tuple[int, int]:
    given = "\n".join(lines(rng)).encode("utf-8", "surrogatepass")
    done = relay(f, Pipe(io.TextIOWrapper(io.BytesIO(given), "utf-8")), lambda: False)
    return done.targets, done.bad


def by_datagrams(f, rng) -> tuple[int, int]:
    opened, waiting, end = udp(0), [*lines(rng)], time.monotonic() + HANG
    with Port(opened) as port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        def over() -> bool:
            if not waiting:
                return True
            sender.sendto((waiting.pop(0) or "x").encode("utf-8", "surrogatepass")[:60_000], opened.getsockname())
            while not port._waiting and time.monotonic() < end:
                time.sleep(1e-4)
            return False

        done = relay(f, port, over)
    return done.targets, done.bad


def by_page(f, rng) -> tuple[int, int]:
    hand = Hand(Mechanism.load(ARM), ("hand", [0.2, 0.0, 0.0]), key=False, clock=f.session.clock.now)
    answers = []

    def over() -> bool:
        what = {"joints": dict(zip(NAMES, np.array(row(rng), object).ravel(), strict=False))} \
            if rng.random() < 0.5 else {"tip": row(rng)}
        table = {"page": odd(rng) if rng.random() < 0.1 else "one", "t": f.session.clock.now()} | what
        if rng.random() < 0.2:
            table[str(rng.choice(["t", "held", "joints", "x"]))] = odd(rng)
        answers.append(hand.ask(hand.token, spoilt(rng, json.dumps(table))))
        return len(answers) >= MANY

    by_hand(f, hand, TipJog(Mechanism.load(ARM), np.zeros(3), "hand", [0.2, 0.0, 0.0]), 0.05, over)
    assert all("\n" not in line for _, line in answers)
    good = [status for status, _ in answers].count(HTTPStatus.NO_CONTENT)
    return good, len(answers) - good


def by_leader(f, rng) -> tuple[int, int]:
    """Read a leader over a bad wire. Its STATUS contains any positions."""
    arm = Mechanism.load(ARM)
    leader, board = a_session(f.session.clock, seed=7)
    board.to_host.drop, board.to_host.flip, end = 0.1, 0.4, leader.clock.now() + 6.0

    def over() -> bool:
        board.target = rng.integers(-2**62, 2**62, 3) >> rng.integers(63)
        f.session.pump()
        return leader.clock.now() > end

    return lead(leader, f, Leading.of(arm, arm, {}, {}, {}), 0, over, Errors(3)), leader.link.bad


LIVE: dict[str, Callable] = {"stdin": by_stdin, "datagrams": by_datagrams, "page": by_page, "leader": by_leader}


@pytest.mark.parametrize("door", LIVE)
def test_an_arm_that_follows_goes_on_whatever_comes_in(fake, following, door) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good, bad = LIVE[door](following, np.random.default_rng(7))
        following.send([0.1, 0.2, 0.3])
    assert fake.state == "FOLLOW" and good > MANY // 20 and bad > MANY // 10 and good + bad >= MANY
    for _, target in fake.targets:
        assert max(map(abs, target.position)) <= 2**47 and np.all(np.isfinite(target.rate))


class Ether(MagicMock):
    """A stand-in for a zenoh session: topics and services take bytes."""

    def __init__(self, *known: object, **keys: object) -> None:
        super().__init__(*known, **keys)
        self.doors: dict[str, Callable[[object], None]] = {}

    def declare_subscriber(self, key: str, heard: Callable[[object], None]) -> None:
        self.doors[key] = heard

    def declare_queryable(self, key: str, asked: Callable[[object], None], complete: bool) -> None:
        self.doors[key] = asked


def sent(data: bytes) -> MagicMock:
    found = MagicMock()
    found.payload.to_bytes.return_value = data
    # zenoh itself may fail
    found.attachment.to_bytes.side_effect = [keys.attachment(1, 0, bytes(16))] if data[16:] else RuntimeError("zenoh")
    return found


def trajectory(rng) -> object:
    """Return a random JointTrajectory, which is rarely valid."""
    def numbers(wide: bool) -> np.ndarray:
        row = 0.1 * rng.normal(size=3 if rng.random() < 0.95 else 2)
        if wide and rng.random() < 0.3:
            row[0] = rng.choice([1e9, 1e39, -1e300, math.nan, math.inf])
        return row

    points, steps = [], rng.integers(-1, 20_000_000, size=3)
    for k, at in enumerate(np.cumsum(np.abs(steps)) if rng.random() < 0.9 else steps):
        due = message("builtin_interfaces/msg/Duration", sec=int(at) // 10**9, nanosec=int(at) % 10**9)
        last = np.zeros(3) if k == 2 else None
        points.append(message("trajectory_msgs/msg/JointTrajectoryPoint", positions=numbers(rng.random() < 0.2),
                              velocities=numbers(True) if last is None else last,
                              accelerations=numbers(True) if last is None else last, time_from_start=due))
    return message("trajectory_msgs/msg/JointTrajectory", joint_names=list(rng.permutation(NAMES)),
                   points=points[int(rng.integers(3)):])


def spoilt_bytes(rng, data: bytes) -> bytes:
    """Return CDR bytes, sometimes with a fault: a changed byte, or missing bytes at the end."""
    if rng.random() < 0.7:
        return data
    k = int(rng.integers(len(data)))
    return data[:k] if rng.random() < 0.5 else data[:k] + bytes([int(rng.integers(256))]) + data[k + 1:]


def told(rng) -> dict[str, tuple[str, object]]:
    """Return the name of a topic or service, with a message type and a message."""
    goal = message(interfaces.GOAL, trajectory=trajectory(rng))
    uuid = message("unique_identifier_msgs/msg/UUID", uuid=rng.integers(0, 256, 16).astype(np.uint8))
    action = "arm_controller/follow_joint_trajectory/_action/"
    kinds = {"send_goal": message(f"{interfaces.SEND_GOAL}_Request", goal_id=uuid, goal=goal),
             "get_result": message(f"{interfaces.GET_RESULT}_Request", goal_id=uuid),
             "cancel_goal": message(f"{interfaces.CANCEL}_Request")}
    names = {"send_goal": interfaces.SEND_GOAL, "get_result": interfaces.GET_RESULT, "cancel_goal": interfaces.CANCEL}
    return {action + name: (f"{names[name]}_Request", what) for name, what in kinds.items()} | {
        "arm_controller/joint_trajectory": ("trajectory_msgs/msg/JointTrajectory", trajectory(rng))}


@pytest.fixture
def over_zenoh(monkeypatch):
    """Return a node and a function that sends it bytes by name (without slash) and type."""
    ether = Ether()
    monkeypatch.setattr(ros.zenoh, "open", lambda _: ether)
    monkeypatch.setattr(ros, "declare_advanced_publisher", MagicMock())

    def send(name: str, kind: str, data: bytes) -> None:
        ether.doors[next(key for key in ether.doors if key.split("/", 1)[1].startswith(name + "/"))](sent(data))

    return ros.Node("femtorque"), send


@pytest.fixture
def over_rclpy(graph):  # noqa: F811
    """rclpy decodes bytes: the node gets an object, in which fields may be missing."""
    def send(name: str, kind: str, data: bytes) -> None:
        try:
            made = interfaces.unpacked(kind, data)
        except ValueError:
            made = object()
        if name in {topic[1:] for topic in graph.taken}:
            graph.waiting.append(lambda: graph.taken[f"/{name}"](made))
        else:
            _, asked, group = graph.services[f"/{name}"]
            graph.waiting.append(lambda: graph.running.append((asked(made, None), [], group)))

    return RclpyNode("femtorque"), send


@pytest.mark.parametrize("door", ["over_zenoh", "over_rclpy"])
def test_a_node_goes_on_whatever_is_published_or_asked(fake, request, door) -> None:
    rng, said = np.random.default_rng(17), []
    made, send = request.getfixturevalue(door)
    with Board.connect("any", Mechanism.load(ARM)) as board, made as node:
        board.home([0.0, 0.0, 0.0])
        board.arm()
        arm = Arm(board, node, "arm_controller", said.append)
        for _ in range(MANY):
            for name, (kind, what) in told(rng).items():
                if rng.random() < 0.5:
                    send(name, kind, spoilt_bytes(rng, interfaces.packed(kind, what)))
            arm.step()
            board.session.clock.sleep(0.005)
        assert fake.state in ("HOLD", "FOLLOW") and node.refused > MANY // 10 and len(said) > MANY // 20
        assert len(fake.targets) > MANY // 20


def calls(board: Board, rng) -> Callable[[], object]:
    """Return a random call of the Python API, for a board at rest or a board in FOLLOW."""
    joint, (a, b) = NAMES[rng.integers(3)], (NUMBERS[k] for k in rng.integers(len(NUMBERS), size=2))
    return [lambda: board.home(row(rng)), lambda: board.jog(joint, a, b, lambda: True),
            lambda: board.overlay(joint, a, b), lambda: board.follow(a, b),
            lambda: board.float(a, lambda: True), lambda: board.session.home(row(rng)),
            lambda: board.approach(row(rng)), lambda: board.stream(MOTION, speed=a)][rng.integers(8)]


def test_a_script_is_told_in_one_line_what_a_board_cannot_be_asked_for(fake) -> None:
    rng, refused = np.random.default_rng(11), 0
    with warnings.catch_warnings(), Board.connect("any", Mechanism.load(ARM)) as board:
        warnings.simplefilter("error")
        for _ in range(MANY):
            try:
                calls(board, rng)()
            except (BadInput, Refused) as error:
                refused += 1
                assert "\n" not in str(error)
        low, high = (np.array([getattr(j.limits, end) for j in board.mechanism.streamed]) for end in ("lower", "upper"))
        assert np.all((board.positions >= low) & (board.positions <= high))
    assert refused > MANY // 2


def action(rng) -> dict:
    names = (*NAMES, "gripper")[:rng.integers(5)]
    return {f"{name}.pos": odd(rng) if rng.random() < 0.3 else 10.0 * rng.normal() for name in names}


def calibration(rng) -> str:
    whole = {"id": 1, "drive_mode": 0, "homing_offset": 3, "range_min": 100, "range_max": 3000}
    table = {name: dict(whole) for name in NAMES}
    entry = table[NAMES[rng.integers(3)]]
    for _ in range(rng.integers(4)):
        entry[str(rng.choice([*entry, "x"]))] = odd(rng)
    return spoilt(rng, json.dumps(table if rng.random() < 0.9 else odd(rng)))


def recording(rng) -> str:
    at = [f"{odd(rng) if rng.random() < 0.1 else 0.1 * k} {'00ff' * int(rng.integers(1, 4))}" for k in range(5)]
    return spoilt(rng, "\n".join([f"{session_tape.HEAD} {'0' * 64} 0", *at,
                                 f"end {odd(rng) if rng.random() < 0.3 else 1.0} {'0' * 64}", ""]))


def test_files_and_actions_are_read_or_refused_in_one_line(plugin, tmp_path) -> None:  # noqa: F811
    border = importlib.import_module("lerobot_robot_femtorque.border").Border.of(Mechanism.load(ARM), "gripper")
    calibrated, file = importlib.import_module("lerobot_robot_femtorque.calibration"), tmp_path / "file"
    doors = {"action": lambda rng: border.taken(action(rng)), "calibration": calibration, "tape": recording}
    readers = {"calibration": lambda: calibrated.read(file, Mechanism.load(ARM)),
               "tape": lambda: session_tape.read_tape(file)}
    for name, make in doors.items():
        rng, found = np.random.default_rng(13), []
        for _ in range(MANY):
            try:
                made = make(rng)
                if name in readers:
                    file.write_text(made, encoding="utf-8", errors="replace")
                    made = readers[name]()
                found.append(made)
            except BadInput as error:
                assert "\n" not in str(error)
        assert MANY // 10 < len(found) < MANY, name
        for one in found if name == "tape" else ():
            assert one.end <= session_tape.LONGEST
