"""Answers of a chip's parts to a random program, as recordings have them: values that it reads, cycles at which outputs
may change with their duties, windows in which voltages are sampled, frames and errors on a bus, and refusals.

A change of the models that changes an answer on purpose is recorded anew with `python -m tests.hil.chip.test_recorded`,
and the difference of recorded.json says how many of the programs it meets.
"""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from femtorque.hil.bus import wire
from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.node import BitTiming
from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32.chip import SRAM_START, Stm32
from femtorque.hil.chip.stm32.serial import FE
from femtorque.hil.chip.stm32f4.adc import Adc
from femtorque.hil.chip.stm32f4.chip import Stm32F405
from femtorque.hil.chip.stm32g4.chip import Stm32G474
from tests.support.can_bench import Other
from tests.support.suite import ROOT

RECORDED = Path(__file__).with_name("recorded.json")
PROGRAMS = 24  # of each chip
STEPS = 500
SLICES = 100  # of half a millisecond
READ, WRITE, WAIT, END = range(4)
RESULTS = SRAM_START + 0x10000
SIMPLE = 0x40000400  # TIM3 of both chips, without a break input
Step = tuple[int, int, int]  # READ or WRITE at an address, or WAIT for a number of turns

# Stack pointer and start, and a loop that takes such steps from a table and puts what it reads at RESULTS:
#         mov r0, #0x20000000; ldr r1, =0x20010000
#   next: ldmia r0!, {r2, r3, r4}; cmp r2, #1; beq write; cmp r2, #2; beq wait; cmp r2, #3; beq end
#         ldr r5, [r3]; str r5, [r1]; adds r1, #4; b next
#  write: str r4, [r3]; b next
#   wait: subs r4, #1; bne wait; b next
#    end: b end
IMAGE = bytes.fromhex("00800120 09000008 4ff00050 0849 1cc8 012a 07d0 022a 07d0 032a 08d0 1d68 0d60 0431 f4e7 1c60 f2e7"
                      "013c fdd1 efe7 fee7 00000120")


class Layout:
    """Addresses in a chip: of the clocks, of the timers 1, 3 and 8, and of the first converter. on: steps that switch
    its parts on."""

    def __init__(self, chip: type[Stm32], rcc: int, on: tuple[Step, ...], adc: int) -> None:
        self.chip, self.rcc, self.on, self.adc = chip, rcc, on, adc
        self.timers = {name: chip.TIMERS[name][0] for name in ("TIM1", "TIM3", "TIM8")}


F4 = Layout(Stm32F405, 0x40023800, ((WRITE, 0x40023830, 7), (WRITE, 0x40023840, 1 << 1),
                                    (WRITE, 0x40023844, 1 | 1 << 1 | 1 << 8)), 0x40012000)
G4 = Layout(Stm32G474, 0x40021000, ((WRITE, 0x4002104C, 7 | 1 << 13), (WRITE, 0x40021058, 1 << 1),
                                    (WRITE, 0x40021060, 1 << 11 | 1 << 13)), 0x50000000)
LAYOUTS = {"stm32f4": F4, "stm32g4": G4}


def pwm(base: int, random: Random) -> Iterator[Step]:
    """A timer that counts and puts out pulses."""
    top = random.choice((99, 419, 2000))
    yield from ((WRITE, base + at, value) for at, value in (
        (0x18, 0x6868), (0x1C, 0x6868), (0x28, random.choice((0, 1, 7))), (0x2C, top), (0x34, random.randrange(top)),
        (0x20, 0x1111 if base == SIMPLE else random.choice((0x1111, 0x0055))), (0x14, 1)))
    if base != SIMPLE:
        yield WRITE, base + 0x30, random.choice((0, 1, 2, 3))
        yield WRITE, base + 0x44, 0x8015 | random.choice((0, 0x1000, 0x5000))
        yield WRITE, base + 0x04, random.choice((0, 0x20, 0x20, 0x20))
    yield WRITE, base, random.choice((0x81, 0xA1, 0x85))


def encoder(base: int, random: Random) -> Iterator[Step]:
    yield from ((WRITE, base + at, value) for at, value in (
        (0x18, 0x0101), (0x20, random.choice((0x11, 0x31))), (0x2C, 0xFFFF), (0x08, 3), (0x00, 1)))


