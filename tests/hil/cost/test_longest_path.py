"""Longest paths through small interrupt handlers equal those counted by hand, for all ways to load constants."""

from __future__ import annotations

import pytest

from femtorque.hil.chip import FLASH_MEMORIES, FLASH_START, FlashFetch
from femtorque.hil.chip.timing import REFILL
from femtorque.hil.cost import control_flow
from femtorque.hil.cost.longest_path import EXCEPTION, Seen, longest
from tests.hil.images import Program

MEMORY = FLASH_MEMORIES["stm32f4"]
LINE = 6  # cycles that a read of a flash line takes
TICK = 1e-3  # s
START = """
void start(void) {{
    result[0] = result[1] = 0;
    SYST_RVR = 16000 - 1; SYST_CVR = 0; SYST_CSR = 7;
    for (;;) {{ WAIT(); }}
}}
__attribute__((naked, aligned(16))) void sys_tick(void) {{
    __asm__ volatile("movw r0, #:lower16:result\\n movt r0, #:upper16:result\\n ldr r1, [r0]\\n adds r1, #1\\n"
                     "str r1, [r0]\\n {code}");
}}
"""


class Watched:
    """A program with a watched handler. ticks: cycles with flash waits, without exception entry and return."""

    def __init__(self, folder, code: str, more: str = "") -> None:
        self.program = Program(folder, more + START.format(code=code.replace(";", "\\n")))
        core, self.image = self.program.chip.core, self.program.image
        fetch, self.ticks, self._before = FlashFetch(MEMORY), [], 0
        watch, = core.counter.watch({self.image.symbol("sys_tick").address: fetch}, FLASH_START,
                                    FLASH_START + (1 << 20))

        def ended(number, handled):
            watch.running = 0
            self.ticks.append(handled.cycles - self._before - 12 + fetch.stalls)
            self._before = handled.cycles

        core.on_exception = ended

    def run(self, ticks: int) -> Watched:
        self.program.run(ticks * TICK)
        return self

    def path(self, turns: int = 3, unseen: bool = False) -> int:
        seen = Seen()
        seen.add(self.program.chip.core, control_flow.functions(self.image, ["sys_tick"]).values())
        return longest(self.image, ["sys_tick"], seen, MEMORY, turns, unseen) - (0 if unseen else EXCEPTION)


@pytest.fixture
def watched(tmp_path):
    return lambda *args: Watched(tmp_path, *args)


def test_a_way_not_gone_counts_with_its_cycles_and_all_its_waiting(watched):
    """The other path begins a flash line: ten 2-byte instructions and a return. Only the third tick takes it."""
    tick = watched("cmp r1, #3; beq 1f; bx lr; .balign 16; 1: " + "nop; " * 10 + "bx lr")
    assert tick.run(2.5).path(unseen=True) == 10 + 1 + REFILL + (LINE - 1)  # the second line arrives in time
    usual, rare = tick.ticks[0], tick.run(1).ticks[2]
    assert tick.path(unseen=True) == 0
    assert rare <= tick.path() <= rare + LINE
    assert usual < rare


def test_only_one_of_two_ways_is_on_a_path(watched):
    tick = watched("cmp r1, #2; beq 1f; .rept 50; nop; .endr; bx lr; 1: .rept 70; nop; .endr; bx lr").run(3.5)
    assert max(tick.ticks) <= tick.path() < max(tick.ticks) + 2 * LINE


def test_a_loop_goes_round_as_often_as_seen_and_is_not_gone_round_beside_the_path(watched):
    """A loop has twenty iterations on one path and thirty iterations on the other path. No tick takes both paths."""
    tick = watched("cmp r1, #2; beq 1f; movs r2, #20; 2: subs r2, #1; bne 2b; bx lr; "
                   "1: movs r2, #30; 3: subs r2, #1; bne 3b; bx lr").run(3.5)
    turn = 2 + REFILL + LINE - 1  # fetched each time, because the path analysis assumes no caches
    assert max(tick.ticks) <= tick.path() <= 30 * turn + 40


