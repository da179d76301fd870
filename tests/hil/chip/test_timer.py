"""A timer with events only for effective updates reads like a reference timer with all events."""

from random import Random

import pytest

from femtorque.codegen.board.chip import family
from femtorque.hil.chip.stm32.timer import Timer
from femtorque.hil.clock import NEVER, Events

CR1, DIER, SR, EGR, CCMR1, CCER = 0x00, 0x0C, 0x10, 0x14, 0x18, 0x20
CNT, PSC, ARR, RCR, CCR1, CCR2, BDTR = 0x24, 0x28, 0x2C, 0x30, 0x34, 0x38, 0x44
CENTRED, PRELOADED, ON = 1 << 5, 1 << 7, 1


class Bench:
    """A timer with a clock."""

    def __init__(self, name: str, cycles_per_clock: float, every_update_is_an_event: bool) -> None:
        self.events = Events()
        kind = family("stm32f4").timers[name]
        self.timer = Timer(name, 0x40010400, self.events, kind, lambda: cycles_per_clock)
        self.timer.clocked = True
        self.what: list[tuple[int, str, float]] = []  # cycles and values of all its calls
        self.events.parts.call("before_change",
                               lambda: self.what.append((self.events.now, "outputs", self.timer.duty(1))))
        self.timer.request = lambda asserted: self.what.append((self.events.now, "request", asserted))
        if every_update_is_an_event:
            self.timer.on_update = lambda: None

    def until(self, cycle: int) -> None:
        """Sleep until a cycle. Each event resumes the bench at its cycle."""
        while self.events.now < cycle:
            self.events.now = min(self.events.next(), cycle)
            self.events.fire()

    def start(self, top: int, repetition: int, centred: bool) -> None:
        for offset, value in ((CR1, PRELOADED | (CENTRED if centred else 0)), (PSC, 1), (ARR, top), (CCMR1, 0x6868),
                              (CCER, 0x11), (EGR, 1), (SR, 0)):
            self.timer.write(offset, 4, value)
        if self.timer.advanced:
            self.timer.write(RCR, 4, repetition)
            self.timer.write(BDTR, 4, 0x8000)
        self.timer.write(CR1, 4, self.timer.value["CR1"] | ON)


def test_events_come_in_the_order_of_time_then_of_planning_and_keep_their_seconds_when_the_clock_changes():
    events, seen = Events(), []
    for cycle, name in ((30, "c"), (10, "a"), (10, "b")):
        events.at(cycle, lambda name=name: seen.append(name))
    events.now = 20
    events.fire()
    assert seen == ["a", "b"] and events.next() == 30
    events.rescale(16, 168)
    assert events.next() == 20 + 105


def test_a_timer_that_only_counts_has_no_events():
    bench = Bench("TIM3", 2.0, False)
    bench.start(999, 0, False)
    bench.until(5000)  # the first update, at 4000, loads the prescaler and the counter
    assert bench.events.next() == NEVER
    bench.timer.write(SR, 4, 0)
    bench.until(7990)
    assert bench.timer.read(SR, 4) == 0
    bench.until(8010)
    assert bench.timer.read(SR, 4) == 1 and bench.timer.read(CNT, 4) == 2  # counts of 4 cycles each


def test_a_preloaded_value_comes_with_the_very_next_update():
    bench = Bench("TIM3", 1.0, False)
    bench.start(999, 0, False)
    bench.until(100_100)
    bench.timer.write(CCR1, 4, 250)
    assert bench.events.next() == 102_000 and bench.timer.duty(1) == 0.0
    bench.until(102_000)
    assert bench.timer.duty(1) == 0.25 and bench.events.next() == NEVER


def test_who_asks_to_be_called_is_called_from_the_next_update_on():
    bench, called = Bench("TIM3", 1.0, False), []
    bench.start(999, 0, False)
    bench.until(100_100)
    bench.timer.on_update = lambda: called.append(bench.events.now)
    bench.until(107_000)
    assert called == [102_000, 104_000, 106_000]
    bench.timer.on_update = None
    assert bench.events.next() == NEVER


@pytest.mark.parametrize("name", ["TIM3", "TIM8"])
@pytest.mark.parametrize("centred", [False, True])
def test_registers_outputs_and_interrupts_are_those_of_a_timer_with_an_event_for_every_update(name, centred):
    for seed in range(20):
        random = Random(seed)
        benches = [Bench(name, 2.0, every) for every in (True, False)]
        top, repetition, now = random.randrange(5, 400), random.randrange(4), 0
        for bench in benches:
            bench.start(top, repetition, centred)
        for _ in range(300):
            now += random.choice([1, 7, 100, 3000, 40_000])
            offset = random.choice([CNT, SR, CCR1, CCR2, ARR, DIER] + ([RCR] if name == "TIM8" else []))
            value = {CNT: None, SR: random.choice([None, 0]), ARR: random.choice([top, top + 3]),
                     DIER: random.randrange(2),
                     RCR: random.randrange(4)}.get(offset, random.randrange(top))
            for bench in benches:
                bench.until(now)
                seen = bench.timer.read(offset, 4) if value is None else bench.timer.write(offset, 4, value)
                bench.what.append((now, "duties", bench.timer.duty(1) + 2.0 * bench.timer.duty(2)))
                bench.what.append((now, "seen", -1 if seen is None else seen))
        assert benches[0].what == benches[1].what and len(benches[0].what) > 600


def test_updates_that_are_put_out_as_triggers_come_at_their_cycles():
    """A centred counter whose repetition counter is 1 has updates only at its tops."""
    bench, triggers = Bench("TIM8", 1.0, False), []
    bench.timer.on_trigger = triggers.append
    bench.start(1000, 1, True)
    bench.until(9_000)
    assert triggers == [] and bench.events.next() == NEVER
    bench.timer.write(0x04, 4, 2 << 4)
    bench.until(17_000)
    assert triggers == [10_000, 14_000]  # 2 clocks of two cycles each at the top (PSC 1)


def test_a_low_switch_conducts_about_the_top_and_the_longer_the_less_its_half_bridge_is_high():
    bench = Bench("TIM8", 1.0, False)
    bench.start(1000, 1, True)
    bench.timer.write(BDTR, 4, 0x8015)  # with a dead time
    bench.timer.write(CCER, 4, 0x55)
    bench.timer.write(CCR1, 4, 900)
    bench.timer.on_trigger = lambda at: None
    bench.timer.write(0x04, 4, 2 << 4)
    bench.until(10_010)
    for channel, since, until, on in ((1, 10_000, 10_199, True), (1, 10_000, 10_201, False),  # 100 counts of two cycles
                                      (1, 9_801, 10_000, True), (1, 9_799, 10_000, False),
                                      (2, 9_000, 11_000, True)):  # never high
        assert bench.events.parts.lib.timer_conducts(bench.timer._here, channel - 1, since, until) == on
    assert bench.timer.halves_on(1)
    bench.timer.write(BDTR, 4, 0x0015)
    assert not bench.timer.halves_on(1)  # both switches are off