def converter(layout: Layout, random: Random) -> Iterator[Step]:
    """A converter that is switched on, for a sequence started by software or TIM1."""
    base, by_timer = layout.adc, random.random() < 0.8
    channels = [random.randrange(1, 5) for _ in range(2)]
    if layout is F4:
        yield from ((WRITE, base + at, value) for at, value in (
            (0x304, 1 << 16), (0x04, 1 << 8 | random.choice((0, 1 << 7))), (0x10, random.getrandbits(30) & 0x3FFFFFFF),
            (0x38, 1 << 20 | channels[0] << 10 | channels[1] << 15),
            (0x08, 1 | (1 << 20 | 1 << 16 if by_timer else 0))))
        return
    yield from ((WRITE, base + at, value) for at, value in ((0x308, 3 << 16), (0x08, 0), (0x08, 1 << 28)))
    yield WAIT, 0, 400
    yield WRITE, base + 0x08, 1 << 28 | 1 << 31
    yield WAIT, 0, 2000
    yield from ((READ, base + 0x08, 0), (WRITE, base + 0x08, 1 << 28 | 1), (WAIT, 0, 50), (READ, base, 0))
    yield WRITE, base + 0x14, random.getrandbits(30) & 0x3FFFFFFF
    yield WRITE, base + 0x4C, 1 | (1 << 7 if by_timer else 0) | channels[0] << 9 | channels[1] << 15
    yield WRITE, base + 0x04, random.choice((0, 1 << 6))


def restarted(layout: Layout, random: Random) -> tuple[Step, ...]:
    """Another sequence, by software."""
    base = layout.adc
    if layout is F4:
        return (WRITE, base + 0x08, 1), (WAIT, 0, 6000), (WRITE, base + 0x08, 1 | 1 << 22)
    return ((WRITE, base + 0x08, 1 << 28 | 1 | 1 << 5), (WAIT, 0, 20), (WRITE, base + 0x4C, 1 | 2 << 9 | 3 << 15),
            (WRITE, base + 0x08, 1 << 28 | 1 | 1 << 3))


def touches(layout: Layout, random: Random) -> tuple[Step, ...]:
    """Steps that programs may take at any time."""
    if random.random() < 0.004:
        return restarted(layout, random)
    timer, compare = random.choice([*layout.timers.values()]), random.choice((0x34, 0x38, 0x3C, 0x40))
    port = layout.chip.PORT_BASE + 0x400 * random.randrange(3)
    advanced, breaks, adc = random.choice((layout.timers["TIM1"], layout.timers["TIM8"])), 0x44, layout.adc
    results = (0x3C, 0x40) if layout is F4 else (0x80, 0x84)
    return (random.choice((
        (WRITE, timer + compare, random.randrange(2500)), (WRITE, timer + compare, random.randrange(2500)),
        (READ, timer + compare, 0), (READ, timer + 0x24, 0), (READ, timer + 0x10, 0), (READ, timer + 0x00, 0),
        (READ, SIMPLE + 0x24, 0), (WRITE, timer + 0x10, 0), (READ, advanced + breaks, 0),
        (WRITE, advanced + 0x2C, random.choice((99, 419, 2000))), (WRITE, advanced + 0x14, 1),
        (WRITE, advanced + breaks, 0x8015 if random.random() < 0.5 else 0x0015),
        (WRITE, advanced + 0x30, random.randrange(4)),
        (WRITE, advanced + 0x18, random.choice((0x6868, 0x6060, 0x4878))),
        (WRITE, port + 0x18, random.getrandbits(32)), (WRITE, port + 0x14, random.getrandbits(16)),
        (WRITE, port, random.getrandbits(32)), (READ, port + 0x10, 0), (READ, port + 0x14, 0),
        (READ, adc, 0), (WRITE, adc, 0 if layout is F4 else 0x60), *((READ, adc + at, 0) for at in results),
        (READ, 0xE000E018, 0), (WRITE, 0xE000E014, random.randrange(1, 5000)), (WRITE, 0xE000E010, 5),
        (READ, 0xE000E010, 0), (READ, 0xE000ED04, 0), (WRITE, 0x40003000, 0xAAAA), (WRITE, 0x40003000, 0xCCCC),
        *((WAIT, 0, random.choice((1, 10, 100, 1000))) for _ in range(6)))),)


def steps(layout: Layout, random: Random) -> Iterator[Step]:
    """A program."""
    yield from layout.on
    for name in ("TIM1", "TIM8"):
        yield from pwm(layout.timers[name], random)
    yield from (encoder if random.random() < 0.5 else pwm)(layout.timers["TIM3"], random)
    yield from converter(layout, random)
    for _ in range(STEPS):
        yield from touches(layout, random)
    yield END, 0, 0