TURN = 4 + REFILL + LINE - 1  # cycles of a loop of three instructions and a branch, placed at the beginning of a line
LOOP = ".balign 16; 3: subs r3, #1; nop; nop; bne 3b; "


@pytest.mark.parametrize(("code", "turns"), [
    ("cmp r1, #99; bne 1f; movs r3, #20; " + LOOP + "1: bx lr", 10),
    # the first loop has had four iterations per tick, and one of these may lead to the second loop
    ("movs r2, #4; 2: cmp r1, #99; beq 4f; subs r2, #1; bne 2b; bx lr; 4: " + LOOP + "bx lr", 10),
    ("movs r2, #4; 2: cmp r1, #99; bne 4f; movs r3, #20; " + LOOP + "4: subs r2, #1; bne 2b; bx lr", 4 * 10),
    ("movs r2, #0; 2: cmp r2, #0; bne 3f; bx lr; .balign 16; 3: subs r2, #1; nop; nop; b 2b", 10),
], ids=["alone", "behind a loop", "in a loop that ran", "only its condition ran"])
def test_a_loop_that_never_ran_goes_round_as_often_as_is_said_each_time_that_it_may_be_come_to(watched, code, turns):
    tick = watched(code).run(2.5)
    assert tick.path(12, unseen=True) - tick.path(2, unseen=True) == turns * TURN
    assert tick.path(12) - tick.path(2) >= turns * TURN  # a greater cost is possible if the code of a condition has run


def test_turns_of_loops_that_never_ran_multiply(watched):
    """Each iteration of the outer loop contains all iterations of the inner loop."""
    tick = watched("cmp r1, #99; bne 1f; 2: movs r3, #20; " + LOOP + "subs r2, #1; bne 2b; 1: bx lr").run(2.5)
    two, three, four = (tick.path(turns, unseen=True) for turns in (2, 3, 4))
    assert (four - three) - (three - two) == (4**2 - 2 * 3**2 + 2**2) * TURN


def test_a_function_that_a_way_not_gone_calls_once_more_counts_once_more(watched):
    """Each tick called the function once. Its return instruction is fetched a second time too."""
    more = ('__attribute__((naked, used, aligned(16))) void work(void) { __asm__ volatile(".rept 40\\n nop\\n '
            '.endr\\n bx lr"); }')
    twice = "push {r4, lr}; mov r4, r1; bl work; cmp r4, #99; bne 1f; bl work; 1: pop {r4, pc}"
    once = twice.replace("; bl work; 1:", "; nop; 1:")
    longer, shorter = (watched(code, more).run(2.5).path() for code in (twice, once))
    assert 40 + 1 + REFILL <= longer - shorter <= 40 + 1 + REFILL + 4 * LINE


@pytest.mark.parametrize("early", ["it eq; bxeq lr", "beq away"])
def test_a_function_that_may_return_early_need_not_go_on(watched, early):
    """The function runs three times in a tick and executes its last part only once."""
    more = ('__attribute__((naked, used)) void work(void) { __asm__ volatile("cmp r2, #2; ' + early +
            '; .rept 40; nop; .endr; bx lr"); } __attribute__((naked, used)) void away(void) '
            '{ __asm__ volatile("bx lr"); }')
    tick = watched("push {r4, lr}; movs r2, #2; bl work; bl work; movs r2, #1; bl work; pop {r4, pc}", more).run(2.5)
    assert max(tick.ticks) <= tick.path() < max(tick.ticks) + 20 * LINE


def test_loading_a_constant_under_a_condition_leaves_the_next_block_unconditional(watched):
    """The code of an IT block loads from watched memory. Then a block runs for the first time."""
    constant = "adr r3, 9f; cmp r1, #2; ite eq; ldreq r2, [r3]; ldrne r2, [r3, #4]; cmp r1, #1; bne 1f; "
    tick = watched(constant + "b 2f; 1: b 3f; .balign 16; 2: mov r2, r1; str r2, [r0, #4]; 3: bx lr; .balign 4; "
                              "9: .word 7; .word 9").run(1.5)
    assert tick.program[1] == 1
