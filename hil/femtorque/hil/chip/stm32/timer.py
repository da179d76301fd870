"""Timers (RM0090 17 to 19, RM0440 28 to 30): time base with repetition, PWM, break, encoder mode. They run in C
(timer.c). This module has refusals, starts and stops, modes, and the debug unit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from femtorque.codegen.board.chip import Timer as TimerKind
from femtorque.hil.chip.peripheral_in_c import PeripheralInC
from femtorque.hil.chip.registers import WORD, Register, Unmodelled
from femtorque.hil.clock import NEVER, Events, Member

CEN, URS, DIR, CMS, ARPE = 1 << 0, 1 << 2, 1 << 4, 3 << 5, 1 << 7
MMS, MMS_UPDATE = 7 << 4, 2 << 4
BIF = 1 << 7
BKE, MOE = 1 << 12, 1 << 15
_COUNT, _STATUS, _BREAK = 0x24, 0x10, 0x44
_COMPARE = (0x34, 0x38, 0x3C, 0x40)
_FORCED_LOW, _PWM1, _PWM2 = 4, 6, 7


class _Heard:
    """A function that C calls, or None. what: the callback in C. bit: of `hears`. given: C passes a value."""

    def __init__(self, what: str, bit: str, given: bool = False) -> None:
        self._what, self._bit, self._given = what, bit, given

    def __set__(self, timer: Timer, call: Callable[..., object] | None) -> None:
        def answer(value: float) -> None:
            assert call is not None
            call(value) if self._given else call()

        bit = getattr(timer.parts.lib, self._bit)
        timer.settle()
        timer.state.hears = timer.state.hears & ~bit | (bit if call else 0)
        timer.parts.hear(self._what, timer.slot, answer)
        timer.schedule()


class Timer(PeripheralInC):
    """A timer. kind: type of the timer: width, outputs, encoder mode and centred counting. A repetition counter implies
    break and MOE. The board reads `duty(channel)` and `outputs_on`, provides `counts` and sets the break pin by
    `set_break`. The timer informs the board before outputs change or a count is read.

    on_trigger: called with the cycle of each update on the trigger output (TRGO, CR2.MMS = update). triggers: converter
    that the timer starts, or -1. on_update: called at each update, if set. request: called with 1 or 0 when the update
    interrupt request changes.
    """

    triggers = Member(int)

    on_update = _Heard("TIMER_UPDATES", "HEARS_UPDATES")
    on_trigger = _Heard("TIMER_TRIGGERS", "HEARS_TRIGGERS", given=True)
    request = _Heard("TIMER_REQUEST", "HEARS_REQUESTS", given=True)

    KIND, MEMBER, IN_C = "A_TIMER", "timers", (_STATUS, _COUNT, *_COMPARE, _BREAK)
    REGISTERS = {
        0x00: Register("CR1", 0, 0xF5), 0x04: Register("CR2", 0, MMS), 0x08: Register("SMCR", 0, 7),
        0x0C: Register("DIER", 0, 1), 0x10: Register("SR"), 0x14: Register("EGR", 0, 1),
        0x18: Register("CCMR1", 0, 0xFFFF), 0x1C: Register("CCMR2", 0, 0xFFFF), 0x20: Register("CCER", 0, 0x3777),
        0x24: Register("CNT"), 0x28: Register("PSC", 0, 0xFFFF), 0x2C: Register("ARR"),
        0x30: Register("RCR", 0, 0xFFFF), 0x34: Register("CCR1"), 0x38: Register("CCR2"), 0x3C: Register("CCR3"),
        0x40: Register("CCR4"), 0x44: Register("BDTR", 0, 0xFF7F),
    }
    LOCKED = {0: 0, 1: 0x73FF, 2: 0x7FFF, 3: 0x7FFF}  # bits of BDTR that each LOCK level freezes

    def __init__(self, name: str, base: int, events: Events, kind: TimerKind,
                 cycles_per_clock: Callable[[], float]) -> None:
        self.events, self.kind, self.width, self.advanced = events, kind, kind.bits, bool(kind.repetition)
        self._cycles_per_clock = cycles_per_clock
        self.updates_at_bottom = False  # true for silicon whose repetition starts in the other direction
        super().__init__(name, base, events.parts)
        self.state.advanced, self.state.full = self.advanced, self._full
        self.triggers, self.state.cycles = -1, cycles_per_clock()
        self.parts.hear("TIMER_COUNTS", self.slot, lambda value: self._counts())
        self.counts = lambda: 0
        for offset in _COMPARE:
            self._write[offset] = partial(self.tell_c, offset), WORD
        self.reset()

    def reset(self) -> None:
        state = self.state
        state.system_break = False
        self.parts.announce()
        self.clear()
        state.update.armed, state.period = False, 0.0
        state.prescaler, state.top, state.repeated = 0, self.value["ARR"], 0
        state.compare = [0, 0, 0, 0]
        state.phase, state.rising, state.origin, state.frozen_at = 0.0, True, 0, -1
        self.touched()

    @property
    def _full(self) -> int:
        return WORD >> 32 - self.width

    def _store(self, key: str, value: int) -> None:
        if not self.advanced and key in ("RCR", "BDTR"):
            raise Unmodelled(f"{self.name}.{key}: this timer has none")
        if key == "RCR" and value >= self.kind.repetition:
            raise Unmodelled(f"{self.name}.RCR = {value}: it counts to {self.kind.repetition - 1}")
        self.value[key] = value

    @property
    def encoder(self) -> bool:
        return self.value["SMCR"] == 3

    @property
    def counts(self) -> Callable[[], int]:
        """Function that returns the counts of an encoder. The timer calls this function if the plant is not in C."""
        return self._counts

    @counts.setter
    def counts(self, counts: Callable[[], int]) -> None:
        self._counts, self.state.joint = counts, -1

    # -- time base ----------------------------------------------------------

    def settle(self) -> None:
        """Account for updates that have passed without a scheduled event."""
        self.parts.do("timer_settle", self._here)

    def schedule(self) -> None:
        """Schedule an event for the next update, if the update has an effect."""
        self.parts.do("timer_schedule", self._here)

    @property
    def _here(self) -> Any:
        return self.parts.ffi.addressof(self.state)

    def read(self, offset: int, size: int) -> int:
        self.settle()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self.settle()
        super().write(offset, size, value)
        self.schedule()

    def clock_changed(self) -> None:
        """Schedule again after a change of the processor's clock."""
        self.settle()
        self.state.cycles = self._cycles_per_clock()
        self.schedule()
        self.touched()

    def freeze(self, frozen: bool) -> None:
        """Stop the counter for the debug unit, or let it continue."""
        state = self.state
        if frozen == (state.frozen_at >= 0):
            return
        self.parts.announce()
        self.settle()
        if frozen:
            state.frozen_at = self.events.now
        else:
            state.phase += self.events.now - state.frozen_at
            state.frozen_at = -1
        self.schedule()
        self.touched()

    @property
    def settled_until(self) -> int:
        """Before this cycle each update has an event. Events withdraw published answers."""
        state = self.state
        return int(state.phase + state.period) if state.period and not state.update.armed else NEVER

    def write_CR2(self, value: int) -> None:
        if value not in (0, MMS_UPDATE):
            raise Unmodelled(f"{self.name}.CR2 = 0x{value:X}: only updates are put out as triggers")
        self.value["CR2"] = value

    def write_CR1(self, value: int) -> None:
        state = self.state
        if value & CMS:
            value &= ~DIR  # read-only in centred modes
        if self.value["CR1"] & CEN & value and value != self.value["CR1"]:
            raise Unmodelled(f"{self.name}.CR1 changed while the timer runs")
        if value & DIR or value & CMS and not self.kind.centred:
            raise Unmodelled(f"{self.name}.CR1 = 0x{value:X}: counting down is not modelled, or not there")
        started = value & CEN and not self.value["CR1"] & CEN
        self.value["CR1"] = value
        if started and self.encoder:
            if self.value["ARR"] != self._full:
                raise Unmodelled(f"{self.name}: encoder mode with ARR = 0x{self.value['ARR']:X} loses counts")
            state.origin = self.value["CNT"] - self._signed_counts()
        elif started:
            if self.value["CNT"] and value & CMS:
                raise Unmodelled(f"{self.name}: started with CNT = {self.value['CNT']}")
            gone = self.value["CNT"] * (state.prescaler + 1) * state.cycles
            state.phase, state.rising = self.events.now - gone, True

    def _signed_counts(self) -> int:
        return int(self.parts.do("timer_counts", self._here))

    def read_CR1(self) -> int:
        """Return the register value with DIR, the present direction of a centred timer."""
        state = self.state
        if not self.value["CR1"] & CMS or not self.value["CR1"] & CEN:
            return self.value["CR1"]
        laps = int((self.events.now - state.phase) / (state.top * (state.prescaler + 1) * state.cycles))
        rising = bool(state.rising) ^ bool(laps % 2) ^ self.updates_at_bottom
        return self.value["CR1"] | (0 if rising else DIR)

    def write_DIER(self, value: int) -> None:
        self.value["DIER"] = value
        self.parts.do("timer_ask", self._here)

    def write_EGR(self, value: int) -> None:
        if value & 1:
            self.state.phase, self.state.rising = float(self.events.now), True
            self.value["CNT"] = 0
            self.parts.do("timer_update", self._here, not self.value["CR1"] & URS)

    def write_ARR(self, value: int) -> None:
        if value > self._full:
            raise Unmodelled(f"{self.name}.ARR is {self.width} bits wide")
        self.value["ARR"] = value
        if not self.value["CR1"] & ARPE:
            if self.value["CR1"] & CEN and value != self.state.top:
                raise Unmodelled(f"{self.name}.ARR changed without preload while the timer runs")
            self.state.top = value

    def write_SR(self, value: int) -> None:
        self.tell_c(_STATUS, value)

    def write_CNT(self, value: int) -> None:
        if not self.encoder and self.value["CR1"] & CEN:
            raise Unmodelled(f"{self.name}.CNT written while the timer runs")
        self.parts.announce_read()
        self.value["CNT"] = value & self._full
        self.state.origin = self.value["CNT"] - self._signed_counts()

    def read_CNT(self) -> int:
        return self.ask_c(_COUNT)

    # -- outputs ------------------------------------------------------------

    def _output_mode(self, channel: int) -> int:
        """Return the byte of CCMR for a channel: CCxS, OCxFE, OCxPE, OCxM, OCxCE."""
        return self.value["CCMR1" if channel < 3 else "CCMR2"] >> (8 if channel % 2 == 0 else 0) & 0xFF

    @property
    def outputs_on(self) -> bool:
        """True if outputs are on. While the debug unit stops a timer with MOE, the outputs are disabled as with MOE = 0
        (RM0440 28.3.31). ODrive's firmware relies on this behaviour of the F405."""
        return not self.advanced or bool(self.value["BDTR"] & MOE) and self.state.frozen_at < 0

    def describe(self, pin: Any, channel: int, connected: bool = True) -> None:
        """Describe to C how a pin depends on the compare value of a channel (`pin` of timer.h)."""
        value, state = self.value, self.state
        pin.timer, pin.channel, pin.follows, pin.stays = self.slot, channel - 1, False, 0.0
        if not connected or not value["CCER"] >> 4 * (channel - 1) & 1 or not self.outputs_on:
            return
        mode = self._output_mode(channel)
        if mode & 3 or mode >> 4 & 7 not in (_FORCED_LOW, _PWM1, _PWM2):
            raise Unmodelled(f"{self.name} channel {channel}: only forced low and PWM modes 1, 2 drive outputs")
        if mode >> 4 & 7 == _FORCED_LOW:
            return
        pin.inverted = (mode >> 4 & 7 == _PWM2) != bool(value["CCER"] >> 4 * (channel - 1) & 2)
        pin.top = state.top + (0 if value["CR1"] & CMS else 1)
        pin.follows = state.frozen_at < 0
        if not pin.follows:
            pin.stays = float((self.read_CNT() < state.compare[channel - 1]) != bool(pin.inverted))

    def halves_on(self, channel: int) -> bool:
        """Return true if a channel and its complementary output switch a half bridge."""
        if self.value["CCER"] >> 4 * (channel - 1) & 5 != 5 or not self.outputs_on:
            return False
        if not self.value["BDTR"] & 0x7F:
            raise Unmodelled(f"{self.name} channel {channel}: a half bridge without dead time shorts the supply")
        return True

    def duty(self, channel: int) -> float:
        """Return the fraction of time, 0 to 1, for which the pin of a channel (1 to 4) is high."""
        pin = self.parts.ffi.new("pin *")
        self.describe(pin, channel)
        return float(self.parts.lib.pin_share(self.parts.state.timers, pin))

    # -- break --------------------------------------------------------------

    def _sense_break(self) -> None:
        self.parts.do("timer_sense_break", self._here)

    def set_system_break(self, active: bool) -> None:
        """Activate or deactivate the break sources within the chip."""
        self.state.system_break = active
        self._sense_break()

    def set_break(self, low: bool) -> None:
        """Set the break pin high or low. low: true if the pin is active low."""
        self.state.break_low = low
        self._sense_break()
        self.settle()
        self.schedule()

    def clock_failed(self) -> None:
        """Activate the break of the timers, as the clock security system does."""
        if self.advanced and self.value["BDTR"] & BKE:
            self.parts.announce()
            self.value["SR"] |= BIF
            self.value["BDTR"] &= ~MOE
            self.touched()

    def write_BDTR(self, value: int) -> None:
        if not self.advanced:
            raise Unmodelled(f"{self.name}.BDTR: this timer has none")
        old = self.value["BDTR"]
        frozen = self.LOCKED[old >> 8 & 3] | (0x300 if old & 0x300 else 0)
        new = old & frozen | value & ~frozen
        if new & MOE != old & MOE:
            self.parts.announce()
        self.value["BDTR"] = new
        self._sense_break()

    # -- encoder ------------------------------------------------------------

    def write_SMCR(self, value: int) -> None:
        if value not in (0, 3) or value and not self.kind.encoder:
            raise Unmodelled(f"{self.name}.SMCR = {value}: only encoder mode 3 (x4) is modelled")
        self.value["SMCR"] = value

    def write_CCMR1(self, value: int) -> None:
        self._modes("CCMR1", value)

    def write_CCMR2(self, value: int) -> None:
        self._modes("CCMR2", value)

    def _modes(self, key: str, value: int) -> None:
        if value and (key == "CCMR2" and self.kind.outputs < 3 or value >> 8 and self.kind.outputs < 2):
            raise Unmodelled(f"{self.name}.{key} = 0x{value:X}: it has {self.kind.outputs} outputs")
        if self.advanced and self.value["BDTR"] >> 8 & 3 == 3 and value != self.value[key]:
            return  # LOCK level 3
        self.parts.announce()
        self.value[key] = value

    def write_CCER(self, value: int) -> None:
        if value >> 4 * self.kind.outputs or value & 0x0444 and not self.advanced:
            raise Unmodelled(f"{self.name}.CCER = 0x{value:X}: it has no such outputs")
        self.parts.announce()
        self.value["CCER"] = value