class Link:
    """Registers of USART2 and of the DMA streams that serve it, by chip."""

    def __init__(self, layout: Layout, random: Random) -> None:
        f4 = layout is F4
        self.status, self.clear = (0x40004400, 0x40004400) if f4 else (0x4000441C, 0x40004420)
        self.received, self.sent = (0x40004404, 0x40004404) if f4 else (0x40004424, 0x40004428)
        self.receiving, self.sending = (0x40026088, 0x400260A0) if f4 else (0x40020008, 0x4002001C)
        self.flags, self.clears, self.all = (0x40026004, 0x4002600C, 0x3D) if f4 else (0x40020000, 0x40020004, 0xFF)
        self.goes, self.comes = (0x08000441, 0x08000501) if f4 else (0x91, 0xA1)
        self.settings: tuple[tuple[int, int], ...] = (
            (layout.rcc + 0x30, 7 | 1 << 21), (layout.rcc + 0x40, 1 << 1 | 1 << 17)) if f4 else (
            (layout.rcc + 0x48, 0x107), (layout.rcc + 0x58, 1 << 1 | 1 << 17), (0x40020800, 26), (0x40020804, 27))
        divider, requests = random.choice((16, 69, 139)), random.choice((0xC0, 0xC0, 0xC1, 0x80))
        self.settings += ((0x40004408 if f4 else 0x4000440C, divider),
                          (0x4000440C if f4 else 0x40004400, (1 << 13 if f4 else 1) | 0x1C),
                          (0x40004414 if f4 else 0x40004408, requests))

    def ring(self) -> Iterator[Step]:
        at = self.receiving
        yield from ((WRITE, at + 8, self.received), (WRITE, at + 12, RESULTS + 0x7000), (WRITE, at + 4, 32),
                    (WRITE, at, self.comes))

    def burst(self, random: Random) -> Iterator[Step]:
        at = self.sending
        yield from ((WRITE, at, self.goes & ~1), (WRITE, self.clears, self.all << 16 | self.all),
                    (WRITE, at + 8, self.sent), (WRITE, at + 12, SRAM_START + random.randrange(4000)),
                    (WRITE, at + 4, random.randrange(1, 40)), (WRITE, at, self.goes))

    def touch(self, random: Random) -> Step:
        return random.choice((
            (READ, self.status, 0), (READ, self.status, 0), (READ, self.received, 0), (READ, self.receiving, 0),
            (READ, self.receiving + 4, 0), (READ, self.sending, 0), (READ, self.sending + 4, 0), (READ, self.flags, 0),
            (WRITE, self.clears, random.getrandbits(6) << random.choice((0, 6, 16))),
            (WRITE, self.clear, 0x5F if self.clear != self.status else 0x3FF & ~random.choice((0, 0x40, 0x20))),
            (WRITE, self.sent, random.randrange(256)), *((WAIT, 0, random.choice((10, 100, 1000))) for _ in range(8))))


def link_steps(layout: Layout, random: Random) -> Iterator[Step]:
    """A program that receives and sends."""
    link = Link(layout, random)
    yield from ((WRITE, at, value) for at, value in link.settings)
    if random.random() < 0.7:
        yield from link.ring()
    for _ in range(STEPS):
        yield link.touch(random)
        if random.random() < 0.03:
            yield WAIT, 0, random.choice((1000, 30_000))
            yield from link.burst(random)
    yield END, 0, 0


