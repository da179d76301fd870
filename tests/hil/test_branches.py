"""Every conditional branch that a control tick can come to is gone both ways, by the runs of the fault campaign and a tour
through what else can be asked for, or stands below with the reason why not. The worst tick of all these is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codegen import build
from hil import branches, campaign
from hil.branches import Branch, Coverage
from hil.elf import Image
from hil.flash_watch import FlashWatch
from hil.stm32.chip import FLASH_START
from tests.hil import tour
from tests.hil.rig import ROOT, three_link

FOLDER = ROOT / "build" / "campaign"
TABLES = ("ft_faults", "ft_conditions")  # whose functions the tick calls through pointers
UNWATCHED = {"is_nearly_late": "its ticks are made long by something else",
             "jogs_to_a_limit": "under the watch of flash the emulator loses a register there; without it, it does not"}


def lines(elf: Path, found: list[Branch]) -> dict[Branch, str]:
    """The line of source of each branch, by the image's own debug information."""
    told = subprocess.run(["arm-none-eabi-addr2line", "-e", elf, *(hex(b.address) for b in found)], capture_output=True,
                          text=True, check=True).stdout.splitlines()
    texts = {}
    for branch, place in zip(found, told, strict=True):
        name, _, number = place.split(" ")[0].rpartition(":")
        texts[branch] = (FOLDER / name).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip()
    return texts


def one_of_each(every: list[campaign.Injection]) -> list[campaign.Injection]:
    """The first of each kind in each state with each end; of encoders, at each joint."""
    return list({(i.kind, i.state, i.faults, i.name[:7] if "joint" in i.name else ""): i for i in reversed(every)}.values())


@pytest.fixture(scope="module")
def image():
    arm = campaign.mechanism_of(three_link())
    return arm, build.build(arm, FOLDER).elf


def test_the_branches_of_a_tick_are_found(image):
    """Some hundred, in all that a tick calls, and none behind the link or the main loop."""
    found = branches.of_tick(Image.load(image[1], FLASH_START, 1 << 20), TABLES)
    functions = {b.function for b in found}
    assert len(found) > 150
    assert {"ft_law_tick", "ft_motion_tick", "ft_safety_tick", "ft_lab_plan", "ft_capture_tick", "starts_here"} <= functions
    assert not functions & {"ft_link_idle", "ft_app_idle", "ft_chip_start", "ft_watch_idle"}


def test_a_way_that_was_not_gone_is_told(image):
    """A board that is only switched on goes few ways; what it goes is not told."""
    arm, elf = image
    coverage = Coverage()
    with tour.life(elf, arm) as life:
        life.board.run(0.05)
        coverage.add(life.board.chip.core)
        image_ = life.board.image
    found = branches.of_tick(image_, TABLES)
    missing = coverage.missing(found)
    assert 0.5 * len(found) < len(missing) < len(found)
    never = lines(elf, [b for b, way in missing if way == "reached"])
    assert any("FT_CAPTURE_ONCE" in text for text in never.values())


@pytest.mark.bench
def test_every_branch_of_the_tick_is_gone_both_ways_or_named(image):
    arm, elf = image
    coverage, worst, budget = Coverage(), {}, 168_000_000 // arm.control.rate_hz
    for name, parts in tour.LIVES.items():
        with tour.life(elf, arm) as life:
            watch = None if name in UNWATCHED else FlashWatch(life.board, budget)
            for part in parts:
                part(life)
            coverage.add(life.board.chip.core)
            if watch:
                worst[name] = (life.board.worst_cycles, life.board.worst_cycles + max(watch.stalls))
    outcomes = campaign.run(three_link(), FOLDER, one_of_each, watch=lambda board: coverage.add(board.chip.core))
    assert [o for o in outcomes if not o.good] == []

    found = branches.of_tick(Image.load(elf, FLASH_START, 1 << 20), TABLES)
    missing = coverage.missing(found)
    texts = lines(elf, [branch for branch, _ in missing])
    print(f"\n{len(found)} branches, {len(found) - len(missing)} gone both ways")
    for branch, way in missing:
        print(f"{branch.function:26} never {way:10} {texts[branch]:90} {NEVER.get(texts[branch], '?')}")
    cycles, flash = max(worst.values(), key=lambda pair: pair[1])
    print(f"worst tick: {cycles} cycles, at most {flash} with flash, of {budget}: a margin of {1.0 - flash / budget:.1%}")
    assert set(texts.values()) - set(NEVER) == set()


