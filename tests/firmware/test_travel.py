"""Comparison of a drive's reported velocities with its positions."""

from collections.abc import Callable

import pytest

from femtorque.codegen.drive import application
from tests.firmware import app

RATE = 1000  # Hz
STEP, RANGE = 25.0 / 65535.0, 44.0  # position step of the drive's field, rad; its velocity range, rad/s
CDEF = """
typedef struct { _Bool begun, wrong; float range; uint32_t ticks, position; float first, velocity, went, away; }
    ft_travel;
void ft_travel_forget(ft_travel *);
void ft_travel_tick(ft_travel *, _Bool, uint32_t, float, float, float);
"""


@pytest.fixture(scope="module")
def c():
    files = {name: application()[name].read_text() for name in ("ft_travel.h", "ft_travel.c", "ft_field.h")}
    return app.load(files | {"ft_model.h": f"#define FT_TICK_HZ {RATE}\n"}, CDEF)


class Travel:
    """The comparison for one drive. at: the drive's position, rad, from the lower end of its field. share: the reported
    velocity divided by the true velocity."""

    def __init__(self, c, share: float = 1.0) -> None:
        self.ffi, self.lib = c
        self.look = self.ffi.new("ft_travel *")
        self.at, self.share, self.ever_wrong = 12.5, share, False

    def go(self, velocity: float, ticks: int, answered: Callable[[int], bool] = lambda k: True) -> None:
        for k in range(ticks):
            self.at += velocity / RATE
            self.tick(self.share * velocity, answered(k))

    def tick(self, velocity: float, answered: bool = True) -> None:
        told = (round(self.at / STEP), velocity) if answered else (0, 0.0)
        self.lib.ft_travel_tick(self.look, answered, *told, STEP, RANGE)
        self.ever_wrong |= self.wrong

    @property
    def wrong(self) -> bool:
        return self.look.wrong


@pytest.mark.parametrize("velocity", [-3.0, -1.0, 1.0, 3.0])
@pytest.mark.parametrize(("share", "wrong"), [(0.88, True), (0.905, False), (1.0, False), (1.095, False), (1.13, True)])
def test_that_a_tenth_more_or_less_is_another_range(c, velocity, share, wrong):
    travel = Travel(c, share)
    travel.go(velocity, 700)
    assert travel.wrong == wrong
    assert travel.look.range == pytest.approx(RANGE / share, rel=0.01)


@pytest.mark.parametrize("answered", [lambda k: k % 2 == 0, lambda k: k % 5 == 0, lambda k: k == 0 or k > 250])
@pytest.mark.parametrize(("share", "wrong"), [(0.8, True), (1.0, False)])
def test_that_where_answers_are_missing_the_last_velocity_goes_on(c, answered, share, wrong):
    """An answer may also be missing directly after the comparison's first answer."""
    travel = Travel(c, share)
    travel.go(1.5, 700, answered)
    assert travel.wrong == travel.ever_wrong == wrong
    assert travel.look.range == pytest.approx(RANGE / share, rel=0.02)


def test_that_a_look_begins_with_an_answer(c):
    """Before the first answer the drive's position is unknown."""
    travel = Travel(c)
    travel.go(0.0, 10, lambda k: False)
    travel.go(1.0, 700)
    assert not travel.wrong and travel.look.range == pytest.approx(RANGE, rel=0.01)


@pytest.mark.parametrize(("rest", "late", "seen"), [
    (1, 2000, True), (1, 2001, False), (300, 252 + 2000, True), (300, 252 + 2001, False)])
def test_that_a_motion_is_followed_for_two_seconds_from_a_quarter_of_a_second_before_it_begins_at_most(
        c, rest, late, seen):
    """A drive that reports zero velocity rests, moves by 0.3 rad, waits, and moves by 0.3 rad again. If nothing moves
    for a quarter of a second, the comparison ends, and the next comparison begins in the next tick."""
    travel = Travel(c, 0.0)
    travel.go(0.0, rest)
    travel.go(0.3 * RATE, 1)
    travel.go(0.0, late - rest - 1)
    travel.go(0.3 * RATE, 1)
    assert travel.wrong == seen


@pytest.mark.parametrize(("velocity", "seen"), [(0.24, False), (0.26, True)])
def test_that_half_a_radian_in_two_seconds_is_slow_enough(c, velocity, seen):
    travel = Travel(c, 0.5)
    travel.go(velocity, 6000)
    assert travel.wrong == seen


def test_that_every_look_begins_anew(c):
    """Five seconds of correct velocities do not hide a later error. The next correct comparison clears the error."""
    travel = Travel(c)
    for sign in (1.0, -1.0) * 5:
        travel.go(sign, 520)
        assert not travel.wrong and travel.look.range == pytest.approx(RANGE, rel=0.02)
    for share in (0.8, 1.0, 1.25, 1.0):
        travel.go(0.0, 2600)  # wait until the board abandons the present comparison
        travel.share = share
        travel.go(1.0, 600)
        assert travel.wrong == (share != 1.0)
        assert travel.look.range == pytest.approx(RANGE / share, rel=0.02)


def test_that_what_was_right_for_half_a_radian_is_judged_and_done_with(c):
    """If this comparison continued, the error of the last part would be too small to detect."""
    travel = Travel(c)
    travel.go(1.0, 1050)
    travel.share = 0.8
    travel.go(1.0, 900)
    assert travel.wrong


def test_that_a_change_of_velocity_may_be_told_late_and_none_excuses_nothing(c):
    """The tolerance for late velocities is 20 ms: 0.06 rad at 3 rad/s, if the comparison began at rest."""
    steady, begun = Travel(c, 0.85), Travel(c, 0.85)
    steady.go(3.0, 300)
    begun.tick(0.0)
    begun.go(3.0, 300)
    assert (steady.wrong, begun.wrong) == (True, False)


def test_that_a_velocity_may_be_truncated_by_half_a_step_of_its_field(c):
    """The field has 4096 steps. In 1.7 s the error is 6 % of half a radian."""
    travel = Travel(c)
    for _ in range(1800):
        travel.at += 0.3 / RATE
        travel.tick(0.92 * 0.3 - RANGE / 4095.0)
    assert not travel.wrong and travel.look.range > RANGE / 0.9


def test_that_what_is_forgotten_counts_no_more(c):
    """After the firmware has forgotten the drive, another position and velocity cause no error."""
    travel = Travel(c, 0.5)
    travel.go(1.0, 600)
    assert travel.wrong
    travel.lib.ft_travel_forget(travel.look)
    assert not travel.wrong
    travel.share = 1.0
    travel.go(1.0, 300)
    travel.lib.ft_travel_forget(travel.look)
    travel.at, travel.ever_wrong = 3.0, False
    travel.go(-1.0, 700)
    assert not travel.ever_wrong and travel.look.range == pytest.approx(RANGE, rel=0.01)


def test_that_a_drive_that_hardly_tells_a_velocity_seems_to_have_sixteen_times_the_range(c):
    for share in (0.0, 0.05):
        travel = Travel(c, share)
        travel.go(1.0, 700)
        assert travel.wrong and travel.look.range == 16.0 * RANGE
    travel = Travel(c, 0.07)
    travel.go(1.0, 700)
    assert travel.look.range == pytest.approx(RANGE / 0.07, rel=0.02)
