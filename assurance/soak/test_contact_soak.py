"""A day of motions of an arm that feels, against plants of 5 % less and more mass than its file says: no touch is felt
that there is not.

The application's own C runs on this computer, as in test_soak, with the rigid plant, its motors and its encoders in the
place of the chip. The chip's timers and converters are not in it: tests/hil/board/test_contact.py has them. Joints came
to 0.54 to 0.71 of their thresholds in 200 s on the virtual board, and to 0.63 to 0.75 in 600 s here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assurance.soak.test_soak import CDEF
from femtorque.codegen.motion.trajectory import knots
from femtorque.hil.plant.plant_library import library
from femtorque.hil.plant.rigid import Plant
from femtorque.host.plan.plan import straight
from tests.firmware.app import App
from tests.firmware.pieces import in_pieces
from tests.support.feeling import six_axis

PIECES, HOURS = 48, 0.5
ROUND_S = 180.0  # s of motions at random, about 70, which a piece repeats
AWAY = 0.7  # rad from the start pose
SETTLED = 1000  # ticks from arming until touches count, and more
OWN_FILES = [Path(__file__).with_name(name) for name in ("soak.c", "soak.h", "contact_soak.c", "contact_soak.h")]
OWN = CDEF + """
typedef struct {
    void *arm;
    int64_t (*take)(void *arm, double h, int64_t count);
    double *q, *volts;
    double origin[6], per_unit[6];
    double levels;
} contact_soak_plant;
void contact_soak_begin(const contact_soak_plant *plant);
void contact_soak_hold(uint32_t ticks);
void contact_soak_see(double *worst, uint32_t *touches);
"""


def path(mechanism, seconds: float, seed: int):
    """Motions to poses at random, for so long at least, and back to the start: structs of ft_msg_knot."""
    rng, start = np.random.default_rng(seed), np.array([j.start for j in mechanism.streamed])
    here, parts, count = start, [], 0
    while count < seconds * mechanism.control.knot_hz:
        goal = start + rng.uniform(-AWAY, AWAY, 6)
        parts.append(knots(straight(mechanism, here, goal, rng.uniform(0.1, 0.5)), mechanism))
        here, count = goal, count + len(parts[-1])
    parts.append(knots(straight(mechanism, here, start, 0.3), mechanism))
    rows = np.zeros(count + len(parts[-1]), np.dtype([
        ("flags", "u1"), ("position", "<i8", 6), ("rate", "<f4", 6), ("acceleration", "<f4", 6)], align=True))
    for name in ("position", "rate", "acceleration"):
        rows[name] = np.concatenate([getattr(part, name) for part in parts])
    return rows


class FeelSoak(App):
    """The six-joint arm, which plays motions at random. mass: of the plant, times that of the file."""

    def __init__(self, mass: float, seconds: float, seed: int = 1) -> None:
        mechanism = six_axis()
        super().__init__(mechanism, own=OWN_FILES, cdef=OWN)
        self.ready()
        self.plant = Plant(mechanism, mass_scale=mass)
        handle, board = self.plant.handle, mechanism.board
        assert board is not None
        origin, per_unit = self.plant.encoders.line
        at = {name: self.ffi.cast("double *", int(library()[0].cast("uintptr_t", getattr(handle, name))))
              for name in ("q", "volts")}
        take = self.ffi.cast("int64_t (*)(void *, double, int64_t)",
                             int(library()[0].cast("uintptr_t", handle.take)))
        arm = self.ffi.cast("void *", int(library()[0].cast("uintptr_t", handle.arm)))
        levels = 168e6 / (2.0 * board.pwm_hz)  # RM0090: centre-aligned, of a timer at 168 MHz
        self.given = self.ffi.new("contact_soak_plant *", {
            "arm": arm, "take": take, **at, "origin": origin.tolist(), "per_unit": per_unit.tolist(),
            "levels": levels})
        self.path = path(mechanism, seconds, seed)
        self.lib.contact_soak_begin(self.given)
        self.lib.contact_soak_hold(SETTLED)
        self.lib.soak_begin(self.ffi.from_buffer(self.path), len(self.path))
        assert self.lib.soak_fill() > 100
        self.post("START")

    def soak(self, ticks: int) -> None:
        done = self.lib.soak_run(ticks)
        assert done == ticks, f"left the path after {done} ticks: {self.see()}"

    def felt(self) -> tuple[list[float], int]:
        """How near to a touch each joint has come, in thresholds, and how many touches there were."""
        worst, touches = self.ffi.new("double[6]"), self.ffi.new("uint32_t *")
        self.lib.contact_soak_see(worst, touches)
        return list(worst), int(touches[0])

    def push(self, joint: int, torque: float) -> None:
        """Exert a torque, N m, on a joint from now on."""
        self.plant.handle.torque[joint] = torque


def test_that_a_minute_of_motion_has_no_touch_but_that_of_a_hand():
    app = FeelSoak(1.05, 60.0)
    app.soak(60_000)
    worst, touches = app.felt()
    assert touches == 0 and 0.3 < max(worst) < 1.0
    app.push(4, 3.0)
    app.soak(20)
    assert app.felt()[1] == 1


@pytest.mark.soak
def test_that_a_day_of_motion_is_no_touch():
    """In pieces of half an hour, of one plant and the other; those done are kept for this build of the sources."""

    def play(piece: int) -> dict[str, Any]:
        app = FeelSoak((0.95, 1.05)[piece % 2], ROUND_S, 100 + piece)
        app.soak(round(3.6e6 * HOURS))
        worst, touches = app.felt()
        assert touches == 0, (piece, worst)
        return {"worst": [round(x, 3) for x in worst]}

    in_pieces("contact-soak", six_axis(), OWN_FILES, PIECES, HOURS, play)