class Can:
    """Registers of a chip's first CAN controller, at 16 MHz and 1 Mbit/s; 2 Mbit/s in a data phase."""

    def __init__(self, layout: Layout) -> None:
        self.f4, self.base, self.ram = layout is F4, 0x40006400, 0x4000A400
        self.clocks = ((layout.rcc + 0x40, 1 << 25),) if self.f4 else (
            (layout.rcc + 0x58, 1 << 25), (layout.rcc + 0x88, 2 << 24))

    def start(self, random: Random) -> Iterator[Step]:
        """Set it up, with filters, and let it take part."""
        base = self.base
        yield from ((WRITE, at, value) for at, value in self.clocks)
        if self.f4:
            yield from ((WRITE, base, 1), (WAIT, 0, 2000), (WRITE, base + 0x1C, 3 << 24 | 3 << 20 | 10 << 16))
            first = random.choice((0, 0, 0x123 << 21))  # without a filter's mask: every frame
            yield from ((WRITE, base + at, value) for at, value in (
                (0x200, 0x2A1C0E01), (0x20C, 1), (0x214, random.choice((0, 1))), (0x240, first),
                (0x244, 0x7FF << 21 if first else 0), (0x21C, 1), (0x200, 0x2A1C0E00),
                (0x14, random.choice((0, 0x8F02))), (0x00, random.choice((0, 1 << 6, 1 << 4, 1 << 6 | 1 << 2)))))
        else:
            fd = random.choice((0, 1 << 8 | 1 << 9, 1 << 8 | 1 << 9))
            yield from ((WRITE, base + 0x18, 1), (WAIT, 0, 100), (WRITE, base + 0x18, 3),
                        (WRITE, base + 0x18, 3 | fd | random.choice((0, 0, 1 << 6))))
            yield from ((WRITE, base + at, value) for at, value in (
                (0x1C, 3 << 25 | 10 << 8 | 3), (0x0C, 4 << 8 | 1 << 4 | 1),
                (0x80, random.choice((0, 0, 2 << 4, 1 << 8))), (0xC0, 1 << 24 if random.random() < 0.9 else 0),
                (0x54, random.choice((0, 0x6A0081))), (0x5C, 3)))
            yield WRITE, base + 0x18, fd
        yield WAIT, 0, 1000

    def send(self, random: Random) -> Iterator[Step]:
        """Send a frame by any of three elements, whether that is free or not."""
        i, number, size = random.randrange(3), random.choice((0x123, 0x321, 0x7FF, 0x040)), random.randrange(9)
        if self.f4:
            at = self.base + 0x180 + 16 * i
            yield from ((WRITE, at + 8, random.getrandbits(32)), (WRITE, at + 12, random.getrandbits(32)),
                        (WRITE, at + 4, size), (WRITE, at, number << 21 | random.choice((0, 0, 2)) | 1))
            return
        at, how = self.ram + 0x278 + 72 * i, random.choice((0, 1 << 21, 3 << 20))
        yield from ((WRITE, at, number << 18), (WRITE, at + 4, how | (size + 3 if how else size) << 16),
                    *((WRITE, at + 8 + 4 * k, random.getrandbits(32)) for k in range(5)),
                    (WRITE, self.base + 0xCC, 1 << i))

    def touch(self, random: Random) -> Iterator[Step]:
        base = self.base
        reads = (0x04, 0x08, 0x0C, 0x10, 0x18, 0x1B0, 0x1B4, 0x1B8) if self.f4 else (
            0x40, 0x44, 0x50, 0x90, 0x98, 0xC4, 0xC8, 0xD4, 0xD8)
        yield READ, base + random.choice(reads), 0
        if self.f4:
            yield random.choice(((WRITE, base + 0x0C, 0x20), (WRITE, base + 0x10, 0x20), (WRITE, base + 0x18, 0),
                                 (WRITE, base + 0x08, random.choice((1, 0x80, 0x8000))), (WRITE, base + 0x04, 4)))
        else:
            yield random.choice(((READ, self.ram + 0xB0 + 4 * random.randrange(18), 0), (READ, self.ram + 0x188, 0),
                                 (WRITE, base + 0x50, 0x00FFFFFF), (WRITE, base + 0xD0, 1 << random.randrange(3))))
        yield WAIT, 0, random.choice((10, 100, 1000, 3000))


