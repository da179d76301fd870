"""A comparison of FOLLOW with common methods: error, delay, jerk and torque noise of one joint that follows a hand."""

import re
from itertools import islice

import numpy as np
import pytest

from assurance.bench.following import COLOURS, FOLLOW, LINES_OF, RATES, compared, table
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.wire import Follow, Target, messages, to_wire
from femtorque.hil.play import run_closed_loop
from tests.firmware.following import hostile, wave
from tests.support import rig

MOST = {30: 1.3, 50: 0.7, 100: 0.4, 250: 0.8}  # mrad rms, without lost targets
OWN = 45.0  # rad/s^3 rms: the jerk of the signal itself is 40.8


@pytest.mark.bench
def test_live_targets_are_followed_with_a_tenth_of_the_torque_noise_of_others():
    table()
    for line in ("steady", "jitter to 20 ms"):
        for hz in RATES:
            ways = compared(line, hz)
            ours = ways[FOLLOW]
            assert ours.error < 1e-3 * MOST[hz] and ours.jerk < OWN, (line, hz)
            assert all(10.0 * ours.noise < ways[name].noise for name in COLOURS if name != FOLLOW), (line, hz)
    for line in LINES_OF:
        for hz in RATES:
            ways = compared(line, hz)
            assert ways[FOLLOW].jerk < 400.0 and ways[FOLLOW].noise < ways["linear interpolation"].noise, (line, hz)


def ticks(mechanism, targets, out):
    """Return the number of instructions of each tick in FOLLOW. targets: (target, ms until the next target)."""
    with rig.connected(mechanism, out, armed=True) as (board, session):
        session.ask(Follow(0, messages.FOLLOW_AUTO, 20_000), "FOLLOW")
        board.recording = True
        for target, ms in targets:
            session.link.send(target)
            board.run(1e-3 * ms)
            session.pump()
            if not session.in_state("FOLLOW"):
                session.ask(Follow(0, messages.FOLLOW_AUTO, 20_000), "FOLLOW")
        return board.record().instructions


def by_hand(mechanism):
    """Yield two seconds of a hand's motion at each joint, as 50 targets a second."""
    joints, start = mechanism.streamed, np.array([joint.start for joint in mechanism.streamed])
    for k in range(100):
        q = start + [0.1 * (wave(0.02 * k, seed=j)[0] - wave(0.0, seed=j)[0]) for j in range(len(joints))]
        yield Target(0, 0, 20_000 * k, 0, to_wire(q, joints).tolist(), [0.0] * len(joints)), 20


@pytest.mark.bench
@pytest.mark.parametrize(("name", "track", "follow", "worst"), re.findall(
    r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|$",
    (rig.ROOT / "docs" / "live.md").read_text(encoding="utf-8"), re.MULTILINE))
def test_a_tick_takes_as_many_instructions_as_the_page_says(name, track, follow, worst):
    mechanism = load_mechanism(rig.ROOT / "mechanisms" / f"{name}.toml")
    motion = Trajectory.load(rig.ROOT / "mechanisms" / f"{name}.csv", mechanism)
    result = run_closed_loop(mechanism, motion, out=rig.ROOT / "build" / mechanism.name)
    elf = rig.platformio.build_image(mechanism, rig.ROOT / "build" / mechanism.name).elf
    mean = ticks(mechanism, by_hand(mechanism), elf)[500:].mean()
    most = ticks(mechanism, islice(hostile(np.random.default_rng(4), len(mechanism.streamed)), 1000), elf).max()
    found = result.instructions_tick_mean, mean, most
    print(name, *(round(x) for x in found))
    assert np.allclose(found, [float(track), float(follow), float(worst)], rtol=0.02)
