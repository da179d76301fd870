"""The cycle model agrees with cycles that were counted by hand."""

from femtorque.hil.chip.chip_library import ChipLibrary
from femtorque.hil.chip.timing import FLASH_MEMORIES, FlashFetch

LINE = FLASH_MEMORIES["stm32f4"].line


def straight(fetch: FlashFetch, start: int, count: int, size: int, cycles: int = 1) -> int:
    """Return the flash waits of `count` consecutive instructions."""
    before = fetch.stalls
    for i in range(count):
        fetch.execute(start + i * size, size, cycles)
    return fetch.stalls - before


def test_straight_code_waits_for_what_prefetch_has_not_read_yet():
    assert straight(FlashFetch(), 0, 4, 4) == 5  # the first line costs all wait states
    assert straight(FlashFetch(), 0, 40, 4) == 5 + 9 * 2  # 4 of the 6 cycles that a line takes
    assert straight(FlashFetch(), 0, 80, 2) == 5  # 8 cycles per line: the prefetch is fast enough
    assert straight(FlashFetch(), 0, 40, 4, cycles=2) == 5


def test_an_instruction_across_two_lines_waits_for_the_second():
    fetch = FlashFetch()
    assert straight(fetch, 0, 7, 2) == 5
    assert straight(fetch, 14, 1, 4) == 0  # 7 cycles have passed
    assert straight(fetch, 18, 1, 4) == 0
    assert straight(FlashFetch(), 14, 1, 4) == 5 + 6


def test_a_loop_in_one_line_waits_once():
    fetch = FlashFetch()
    assert sum(straight(fetch, 32, 4, 4) for _ in range(10)) == 5


def test_the_instruction_cache_keeps_the_64_lines_jumped_to_last():
    fetch = FlashFetch()
    targets = [2 * LINE * i for i in range(64)]
    assert sum(straight(fetch, at, 1, 4) for at in targets) == 64 * 5
    assert sum(straight(fetch, at, 1, 4) for at in targets) == 0
    straight(fetch, 2 * LINE * 64, 1, 4)  # replaces the first target in the cache
    assert straight(fetch, targets[1], 1, 4) == 0
    assert straight(fetch, targets[0], 1, 4) == 5


def test_prefetched_lines_are_not_kept():
    fetch = FlashFetch()
    first = straight(fetch, 0, 40, 4)
    assert straight(fetch, 0, 40, 4) == first - 5  # the code does not wait for the first line, which is in the cache


def test_constants_come_through_eight_lines_of_their_own():
    fetch = FlashFetch()
    for at in [LINE * i for i in range(8)] + [LINE * i + 4 for i in range(8)]:
        fetch.read(at)
    assert fetch.stalls == 8 * 5
    fetch.read(8 * LINE)
    fetch.read(0)
    assert fetch.stalls == 10 * 5


def test_cycles_of_a_small_function():
    """The function moves two numbers to the FPU, multiplies, adds, moves the result back and returns."""
    source = """\
float f(float x);
__attribute__((naked)) float f(float x)
{
    (void)x;
    __asm("vmov s0, r0\\n vmov s1, r1\\n vmul.f32 s0, s0, s1\\n vadd.f32 s0, s0, s1\\n vmov r0, s0\\n bx lr");
}
"""
    chip = ChipLibrary({"f.c": source}, warnings=False)
    done = chip.call("f", 0, 0, measure_cycles=True)
    assert (done.instructions, done.cycles) == (6, 6)  # the pipeline refill counts with the next block
    assert done.fetch_stalls == 5 + 2
    assert chip.call("f", 0, 0).cycles == 0
