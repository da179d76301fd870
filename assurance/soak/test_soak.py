"""Soak tests: days of motion, and a minute of each type in `make assure`.

A motion along a path must lose no knot and must not drift. An arm with contact detection must detect no false contact,
with plants that have 5 % less and 5 % more mass than the file.

The application's C runs on this computer, with variables as the chip's registers, in single precision without fused
operations. The chip gives the same torques bit for bit (tests/hil). The image with its link, timers, converters,
interrupts and a disturbed bus runs for minutes on the virtual board instead."""

import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.common.cache import cache_directory
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import from_rows, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import to_wire
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.plant_library import library
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import play_motion
from femtorque.host.plan.planning import straight
from tests.firmware.app import App, sources, three_link
from tests.support.boards import IMAGES
from tests.support.feeling import six_axis

LONGEST = float(os.environ.get("FEMTORQUE_SOAK_S", "inf"))  # duration of one run, s
HOUR = 3_600_000  # ticks
PERIOD_S = 4.0
SHARE = 1e-4  # fraction of disturbed frames on a bus
ROUND_S = 180.0  # duration of about 70 random motions, which each piece repeats, s
AWAY = 0.7  # largest distance from the start pose, rad
SETTLED = 1000  # number of ticks greater than the time from arming until contacts are detected


def files(kind: str) -> list[Path]:
    """Return the C files of a soak program."""
    names = dict.fromkeys(("soak.h", "../fuzz/host_frame.h", "soak.c", f"{kind}soak.c"))
    return [Path(__file__).parent / name for name in names]


def declared(joints: int) -> str:
    """Return the declarations of soak.h."""
    text = files("")[0].read_text(encoding="utf-8")
    return re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("FT_JOINTS", str(joints))


def rows_of(position: Any, rate: Any, acceleration: Any) -> np.ndarray:
    """Return structs of ft_msg_knot."""
    joints = np.shape(position)[1]
    rows = np.zeros(len(position), np.dtype([("flags", "u1"), ("position", "<i8", joints), ("rate", "<f4", joints),
                                             ("acceleration", "<f4", joints)], align=True))
    rows["position"], rows["rate"], rows["acceleration"] = position, rate, acceleration
    return rows


def path(mechanism: Mechanism) -> np.ndarray:
    """Return one period of a motion of three joints that returns to its start, from rest to rest."""
    joints, hz = mechanism.moving, mechanism.control.knot_hz
    t = np.arange(round(PERIOD_S * hz)) / hz
    w = 2.0 * np.pi / PERIOD_S
    start = np.array([j.start for j in joints])
    wide, harmonic = np.array([0.6, -0.5, 0.4]), np.array([1, 2, 3])
    x = w * t[:, None]
    # the second terms make the return differ from the outward motion; they are also at rest at the start
    q = start + wide * (1.0 - np.cos(harmonic * x) + 0.3 * (np.sin(x) - 0.5 * np.sin(2.0 * x)))
    rate = wide * w * (harmonic * np.sin(harmonic * x) + 0.3 * (np.cos(x) - np.cos(2.0 * x)))
    acceleration = wide * w**2 * (harmonic**2 * np.cos(harmonic * x) - 0.3 * (np.sin(x) - 2.0 * np.sin(2.0 * x)))
    return rows_of(to_wire(q, joints), rate, acceleration)


def wander(mechanism: Mechanism, seconds: float, seed: int) -> np.ndarray:
    """Return random motions for at least some seconds, and a return to the start."""
    rng, start = np.random.default_rng(seed), np.array([j.start for j in mechanism.streamed])
    here, parts, count = start, [], 0
    while count < seconds * mechanism.control.knot_hz:
        goal = start + rng.uniform(-AWAY, AWAY, 6)
        parts.append(knots(straight(mechanism, here, goal, rng.uniform(0.1, 0.5)), mechanism))
        here, count = goal, count + len(parts[-1])
    parts.append(knots(straight(mechanism, here, start, 0.3), mechanism))
    return rows_of(*(np.concatenate([getattr(part, name) for part in parts])
                     for name in ("position", "rate", "acceleration")))


class Soak(App):
    """An App that plays a path without end."""

    kind = ""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism, own=files(self.kind), cdef=declared(len(mechanism.moving)))

    def begin(self, path: np.ndarray) -> None:
        self.path = path
        self.lib.soak_begin(self.ffi.from_buffer(path), len(path))
        assert self.lib.soak_fill() > 100
        self.post("START")

    def soak(self, ticks: int) -> None:
        done = self.lib.soak_run(ticks)
        self.lib.ft_app_idle()  # gives the last STATUS, at the same tick
        self.take()
        status = self.status
        assert done == ticks, f"left the path after {done} ticks: {status}"
        assert (status.bad_frames, status.wrong_tag, status.out_of_order, status.fault) == (0, 0, 0, 0)
        # a target follows its knot after some ticks
        assert abs(self.lib.soak_played() - self.lib.soak_knots()) <= 2


class PathSoak(Soak):
    """The three-link arm. first_tick: the tick counter at the beginning."""

    def __init__(self, first_tick: int = 0) -> None:
        super().__init__(three_link())
        self.lib.fake_tick_number(first_tick)
        self.ready()
        self.begin(path(self.mechanism))

    def soak(self, ticks: int) -> None:
        super().soak(ticks)
        assert self.lib.soak_knots() == pytest.approx(ticks / 4, abs=4)


