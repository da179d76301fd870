"""Every conditional branch within reach of a control tick is taken both ways, by a tour through all commands to a
board, by the fault campaign, and by states that nothing else leads to and that are written to the board's memory; or it
is listed below with the reason why not. The worst tick of all these is reported, and compared with the quick estimate
of `femtorque build`."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assurance.campaigns import campaign
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.chip.elf import Image
from femtorque.hil.chip.stm32.chip import FLASH_START
from femtorque.hil.chip.timing import FLASH_MEMORIES
from femtorque.hil.cost import branches
from femtorque.hil.cost.branches import Branch, Coverage
from femtorque.hil.cost.flash_watch import FlashWatch
from femtorque.hil.cost.longest_path import Seen, longest
from femtorque.hil.cost.measure import LATE, measure
from femtorque.hil.plant.rigid import Plant
from tests.support import forced, tour
from tests.support.boards import driven
from tests.support.memory import Memory
from tests.support.rig import ROOT, three_link

FOLDER = ROOT / "build" / "campaign"
STALLED = {"is_nearly_late", "tick overrun"}  # their ticks are lengthened from outside
CATCHING_UP = {"frames lost", "frames late"}  # in FOLLOW: `build` allows for it by what it counts of code not come to
ENDLESS = 10**9  # cycles


def lines(elf: Path, found: list[Branch]) -> dict[Branch, str]:
    """Source lines of branches, by the image's own debug information."""
    told = subprocess.run(["arm-none-eabi-addr2line", "-e", elf, *(hex(b.address) for b in found)], capture_output=True,
                          text=True, check=True).stdout.splitlines()
    texts = {}
    for branch, place in zip(found, told, strict=True):
        name, _, number = place.split(" ")[0].rpartition(":")
        texts[branch] = (FOLDER / name).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip()
    return texts


def one_of_each(every: list[campaign.Injection]) -> list[campaign.Injection]:
    """The first injection of each kind in each state with each end; encoder faults at each joint."""
    return list({(i.kind, i.state, i.faults, i.name[:7] if "joint" in i.name else ""): i
                 for i in reversed(every)}.values())


@pytest.fixture(scope="module")
def image() -> tuple[Mechanism, build.BuildResult]:
    arm = campaign.mechanism_of(three_link())
    return arm, build.build(arm, FOLDER)


def test_the_branches_of_a_tick_are_found(image):
    """Some hundred branches in all functions that a tick calls, and none in the link or the main loop."""
    found = branches.of_tick(Image.load(image[1].elf, FLASH_START, 1 << 20))
    functions = set(subprocess.run(["arm-none-eabi-addr2line", "-f", "-e", image[1].elf,
                                    *(hex(b.address) for b in found)], capture_output=True, text=True,
                                   check=True).stdout.splitlines()[::2])
    assert len(found) > 250
    assert {"ft_law_tick", "ft_motion_tick", "ft_safety_tick", "ft_lab_plan", "ft_capture_tick", "starts_here",
            "react"} <= functions
    assert not functions & {"ft_port_idle", "ft_app_idle", "ft_chip_start", "ft_watch_idle"}