def can_steps(layout: Layout, random: Random) -> Iterator[Step]:
    """A program that takes part in a bus."""
    can = Can(layout)
    yield from can.start(random)
    for _ in range(STEPS // 4):
        yield from can.touch(random)
        if random.random() < 0.3:
            yield from can.send(random)
        if random.random() < 0.02:  # it returns to the bus, from wherever it is
            yield from can.start(random)
    yield END, 0, 0


class Troubled(wire.Wire):
    """A wire with another node that sends, faults of the wire, and a node of another bit rate at times."""

    def __init__(self, chip: Stm32, seed: int, tell: Callable[..., None]) -> None:
        super().__init__(chip.clock(), seed)
        self._random, self._tell = Random(seed), tell
        self.other, self.wrong = Other(self), Other(self)
        self.other.fast, self.wrong.here = BitTiming(1 / 16e6, 6, 2, 2), False
        self.wrong.timing = BitTiming(100e-9, 15, 5, 4)
        self.log = lambda passed: tell("passed", passed.seconds, passed.frame, passed.error)
        first = next(iter(chip.cans.values()))
        first.plug(self)
        self._node = first

    def turn(self, number: int) -> None:
        """Half a millisecond more."""
        random, fd = self._random, len(self.nodes) > 2 and self._node.fast is not None
        self._tell("counters", [(node.counters.transmit, node.counters.receive) for node in self.nodes],
                   [str(error) for error in self.other.errors[-3:]], len(self.other.got))
        for _ in range(random.randrange(3)):
            form = fd and random.random() < 0.5
            data = random.randbytes(12 if form else random.randrange(9))
            self.other.send(Frame(random.choice((0x123, 0x100, 0x400)), data, fd=form, fast=form))
        self.error_rate = random.choice((0.0, 0.0, 0.0, 0.2)) if number > 20 else 0.0
        self.shorted, self.terminators = number % 40 == 33, 1 if number % 40 == 25 else 2
        self.other.here, self.wrong.here = number % 23 != 19, number in (60, 61)
        if number % 50 == 44:
            self.hold()
        elif self.held:
            self.release()


def answers(layout: Layout, seed: int, steps: Callable[[Layout, Random], Iterator[Step]] = steps) -> str:
    """Digest of all that a program sees and does."""
    program, told = [*steps(layout, Random(seed))], hashlib.sha256()
    line = Random(seed)
    chip = layout.chip(IMAGE, 8_000_000)
    chip.core.load(SRAM_START, b"".join(struct.pack("<III", *step) for step in program))
    chip.core.load(RESULTS, bytes(0x4000))

    def tell(*what: object) -> None:
        told.update(repr((chip.core.now, *what)).encode())

    def duties() -> None:
        timer = chip.timers["TIM1"]
        tell("outputs", [float(timer.duty(channel)) for channel in range(1, 5)], bool(timer.outputs_on))

    def volts(number: int) -> Callable[[int], float]:
        def read(channel: int) -> float:
            tell("sampled", number, channel, tuple(map(float, chip.converters[number].window)))
            return 0.3 * channel + (chip.core.now % 1000) / 5000.0
        return read

    bus = Troubled(chip, seed, tell) if steps is can_steps else None
    chip.before_change = duties
    chip.timers["TIM3"].counts = lambda: chip.core.now // 777 - 20
    for number, converter in enumerate(chip.converters):
        converter.volts = volts(number)
    try:
        for turn in range(SLICES):
            chip.gpio["A"].drive(3, turn % 3 == 0)
            chip.timers["TIM8"].set_break(turn % 11 == 7)
            if turn % 3 == 0:
                chip.usarts["USART2"].line_in(line.randbytes(line.randrange(1, 20)), FE if line.random() < 0.2 else 0)
            tell("sent", chip.usarts["USART2"].line_out())
            if bus is not None:
                bus.turn(turn)
            chip.run(chip.seconds + 0.5e-3)
    except Unmodelled as refused:
        tell("refused", str(refused))
    told.update(chip.core.memory(RESULTS, 0x4000))
    tell(chip.core.instructions, chip.resets)
    return told.hexdigest()[:16]


KINDS: dict[str, Callable[[int], str]] = {
    **{name: partial(answers, layout) for name, layout in LAYOUTS.items()},
    **{f"{name} link": partial(answers, layout, steps=link_steps) for name, layout in LAYOUTS.items()},
    **{f"{name} bus": partial(answers, layout, steps=can_steps) for name, layout in LAYOUTS.items()}}


@pytest.mark.parametrize("name", KINDS)
def test_answers_are_those_that_were_recorded(name):
    found = [KINDS[name](seed) for seed in range(PROGRAMS)]
    assert found == json.loads(RECORDED.read_text(encoding="utf-8"))[name]


def test_a_recording_sees_a_sample_that_comes_one_clock_late(monkeypatch):
    monkeypatch.setattr(Adc, "LATENCY", Adc.LATENCY + 1.0)
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["stm32f4"]
    assert sum(answers(F4, seed) != recorded[seed] for seed in range(PROGRAMS)) > PROGRAMS // 4


def test_a_recording_sees_an_error_flag_that_is_one_bit_longer():
    """In C that differs by this alone, which another process compiles."""
    code = ("from femtorque.codegen.toolchain import host_compiler; texts = host_compiler.texts\n"
            "def longer(*where):\n"
            "    return {name: text.replace('#define FLAG 6 ', '#define FLAG 7 ') for name, text in "
            "texts(*where).items()}\n"
            "host_compiler.texts = longer\n"
            "from tests.hil.chip.test_recorded import F4, answers, can_steps\n"
            "print(*[answers(F4, seed, can_steps) for seed in range(3)])")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["stm32f4 bus"]
    assert len(done.stdout.split()) == 3 and not set(done.stdout.split()) & set(recorded)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: [kind(seed) for seed in range(PROGRAMS)] for name, kind in KINDS.items()},
                                   indent=1) + "\n", encoding="utf-8")
