"""A day of motion without a lost knot, drift or counter error; a minute of it in every run.

The application's own C runs on this computer, over a chip made of variables: the same sources, in single
precision without contracted operations, whose torques the chip reproduces bit for bit (tests/hil). A real chip's link,
timers and interrupts are not in it; those run for minutes, not days, on the virtual board.
"""

from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.wire.units import to_wire
from tests.firmware.app import App, three_link
from tests.firmware.pieces import in_pieces

HOURS, PIECE_HOURS = 24, 1
PERIOD_S = 4.0
OWN_FILES = [Path(__file__).with_name(name) for name in ("soak.c", "soak.h")]
CDEF = """
void soak_begin(const void *path, uint32_t count);
uint64_t soak_fill(void);
uint64_t soak_run(uint64_t ticks);
uint64_t soak_knots(void);
uint32_t soak_played(void);
uint32_t soak_tick(void);
"""


def path(mechanism=None):
    """One period of a motion of all joints that returns to where it began, at rest there: structs of ft_msg_knot."""
    mechanism = mechanism or three_link()
    joints, hz = mechanism.moving, mechanism.control.knot_hz
    t = np.arange(round(PERIOD_S * hz)) / hz
    w = 2.0 * np.pi / PERIOD_S
    start = np.array([j.start for j in joints])
    wide, harmonic = np.array([0.6, -0.5, 0.4]), np.array([1, 2, 3])
    x = w * t[:, None]
    # the second terms, at rest where it begins too, make the way there another one than the way back
    q = start + wide * (1.0 - np.cos(harmonic * x) + 0.3 * (np.sin(x) - 0.5 * np.sin(2.0 * x)))
    rate = wide * w * (harmonic * np.sin(harmonic * x) + 0.3 * (np.cos(x) - np.cos(2.0 * x)))
    acceleration = wide * w**2 * (harmonic**2 * np.cos(harmonic * x) - 0.3 * (np.sin(x) - 2.0 * np.sin(2.0 * x)))
    knots = np.zeros(len(t), np.dtype([("flags", "u1"), ("position", "<i8", 3), ("rate", "<f4", 3),
                                       ("acceleration", "<f4", 3)], align=True))
    knots["position"], knots["rate"], knots["acceleration"] = to_wire(q, joints), rate, acceleration
    return knots


class Soak(App):
    """An App that plays the path for ever. first_tick: what the tick counter says when it begins."""

    def __init__(self, first_tick: int = 0) -> None:
        super().__init__(own=OWN_FILES, cdef=CDEF)
        self.lib.fake_tick_number(first_tick)
        self.ready()
        self.path = path()
        self.lib.soak_begin(self.ffi.from_buffer(self.path), len(self.path))
        assert self.lib.soak_fill() > 200
        self.post("START")

    def soak(self, ticks: int) -> None:
        done = self.lib.soak_run(ticks)
        status = self.see_still()
        assert done == ticks, f"left the path after {done} ticks: {status}"
        knots = self.lib.soak_knots()
        assert knots == pytest.approx(ticks / 4, abs=4)
        # the ring's own count: a target is due some ticks after its knot
        assert abs(self.lib.soak_played() - knots) <= 2

    def see_still(self):
        """The last STATUS, without letting time pass."""
        self.lib.ft_app_idle()
        self.take()
        return self.status


def test_that_a_minute_of_motion_stays_on_its_path_while_the_tick_counter_wraps():
    app = Soak(2**32 - 30_000)
    app.soak(60_000)
    assert app.lib.soak_tick() < 40_000
    status = app.see()
    assert (status.bad_frames, status.wrong_tag, status.out_of_order, status.fault) == (0, 0, 0, 0)


def test_that_a_knot_that_differs_in_its_last_bit_is_seen():
    app = Soak()
    assert app.lib.soak_run(1200) == 1200
    app.path["position"][500, 1] += 1  # after it was sent, before it is played
    assert app.lib.soak_run(2000) == pytest.approx(800, abs=10)


@pytest.mark.soak
def test_that_a_day_of_motion_loses_nothing():
    ticks = PIECE_HOURS * 3600 * 1000

    def play(piece):
        app = Soak(2**32 - ticks // 2 if piece % 2 else piece * ticks)
        app.soak(ticks)
        status = app.see()
        assert (status.bad_frames, status.wrong_tag, status.out_of_order, status.fault) == (0, 0, 0, 0)
        return int(app.lib.soak_knots())

    in_pieces("soak", three_link(), OWN_FILES, HOURS // PIECE_HOURS, PIECE_HOURS, play)
