"""Inputs of a host: each is a target, or is counted and reported, and the arm goes on."""

import io
import json
import math
import warnings
from collections.abc import Callable, Iterator
from unittest.mock import MagicMock

import numpy as np
import pytest

from femtorque import BadInput, Board, Mechanism, Refused
from femtorque.host.live.external_targets import Pipe, relay
from femtorque.host.ros import Arm, interfaces, keys, node as ros
from femtorque.host.ros.interfaces import message
from tests.support.rig import ROOT

ARM = ROOT / "mechanisms" / "three_link.toml"
MOTION = ROOT / "mechanisms" / "three_link.csv"
NAMES = ("shoulder", "elbow", "wrist")
NUMBERS = (0.1, -0.2, 0, 1e9, 1e39, -1e300, math.nan, math.inf, -math.inf, 2**63, 10**400, -0.0)
ODD = (None, True, "x", "", "0.1", [], {}, [[0.1]], "\ud800", "9" * 5000, {"elbow": 1})
MANY = 300


def odd(rng: np.random.Generator) -> object:
    """Return a number or another value, rarely a good one."""
    kinds = NUMBERS if rng.random() < 0.7 else ODD
    return kinds[rng.integers(len(kinds))]


def row(rng: np.random.Generator) -> object:
    """Return numbers of the joints, by place or by name, mostly good."""
    if rng.random() < 0.1:
        return odd(rng)
    values = [odd(rng) if rng.random() < 0.08 else 0.1 * float(rng.normal()) for _ in range(3 - (rng.random() < 0.1))]
    return dict(zip(NAMES, values, strict=False)) if rng.random() < 0.2 else values


def spoilt(rng: np.random.Generator, text: str) -> str:
    """Return a text, sometimes with flipped, doubled or missing characters, or nested deeply."""
    if rng.random() < 0.7 or not text:
        return text
    k = int(rng.integers(len(text)))
    return [text[:k], text[:k] + chr(rng.integers(1, 200)) + text[k + 1:], text[:k] + text, text[:k] + "[" * 100_000,
            text.replace("0.", "\x1b")][rng.integers(5)]  # the last: an escape sequence


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Yield targets, chunks and bare numbers."""
    for _ in range(MANY):
        kind = rng.integers(4)
        table = {"q": row(rng)} | {key: make(rng) for key, make in (("v", row), ("t", odd)) if rng.random() < 0.2}
        if kind == 0:
            table = {"times": [odd(rng) if rng.random() < 0.2 else 0.1 * k for k in range(3)],
                     "Q": [row(rng) for _ in range(3)]} | ({"V": [row(rng)] * 3} if rng.random() < 0.3 else {})
        elif kind == 1:
            table[str(odd(rng))] = 1
        bare = " ".join(str(x) for x in np.atleast_1d(np.array(row(rng), object)))
        yield spoilt(rng, bare if kind == 2 else json.dumps(table)).replace("\n", " ")


def test_an_arm_that_follows_goes_on_whatever_comes_in(fake) -> None:
    given = "\n".join(lines(np.random.default_rng(7))).encode("utf-8", "surrogatepass") + b"\n\xff\xfe\n"
    with warnings.catch_warnings(), Board.connect("any", Mechanism.load(ARM)) as board:
        warnings.simplefilter("error")
        board.home([0.0, 0.0, 0.0])
        with board.follow() as following:
            done = relay(following, Pipe(io.TextIOWrapper(io.BytesIO(given), "utf-8")), lambda: False)
            following.send([0.1, 0.2, 0.3])
            assert fake.state == "FOLLOW" and done.targets > MANY // 20 and done.bad > MANY // 10
    assert done.targets + done.bad >= MANY
    for _, target in fake.targets:
        assert max(map(abs, target.position)) <= 2**47 and np.all(np.isfinite(target.rate))


def trajectory(rng) -> object:
    """Return a JointTrajectory, rarely a good one."""
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
    """Return CDR, sometimes with a changed byte, or cut off."""
    if rng.random() < 0.7:
        return data
    k = int(rng.integers(len(data)))
    return data[:k] if rng.random() < 0.5 else data[:k] + bytes([int(rng.integers(256))]) + data[k + 1:]


def told(rng) -> dict[str, tuple[str, object]]:
    """Return a message and its kind, by topic or service."""
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
def send(monkeypatch):
    """Return a function that sends bytes to a node on zenoh, by topic or service name without its slash."""
    doors, ether = {}, MagicMock()
    ether.declare_subscriber = lambda key, heard: doors.update({key: heard})
    ether.declare_queryable = lambda key, asked, complete: doors.update({key: asked})
    monkeypatch.setattr(ros.zenoh, "open", lambda _: ether)
    monkeypatch.setattr(ros, "declare_advanced_publisher", MagicMock())

    def send(name: str, data: bytes) -> None:
        sample = MagicMock()
        sample.payload.to_bytes.return_value = data
        sample.attachment.to_bytes.return_value = keys.attachment(1, 0, bytes(16))
        next(door for key, door in doors.items() if key.split("/", 1)[1].startswith(name + "/"))(sample)

    return send


def test_a_node_goes_on_whatever_is_published_or_asked(fake, send) -> None:
    rng, said = np.random.default_rng(17), []
    with Board.connect("any", Mechanism.load(ARM)) as board, ros.Node("femtorque") as node:
        board.home([0.0, 0.0, 0.0])
        board.arm()
        arm = Arm(board, node, "arm_controller", said.append)
        for _ in range(MANY):
            for name, (kind, what) in told(rng).items():
                if rng.random() < 0.5:
                    send(name, spoilt_bytes(rng, interfaces.packed(kind, what)))
            arm.step()
            board.session.clock.sleep(0.005)
        assert fake.state in ("HOLD", "FOLLOW") and node.refused > MANY // 10 and len(said) > MANY // 20
        assert len(fake.targets) > MANY // 20


def calls(board: Board, rng) -> Callable[[], object]:
    """Return one call of the Python API."""
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