NEVER = {
    # what other parts see to already; the tests of those parts go these ways
    "if (!(ft_size(x) < BOUNDLESS)) {": "no number that the gates let in makes one that is none",
    "if (!(ft_size(torque) < BOUNDLESS)) {": "no number that the gates let in makes one that is none",
    "if (!(__builtin_fabsf(x) <= 1.0f))": "the law's duties are within 1; what is not is given to the chip by its own test",
    "x = x > 1.0f ? 1.0f : x < -1.0f ? -1.0f : 0.0f;": "as above",
    "return x->pin != FT_NO_INDEX && ft_pin_high(x->port, x->pin);": "only a joint with an index is asked for it",
    "on = on && (ft_pwm_table[i].timer->BDTR & TIM_BDTR_MOE) != 0;": "of an armed board, whose outputs are wanted",
    "switch (word / FT_JOINTS) {": "the link refuses words that there are not",
    "if (event == 0u || event > FT_EVENT_GAINS)": "the link refuses commands that there are not",
    "&& (ft_motion_tail(m)->flags & FT_KNOT_START) != 0": "the link begins a motion with its START only",
    "if (c->next == FAULT && ft.safety.reaction == FT_REACTION_HOLD)": "every fault of this file coasts",
    "return bad ? ft.safety.knot_joint : FT_GOOD;": "is looked at because there is a bad one",
    # the other way is taken where the compiler has decided it before
    "if (drive == FT_DRIVE_OFF)": "decided by an earlier branch on the same",
    "for (f = ft_faults; f < end; f++) {": "the table is never empty",
    "for (c = ft_conditions; c < end && c->event <= event; c++) {": "there is a condition of every command behind it",
    "if (!r->posted)": "decided by an earlier branch on the same",
    "if (ft.safety.fault == FT_FAULT_NONE) {": "decided by an earlier branch on the same",
    "if (ft.safety.coming == FT_FAULT_NONE) {": "a fault that waits for a stop, while another one does",
    "return ft.safety.state != TRACK && ft.safety.state != JOG": "decided by an earlier branch on the same",
    "&& ft_motion_settled(&ft.motion);": "decided by an earlier branch on the same",
    "if (s->ticks == 0u || tick - s->last > 1u)": "what went on at the last tick goes on without a gap",
    "if (lab->wanted != FT_C(0.0) || lab->rate != FT_C(0.0))": "a joint that is wanted at rest is brought to rest in this tick",
    # what would take the host or the plant more than is done here
    "if (lab->ticks == 0u || way > c->seek_counts)": "a search that runs out of time before it runs out of way",
    "&& !leads_back(j, in->seen->coarse[j], torque, found)) {": "a torque that leads farther out, in HOLD outside the limits",
    # where a step of the path leads: motions are stopped on whole ticks, so that at full pace every step ends short of a
    # knot's boundary or on it, and the link has prepared what is behind it
    "if (to <= LENGTH || (ft_motion_tail(m)->flags & FT_KNOT_END) != 0)": "a last segment is left by arriving",
    "else if (!take_opening(m, boundary, to - LENGTH))": "the next segment has been prepared",
    "if (!last)": "a last segment is left by arriving",
    "|| !(whole(m) || can_stop(m, boundary + 2 * on.half, on));": "a motion that goes on is whole, or long enough to stop",
    "next = m->brake ? ft_pace_brake(m->pace) : ft_pace_run(m->pace);": "decided by an earlier branch on the same",
    "&& (whole(m) || can_stop(m, 0, one));": "a motion that is forgotten while it is asked for",
    "while (s < 0 && triangle(-s) > left)": "the slope is negative when it begins",
    "&& o->boundary == boundary;": "what is prepared is what comes",
    "return o->segment == segment && o->to == to && o->from == from": "what is prepared is what comes",
}
