"""`femtorque build` reports the costs of an image in its worst tick."""

import re
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import check_limits, check_streamable
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.cost.measurement import LATE, measure, response, short_motion
from tests.support import rig
from tests.support.boards import driven, three_link

PAGE = MECHANISMS.parent / "docs" / "boards.md"


def test_the_cost_of_an_image_is_that_of_its_worst_tick():
    mechanism = rig.three_link()
    cost = measure(mechanism, build.build_image(mechanism, rig.place()))
    assert 100 < cost.instructions_step < cost.instructions_tick
    assert cost.instructions_tick_mean < cost.instructions_tick < cost.cycles_tick < cost.cycles_tick_flash
    assert 0 < cost.cycles_unseen < 2 * cost.cycles_tick_flash and cost.cycles_above == 0 and cost.left_out == ()
    assert cost.cycles_worst == cost.cycles_tick_flash + cost.cycles_unseen < cost.cycles_budget == 168_000
    assert cost.most_hz * (cost.cycles_worst + LATE) <= 168_000_000 < (cost.most_hz + 1) * (cost.cycles_worst + LATE)


@pytest.mark.parametrize(("own", "above", "period", "worst"), [
    (500, 0, 1000, 500),
    (500, 100, 1000, 600),  # one interrupt comes
    (950, 100, 1000, 1150),  # a second interrupt arrives in the same tick, because of the first interrupt
    (1800, 100, 1000, 2000),  # finished just when the third arrives
    (1801, 100, 1000, 2101),
])
def test_a_tick_takes_longer_by_what_interrupts_it_meanwhile(own, above, period, worst):
    assert response(own, above, period, 10_000) == worst


def test_a_processor_that_interrupts_take_altogether_is_never_done():
    assert response(10, 1000, 1000, 10_000) > 10_000


def test_duties_are_late_where_the_firmware_says():
    text = (MECHANISMS.parent / "firmware" / "chip" / "stm32" / "ft_outputs.c").read_text(encoding="utf-8")
    assert f"FT_LATE_CYCLES = {LATE} " in text


def test_a_tick_that_may_take_too_long_is_refused_by_where_it_may(monkeypatch, tmp_path):
    """In one case unexecuted code takes 250 000 cycles. In the other, the worst tick at 70 kHz fits only without its
    flash waits. Neither image has current loops, whose numbers are not compared."""
    mechanism = rig.three_link()
    fast = replace(mechanism, control=replace(mechanism.control, rate_hz=70_000, knot_hz=200),
                   board=replace(mechanism.board, pwm_hz=70_000))
    with pytest.raises(Refused, match=r"a control tick takes \d+ cycles, \d{3,4} of them waiting for flash, and a "
                                      r"control period has 2400"):
        measure(fast, build.build_image(fast, tmp_path))
    monkeypatch.setattr("femtorque.hil.cost.measurement.longest", lambda image, roots, *_, unseen: 250_000)
    with pytest.raises(Refused, match=r"a control tick may take 26\d{4} cycles: 1\d{4} seen, \d{4} of them waiting for "
                                      r"flash, 250000 in code that was not come to, 0 for interrupts above it; a "
                                      r"control period has 168000, the last 128 of them too late"):
        measure(mechanism, build.build_image(mechanism, rig.place()))


@pytest.mark.bench
@pytest.mark.parametrize(("mechanism", "board", "drive", "khz"), re.findall(
    r"^\| `(\w+)` \| `([\w.-]+)` \| (voltage|current) \| ([\d.]+) kHz \|$",
    PAGE.read_text(encoding="utf-8"), re.MULTILINE))
def test_a_board_may_tick_as_fast_as_its_page_says(mechanism, board, drive, khz, tmp_path):
    arm = load_mechanism(MECHANISMS / f"{mechanism}.toml")
    arm = three_link(board, tmp_path) if mechanism == "three_link" else replace(arm,
                                                                                board=replace(arm.board, use=board))
    arm = driven(arm, drive)
    found = measure(arm, build.build_image(arm, tmp_path / "image")).most_hz / 1000
    print(f"{mechanism} on {board}, {drive}: ticks at up to {found:.1f} kHz")
    assert float(khz) <= found < 1.1 * float(khz)


def test_the_short_motion_stays_within_the_limits_of_every_example():
    for path in sorted(MECHANISMS.glob("*.toml")):
        mechanism = load_mechanism(path)
        if mechanism.loops:
            continue  # in an arbitrary pose of the joints the loop is open
        motion = short_motion(mechanism)
        check_limits(motion, mechanism)
        check_streamable(motion, mechanism)
        assert np.all(motion.positions[1] != motion.positions[0])