class ContactSoak(Soak):
    """The six-joint arm with the rigid plant, motors and encoders, in random motions. mass: factor of the plant's mass.
    The external torques reached 0.54 to 0.71 of the joints' thresholds in 200 s on the virtual board, and 0.63 to 0.75
    in 600 s here."""

    kind = "contact_"

    def __init__(self, mass: float, seconds: float, seed: int = 1) -> None:
        mechanism = six_axis()
        super().__init__(mechanism)
        self.ready()
        self.plant = Plant(mechanism, mass_scale=mass)
        handle, board = self.plant.handle, mechanism.board
        assert board is not None
        origin, per_unit = self.plant.encoders.line
        types = {"arm": "void *", "take": "int64_t (*)(void *, double, int64_t)", "q": "double *", "volts": "double *"}
        at = {name: self.ffi.cast(kind, int(library()[0].cast("uintptr_t", getattr(handle, name))))
              for name, kind in types.items()}
        levels = 168e6 / (2.0 * board.pwm_hz)  # RM0090: centre-aligned timer at 168 MHz
        self.given = self.ffi.new("contact_soak_plant *", {
            **at, "origin": origin.tolist(), "per_unit": per_unit.tolist(), "levels": levels})
        self.lib.contact_soak_begin(self.given)
        self.lib.contact_soak_hold(SETTLED)
        self.begin(wander(mechanism, seconds, seed))

    def felt(self) -> tuple[list[float], int]:
        """Return each joint's largest ratio of external torque to contact threshold, and the number of contacts."""
        worst, touches = self.ffi.new("double[6]"), self.ffi.new("uint32_t *")
        self.lib.contact_soak_see(worst, touches)
        return list(worst), int(touches[0])


def test_that_a_minute_of_motion_stays_on_its_path_while_the_tick_counter_wraps():
    app = PathSoak(2**32 - 30_000)
    app.soak(60_000)
    assert app.lib.soak_tick() < 40_000


def test_that_a_knot_that_differs_in_its_last_bit_is_seen():
    app = PathSoak()
    assert app.lib.soak_run(1200) == 1200
    app.path["position"][500, 1] += 1  # after the knot was sent, before it is played
    assert app.lib.soak_run(2000) == pytest.approx(800, abs=10)


def test_that_a_minute_of_motion_has_a_touch_by_a_hand_alone():
    app = ContactSoak(1.05, 60.0)
    app.soak(60_000)
    worst, touches = app.felt()
    assert touches == 0 and 0.3 < max(worst) < 1.0
    app.plant.handle.torque[4] = 3.0  # external torque on this joint from now on, N m
    app.soak(20)
    assert app.felt()[1] == 1


def an_hour(piece: int) -> int:
    app = PathSoak(2**32 - HOUR // 2 if piece % 2 else piece * HOUR)
    app.soak(HOUR)
    return int(app.lib.soak_knots())


def half_an_hour_of_feeling(piece: int) -> list[float]:
    """Play motions with the light plant and the heavy plant in turn."""
    app = ContactSoak((0.95, 1.05)[piece % 2], ROUND_S, 100 + piece)
    app.soak(HOUR // 2)
    worst, touches = app.felt()
    assert touches == 0, (piece, worst)
    return [round(x, 3) for x in worst]


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "mechanism", "piece", "count"), [
    ("", three_link, an_hour, 24), ("contact_", six_axis, half_an_hour_of_feeling, 48)], ids=["path", "contact"])
def test_that_a_day_of_motion_loses_and_feels_nothing(kind, mechanism, piece, count):
    """Pieces of a day are stored and reused for equal sources. FEMTORQUE_SOAK_S limits the time of one run."""
    texts = sources(mechanism()) | {path.name: path.read_text() for path in files(kind)}
    identity = hashlib.sha256("".join(texts[n] for n in sorted(texts)).encode()).hexdigest()[:16]
    ledger = cache_directory() / f"{kind}soak-{identity}.json"
    done = json.loads(ledger.read_text()) if ledger.exists() else {}
    until = time.monotonic() + LONGEST
    for number in (n for n in range(count) if str(n) not in done):
        if time.monotonic() > until:
            break
        began = time.process_time()
        done[str(number)] = piece(number)
        ledger.write_text(json.dumps(done))
        rate = 24.0 / count * 3600.0 / (time.process_time() - began)
        print(f"\n{kind}soak: {len(done)} of {count} pieces, {rate:.0f} times real time: {done[str(number)]}")


@pytest.mark.soak
def test_that_minutes_of_the_image_on_a_disturbed_wire_end_without_a_fault():
    """The arm moves forth and back, and the controller repeats disturbed frames. FEMTORQUE_IMAGE_S: of motion."""
    m = load_mechanism(MECHANISMS / "damiao_arm.toml")
    seconds = float(os.environ.get("FEMTORQUE_IMAGE_S", "120"))
    start = np.array([j.start for j in m.streamed])
    rounds = max(1, round(seconds / 4.0))
    poses = [start if k % 2 == 0 else start + [0.9, -0.7, 0.6] for k in range(2 * rounds + 1)]
    motion = from_rows([j.name for j in m.streamed], np.arange(len(poses)) * 2.0, poses, np.zeros((len(poses), 3)),
                       np.zeros((len(poses), 3)))
    with VirtualBoard(build.build_image(m, IMAGES / m.name).elf, m, plant_of(m)) as board:
        board.brakes = True
        wire = board.wiring.buses.wires["can1"]
        wire.error_rate, passed = SHARE, []
        wire.log = lambda p: passed.append(p.error is None)
        result = play_motion(board, m, knots(motion, m), feedforward=True)
        print(f"\n{motion.duration:g} s of motion: {len(passed) - sum(passed)} of {len(passed)} frames disturbed")
    assert (result.ended, result.state, result.faults, result.bit_identical) == ("done", "DISARMED", (), True)
    assert 0.3 < (len(passed) - sum(passed)) / (SHARE * len(passed)) < 3.0
    assert np.all(result.tracking_max < 2e-3)