def test_every_pointer_to_a_function_lies_in_a_table_that_is_known(image):
    """Except for the vectors' pointers, and for the reader of requests in the main loop."""
    flash = Image.load(image[1].elf, FLASH_START, 1 << 20)
    functions = {symbol.address | 1 for name, symbol in flash.symbols.items() if name not in branches.TABLES}
    words = struct.unpack(f"<{len(flash.flash) // 4}I", flash.flash[:len(flash.flash) // 4 * 4])
    holders = {flash.function_at(FLASH_START + 4 * i) for i, word in enumerate(words) if word in functions}
    assert holders == {"ft_vectors", "requests", *branches.TABLES}


def test_a_way_that_was_not_gone_is_told(image):
    """A board that is only switched on takes few branches; those that it takes are not listed."""
    arm, built = image
    coverage = Coverage()
    with tour.life(built.elf, arm) as life:
        life.board.run(0.05)
        coverage.add(life.board.chip.core)
        image_ = life.board.image
    found = branches.of_tick(image_)
    missing = coverage.missing(found)
    assert 0.5 * len(found) < len(missing) < len(found)
    never = lines(built.elf, [b for b, way in missing if way == "reached"])
    assert any("FT_CAPTURE_ONCE" in text for text in never.values())


@pytest.mark.parametrize("name", ["torque_is_no_number", "duties_are_out_of_bounds", "command_is_none",
                                  "reacts in FAULT by 1, then by 2, driven by 0"])
def test_a_guard_does_what_it_is_for(image, name):
    """Some of the states that nothing leads to; another test goes through all of them."""
    arm, built = image
    with tour.board(built.elf, arm) as board:
        forced.LIVES[name](forced.Forced(board, arm, Memory(built.elf)))


class Ledger:
    """Results of boards: branches taken, counts of executed code, and the worst tick of each life without lengthened
    ticks."""

    def __init__(self, image: Image) -> None:
        self.coverage, self.seen, self.worst = Coverage(), Seen(), {}
        self._functions = branches.functions(image, branches.HANDLERS).values()

    def watch(self, board: VirtualBoard, name: str | None) -> Callable[[], None]:
        """Prepare a board before it runs. Returns a function to call afterwards. name: of a life whose ticks count."""
        watch = FlashWatch(board, ENDLESS)

        def done() -> None:
            self.coverage.add(board.chip.core)
            self.seen.add(board.chip.core, self._functions)
            if name is not None:
                self.worst[name] = max(self.worst.get(name, (0, 0)), watch.worst, key=sum)

        return done

    def tell(self) -> tuple[int, int]:
        """Print a line for each life. Returns cycles and waiting of the worst tick."""
        for name, (cycles, waiting) in sorted(self.worst.items(), key=lambda item: -sum(item[1])):
            print(f"{name:50} {cycles:6} cycles and {waiting:5} of waiting for flash")
        return max(self.worst.values(), key=sum)


@pytest.mark.bench
def test_every_branch_of_the_tick_is_gone_both_ways_or_named(image):
    arm, built = image
    flash, memory = Image.load(built.elf, FLASH_START, 1 << 20), Memory(built.elf)
    ledger = Ledger(flash)
    for name, parts in tour.LIVES.items():
        with tour.life(built.elf, arm) as life:
            done = ledger.watch(life.board, None if name in STALLED else name)
            for part in parts:
                part(life)
            done()
    for part in forced.LIVES.values():  # with the effect of another image: its ticks do not count
        with tour.board(built.elf, arm) as board:
            done = ledger.watch(board, None)
            part(forced.Forced(board, arm, memory))
            done()
    outcomes = campaign.run(three_link(), FOLDER, one_of_each, watch=lambda board, injection: ledger.watch(
        board, None if injection.kind in STALLED else injection.kind))
    assert [o for o in outcomes if not o.good] == []

    found = branches.of_tick(flash)
    missing = [(branch, way) for branch, way in ledger.coverage.missing(found)
               if not branch.function.startswith(OF_FOLLOW)]
    texts = lines(built.elf, [branch for branch, _ in missing])
    print(f"\n{len(found)} branches, {len(found) - len(missing)} gone both ways")
    for branch, way in missing:
        print(f"{branch.function:26} never {way:10} {texts[branch]:90} {NEVER.get(texts[branch], '?')}")
    worst, budget = sum(ledger.tell()), 168_000_000 // arm.control.rate_hz
    usual = max(sum(cycles) for name, cycles in ledger.worst.items() if name not in CATCHING_UP)
    unseen, path = (longest(flash, branches.TICK, ledger.seen, FLASH_MEMORIES["stm32f4"], 3, part)
                    for part in (True, False))
    quick = measure(arm, built)
    print(f"worst tick: {worst} cycles of {budget}, a margin of {1.0 - worst / budget:.1%}; with the longest path "
          f"through "
          f"what no tick has executed {worst + unseen}, {1.0 - (worst + unseen) / budget:.1%}; no path is longer than "
          f"{path}, "
          f"{1.0 - path / budget:.1%}; build finds {quick.cycles_tick_flash} and says {quick.cycles_worst}")
    assert set(texts.values()) == set(NEVER)
    assert 0.99 * usual <= quick.cycles_tick_flash
    # what build adds to its worst tick is of ways of which some exclude each other, so it may say more than the path
    assert worst + unseen <= quick.cycles_worst < budget - LATE and path < budget - LATE


@pytest.mark.bench
@pytest.mark.parametrize(("file", "board", "drive"), [
    ("three_link", "nucleo-g474re-6", "voltage"), ("six_axis", "f405rg-6", "voltage"),
    ("three_link", "f405rg-4", "current")])
def test_build_goes_through_the_worst_tick_of_a_tour(file, board, drive):
    """On other boards, with more joints, with current loops: almost all, and with the margin all."""
    arm = load_mechanism(ROOT / "mechanisms" / f"{file}.toml")
    arm = driven(replace(arm, name=f"{arm.name}-tour", board=replace(arm.board, use=board)), drive)
    built = build.build(arm, ROOT / "build" / f"tour-{file}-{board}-{drive}")
    flash = Image.load(built.elf, FLASH_START, 1 << 20)
    ledger = Ledger(flash)
    for name in tour.ANYWHERE:
        with VirtualBoard(built.elf, arm, Plant(arm)) as there:
            there.brakes = True
            done = ledger.watch(there, name)
            life = tour.Tour(there, arm)
            for part in tour.LIVES[name]:
                part(life)
            done()
    worst, quick = sum(ledger.tell()), measure(arm, built)
    print(f"{file} on {board}, {drive}: worst tick {worst} cycles; build finds {quick.cycles_tick_flash}, allows "
          f"{quick.cycles_unseen} and {quick.cycles_above} above it, and says {quick.cycles_worst} of "
          f"{quick.cycles_budget}")
    assert 0.99 * worst <= quick.cycles_tick_flash and worst <= quick.cycles_worst


# functions of FOLLOW as the compiler has parted it, through which the lives here go in part only: they have tests of
# their own, and the longest path counts every way of them
OF_FOLLOW = ("ft_follow_tick", "ft_ramp_forbids", "form_piece", "follow_no_more", "cut.lto_priv")
COPY = "in one of the copies that the compiler has made of it; another one has gone both ways"
PARKS = "the arm has no brakes that open, and parks nowhere"
NEVER = {
    "while (s < 0 && triangle(-s) > left)": "nothing is left to gain at pace 1 only, which is not asked to rise",
    "? (uint8_t)FT_REACTION_HOLD : how;": PARKS,
    "return how == FT_REACTION_PARK && s->opening != 0u": PARKS,
    "if (s->state == FT_STATE_FAULT && how >= s->reaction)": COPY,
    "if (to->act == 0)": COPY,
    "if (to->next == FAULT && s->reaction == FT_REACTION_HOLD)": COPY,
    "return x < FT_C(0.0) ? -bound : bound;": COPY,
    "if (!s->homed[j])": COPY,
    "if (!(ft_size(in->seen->u[j]) <= ft_joint[j].rest))": COPY,
    "if ((uint32_t)at[j] - (uint32_t)ft_joint[j].lower > ft_joint[j].room)": COPY,
    "if (ft_position_size(away) > ft_joint[j].start)": COPY,
    "if (!enabled || !ft_clock_good() || FT_TOLERANT ||": COPY,
    "if (a->set.of[FT_ALARM_KNOT] != 0u && s->coming == FT_FAULT_NONE)": COPY,
    "return kinds != 0u ? kinds & ft_counting(s) : 0u;": COPY,
    "if (kinds != 0u)": "in the copy for alarms while the outputs are off, of whose kinds at least one counts then too",
    "if (m->at <= LENGTH)": "in the copy for steps within one segment, which lead beyond none of its knots",
    "return s->state != TRACK && s->state != JOG && s->state != FOLLOW":
        "no fault that waits for rest comes in FOLLOW here",
    "if ((uintptr_t)t <= (uintptr_t)f) {": "a tick moves bytes one way alone",
    "while (size-- != 0)": "a tick moves bytes one way alone",
    "if (!ft_wanted || !ft_clock_good())":
        "an interrupt would have to come within these few instructions; proved in assurance/proofs/theorems/switches.c",
    "return x->pin != FT_NO_INDEX && ft_pin_high(x->port, x->pin);": COPY,
    "s->state = to->next == DISARMED && s->closing != 0u ? CLOSING : to->next;":
        "in the copy for faults, of which none leads to DISARMED",
    "if (other && ft_size(lab->velocity) > FT_C(0.0)) {": "a jog whose joint stands is over: HOLD comes first",
}
