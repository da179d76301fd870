"""The flash image in FOLLOW: its arithmetic equals that of the PC bit for bit, and no target exceeds a limit."""

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.wire import Follow, Target, messages, to_wire
from femtorque.codegen.wire.in_words import names
from femtorque.hil.plant import plant_of
from femtorque.host.board import Board
from tests.firmware import following
from tests.firmware.app import App
from tests.support import rig

FRAME = 20_000  # us


@pytest.mark.parametrize("flood", ["chunks", "single"])
def test_stop_is_obeyed_at_once_while_the_line_is_flooded(flood):
    """A policy sends 50 chunks of 50 targets per second. A simple script sends 4000 single targets per second."""
    mechanism = rig.three_link()
    start = np.array([joint.start for joint in mechanism.streamed])
    with rig.connected(mechanism, armed=True) as (board, session), Board(session, mechanism).follow() as f:
        ahead = 0.02 * np.arange(50)
        for k in range(100):
            if flood == "chunks":
                f.chunk(ahead, start + 0.2 * np.sin(0.02 * k + ahead)[:, None])
            else:
                for _ in range(80):
                    f.send(start + 0.2 * np.sin(0.02 * k))
            f.wait(0.02)
        told, asked = f.status, board.seconds
        assert told.left_out > 0 and told.phase == "FOLLOWING" and abs(f.sent - told.targets - told.refused) < 100
        session.command("STOP")
        assert board.seconds - asked < 0.05, "it is heard"
        session.wait(lambda: session.in_state("HOLD"), 1.0, "does not hold")
        assert board.seconds - asked < 0.4 and "STOPPED" in names(messages.FLAGS, session.status.flags)


def targets(mechanism):
    """Yield (ms, target), one target per frame."""
    start = np.array([joint.start for joint in mechanism.streamed])
    for k in range(0, 2000, FRAME // 1000):
        t = 1e-3 * k
        way = np.array([0.3 * np.sin(2.0 * t), -0.2 * t * np.sin(3.0 * t), 0.1 * np.cos(5.0 * t) - 0.1])
        q = start + way[:len(start)]
        yield k, Target(0, 0, 1000 * k, 0, to_wire(q, mechanism.streamed).tolist(), [0.0] * len(q))


def moved(record):
    """Return the number of the first tick that changes a target."""
    return int(np.flatnonzero(np.any(record["target"] != record["target"][0], axis=1))[0])


def on_the_image(mechanism):
    with rig.connected(mechanism, plant=plant_of(mechanism), armed=True) as (board, session):
        board.recording = True
        session.ask(Follow(0, messages.FOLLOW_AUTO, FRAME), "FOLLOW")
        begun = board.seconds
        for k, target in targets(mechanism):
            board.run(max(begun + 1e-3 * k - board.seconds, 0.0))
            session.link.send(target)
            session.pump()
        return vars(board.record())


def on_this_computer(mechanism, held, phase):
    """phase: ticks before the motion starts. Sine and cosine of one joint are computed exactly in each tick."""
    app = App(mechanism)
    assert app.home(following.TURN * held) == "NONE" and app.command("ARM") == "NONE"
    app.run(50 + phase)
    assert following.follow(app, frame=FRAME) == "NONE"
    parts, tick = [], 0
    for k, target in targets(mechanism):
        if k > tick:
            parts.append(app.run(k - tick))
            tick = k
        app.send(target)
    return np.concatenate(parts)


@pytest.mark.parametrize("name", ["three_link", "five_bar"])
def test_targets_and_torques_are_bit_identical_on_chip_and_host(name):
    mechanism = load_mechanism(rig.ROOT / "mechanisms" / f"{name}.toml")
    chip = on_the_image(mechanism)
    begun, same = moved(chip), []
    for phase in range(len(mechanism.streamed)):
        host = on_this_computer(mechanism, chip["target"][0].astype(float), phase)
        first = moved(host)
        n = min(len(host) - first, len(chip["tick"]) - begun)
        assert n > 1800
        assert np.array_equal(host["target"][first:first + n], chip["target"][begun:begun + n])
        same.append(host["torque_ff"][first:first + n].tobytes() == chip["torque_ff"][begun:begun + n].tobytes())
    assert np.abs(chip["torque_ff"]).max() > 0.1
    assert sum(same) == 1  # with the phase at which the image ran
