"""Each frame that an image sends to drives, bit for bit against the same C on this computer with the same answers, in
single precision, for each family, with the loop in the board and in the drives."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import Home, to_wire
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant import plant_of
from femtorque.hil.play import play_motion
from tests.support.boards import IMAGES
from tests.support.bus_arm import arm
from tests.support.drives import Bussed

WARM = 40  # minimum number of ticks before each command to the board


@dataclass
class Traffic:
    """For each tick: frames of the board, and the drives' answers since the frames."""

    sent: dict[int, list[Frame]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[int, list[Frame]] = field(default_factory=lambda: defaultdict(list))
    moves: int = 0  # the first tick whose target has a velocity
    ends: int = 0  # the last of these ticks


def watched(on: VirtualBoard) -> Traffic:
    """Record all frames. The frames of a tick are sent on the bus after the end of the tick."""
    traffic, drives = Traffic(), on.wiring.buses.drives.values()
    wire, = on.wiring.buses.wires.values()

    def passed(what) -> None:
        frame = Frame(what.frame.id, what.frame.data, extended=what.frame.extended)
        assert what.error is None
        answered = any(drive.node.sends for drive in drives)
        (traffic.answers if answered else traffic.sent)[on.ticks - 1].append(frame)

    wire.log = passed
    return traffic


@cache
def mechanism_of(kind: str) -> tuple[Mechanism, Path]:
    """Return a mechanism of tests.support.bus_arm. fd-drive: CAN FD drives that close their loops."""
    if kind != "fd-drive":
        return arm(kind)
    m, _ = arm("fd")
    joints = tuple(replace(j, drive=replace(j.drive, pd="drive")) for j in m.joints)
    m = replace(m, name="damiao_fd_drive", joints=joints)
    return m, build.build_image(m, IMAGES / m.name).elf


def image(kind: str) -> tuple[Mechanism, Traffic]:
    """An arm's image, and a short motion of the arm."""
    m, elf = mechanism_of(kind)
    with VirtualBoard(elf, m, plant_of(m)) as on:
        on.brakes = True
        traffic = watched(on)
        result = play_motion(on, m, knots(short_motion(m), m), feedforward=True)
        assert result.ended == "done" and result.bit_identical is True
        moving = np.flatnonzero(np.any(result.record.target_rate != 0.0, axis=1))
        traffic.moves, traffic.ends = (int(result.record.tick[i]) for i in (moving[0], moving[-1]))
    return m, traffic


def first(traffic: Traffic) -> int:
    """Return the first tick with a frame that differs from all earlier frames. This frame enables a drive."""
    ticks = sorted(traffic.sent)
    rest = {(f.id, f.data) for t in ticks[:traffic.moves // 3] for f in traffic.sent[t]}
    return next(t for t in ticks if any((f.id, f.data) not in rest for f in traffic.sent[t]))


def replayed(m: Mechanism, traffic: Traffic, start: int) -> tuple[dict[int, list[Frame]], int]:
    """Return the frames that the application sends on this computer, by tick, and the tick in which its target begins
    to move. start: START arrives before this tick."""
    app, motion = Bussed(m), knots(short_motion(m), m)
    for d in app.drives.values():
        d.deaf = True  # the image's drives have given the answers
    arming, sent, moves = first(traffic) - 2, {}, 0
    for tick in range(traffic.ends + 1):
        if tick == arming - WARM:
            app.send(Home(app._next(), to_wire([j.start for j in m.streamed], m.streamed).tolist()))
        elif tick == arming:
            app.post("ARM")
        elif tick == start - WARM // 2:
            app.stream(motion, first=0)
        elif tick == start:
            app.post("START")
        record = app.run(1)
        sent[tick] = app.sent
        moves = moves or (tick if np.any(record["target_rate"]) else 0)
        for answer in traffic.answers[tick]:
            app.bring(answer)
    return sent, moves


def differing(m: Mechanism, traffic: Traffic) -> tuple[int, int]:
    """Return the number of compared frames, and of frames that this computer did not send in the same tick."""
    _, moves = replayed(m, traffic, traffic.moves - 2)
    start = traffic.moves - 2 + traffic.moves - moves  # then both begin in the same tick
    sent, moves = replayed(m, traffic, start)
    assert moves == traffic.moves
    ticks = range(min(traffic.sent) + 1, traffic.ends + 1)
    found = [frame in sent[tick] for tick in ticks for frame in traffic.sent[tick]]
    return len(found), found.count(False)


@pytest.mark.parametrize("kind", ["damiao", "fd", "fd-drive", "robstride", "cubemars", "mini-cheetah"])
def test_that_every_frame_on_the_wire_is_what_this_computer_computes_from_the_same_answers(kind):
    m, traffic = image(kind)
    compared, others = differing(m, traffic)
    assert others == 0
    assert compared == pytest.approx(3 * (traffic.ends - min(traffic.sent)), abs=3)
    assert traffic.ends - traffic.moves > 150


def test_that_an_answer_that_differs_in_its_last_bit_shows_in_the_frames():
    m, traffic = image("damiao")
    tick = traffic.moves + 50
    frame = traffic.answers[tick][0]
    data = bytes([*frame.data[:2], frame.data[2] ^ 1, *frame.data[3:]])  # a bit of its position
    traffic.answers[tick][0] = Frame(frame.id, data)
    assert 0 < differing(m, traffic)[1] < 200
