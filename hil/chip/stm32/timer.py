"""Timers (RM0090 sections 17 to 19, RM0440 sections 28 to 30): time base with repetition, PWM, break, encoder mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from femtorque.codegen.board.chip import Timer as TimerKind
from femtorque.hil.chip.events import NEVER, Event, Events
from femtorque.hil.chip.lending import Lendable, Lending
from femtorque.hil.chip.registers import WORD, Register, Unmodelled

CEN, URS, DIR, CMS, ARPE = 1 << 0, 1 << 2, 1 << 4, 3 << 5, 1 << 7
MMS, MMS_UPDATE = 7 << 4, 2 << 4
UIF, BIF = 1 << 0, 1 << 7
BKE, BKP, AOE, MOE = 1 << 12, 1 << 13, 1 << 14, 1 << 15
_COMPARE = {0x34: 1, 0x38: 2, 0x3C: 3, 0x40: 4}  # offset: channel
_FORCED_LOW, _PWM1, _PWM2 = 4, 6, 7
_CHANNELS = range(1, 5)


class Timer(Lendable):
    """One timer, described by `femtorque.codegen.board.chip.Timer`: width, outputs, encoder mode, whether it counts up
    and down; timers with a repetition counter have break and MOE too.

    The board reads outputs by `duty(channel)` and `outputs_on`, gives encoder counts by `counts` and the level of the
    break pin by `set_break`. `before_change` is called before an output changes, `before_read` before an encoder's
    count is read.

    `on_trigger` is called with the cycle of each update that is put out as trigger (TRGO, CR2.MMS = update).

    joint: whose encoder it counts, if the counts are the plant's without any error. follows: slot of the converter that
    its trigger starts.

    An update is an event only if it has an effect: preloaded values, a trigger, an interrupt, a call of `on_update`.
    Otherwise the time of the last update is computed when a register is accessed.
    """

    REGISTERS = {
        0x00: Register("CR1", 0, 0xF5), 0x04: Register("CR2", 0, MMS), 0x08: Register("SMCR", 0, 7),
        0x0C: Register("DIER", 0, 1), 0x10: Register("SR"), 0x14: Register("EGR", 0, 1),
        0x18: Register("CCMR1", 0, 0xFFFF), 0x1C: Register("CCMR2", 0, 0xFFFF), 0x20: Register("CCER", 0, 0x3777),
        0x24: Register("CNT"), 0x28: Register("PSC", 0, 0xFFFF), 0x2C: Register("ARR"),
        0x30: Register("RCR", 0, 0xFFFF), 0x34: Register("CCR1"), 0x38: Register("CCR2"), 0x3C: Register("CCR3"),
        0x40: Register("CCR4"), 0x44: Register("BDTR", 0, 0xFF7F),
    }
    UNTOUCHED = frozenset({"BDTR"})
    LOCKED = {0: 0, 1: 0x73FF, 2: 0x7FFF, 3: 0x7FFF}  # bits of BDTR that each LOCK level freezes

    def __init__(self, name: str, base: int, events: Events, kind: TimerKind,
                 cycles_per_clock: Callable[[], float]) -> None:
        self.events, self.kind, self.width, self.advanced = events, kind, kind.bits, bool(kind.repetition)
        self._cycles_per_clock = cycles_per_clock
        self.before_change: Callable[[], None] = lambda: None
        self.before_read: Callable[[], None] = lambda: None
        self._on_update: Callable[[], None] | None = None
        self.on_trigger: Callable[[float], None] | None = None
        self.updates_at_bottom = False
        self.request: Callable[[bool], None] = lambda asserted: None  # of the update interrupt
        self.counts: Callable[[], int] = lambda: 0
        self.joint: Callable[[], int | None] = lambda: None
        self.follows: int | None = None
        self._break_low = self._system_break = False
        self._event: Event | None = None
        self._period = 0.0  # cycles from update to update; 0: there is none
        super().__init__(name, base)
        self.reset()

    def reset(self) -> None:
        self._system_break = False
        self.before_change()
        self.request(False)
        self.clear()
        if self._event:
            self._event.cancel()
        self._event, self._period = None, 0.0
        self._shadow = {"PSC": 0, "ARR": self.value["ARR"], "CCR1": 0, "CCR2": 0, "CCR3": 0, "CCR4": 0}
        self._repetition = 0
        self._phase: float = 0  # cycle of the last over- or underflow, or of the start
        self._rising = True  # direction of counting
        self._origin = 0  # encoder: CNT minus the board's counts
        self._frozen_at: int | None = None  # cycle at which the debug unit stopped it

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
        return self._value["SMCR"] == 3

    # -- time base ----------------------------------------------------------

    @property
    def on_update(self) -> Callable[[], None] | None:
        """Function that is called at every update."""
        return self._on_update

    @on_update.setter
    def on_update(self, call: Callable[[], None] | None) -> None:
        self.recall()
        self._settle()
        self._on_update = call
        self._schedule()

    def read(self, offset: int, size: int) -> int:
        self.recall()
        self._settle()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        if self.out and size == 4 and offset == 0x44 and value == self._value["BDTR"] and not self.break_active:
            return  # written again and again while outputs are off: nothing changes
        self.recall()
        if self._event and size == 4 and self._waits(offset):
            self.value[self.REGISTERS[offset].name] = value & self._full
            self.changes += 1
            self.touched()
            return
        self._settle()
        super().write(offset, size, value)
        self._schedule()

    def _waits(self, offset: int) -> bool:
        """True if a write to that register takes effect at the next update only."""
        channel = _COMPARE.get(offset)
        return channel is not None and self.clocked and bool(self._output_mode(channel) & 8)

    def clock_changed(self) -> None:
        """Schedule again after a change of the processor's clock."""
        self.forget()
        self._settle()
        self._schedule()
        self.touched()

    def freeze(self, frozen: bool) -> None:
        """Stop the counter while the debug unit freezes it, or let it go on."""
        if frozen == (self._frozen_at is not None):
            return
        self.before_change()
        self.forget()
        self._settle()
        if self._frozen_at is None:
            self._frozen_at = self.events.now
        else:
            self._phase += self.events.now - self._frozen_at
            self._frozen_at = None
        self._schedule()
        self.touched()

    def _settle(self) -> None:
        """Account for the updates that have passed without an event."""
        if self._event or not self._period:
            return
        passed = (self.events.done - self._phase) // self._period
        if passed > 0:
            self._pass(passed)
            self.value["SR"] |= UIF

    @property
    def settled_until(self) -> int:
        """Cycle before which no update passes without an event; an event withdraws published answers."""
        return int(self._phase + self._period) if self._period and not self._event else NEVER

    def _pass(self, updates: float) -> None:
        """Move on by whole periods."""
        self._phase += updates * self._period
        if self.value["CR1"] & CMS and updates * (self._repetition + 1) % 2:
            self._rising = not self._rising

    def _schedule(self) -> None:
        """Plan an event for the next update, if there is one and it has an effect."""
        counting = self.value["CR1"] & CEN and not self.encoder and self._shadow["ARR"] and self._frozen_at is None
        self._period = (self._repetition + 1) * self._lap() if counting else 0.0
        due = round(self._phase + self._period) if counting and self._brings_something() else None
        if self._event and self._event.at != due:
            self._event.cancel()
            self._event = None
        if due is not None and not self._event:
            self._event = self.events.at(due, self._update_due)

    def _brings_something(self) -> bool:
        value = self.value
        return bool(self._on_update or self._triggers or self._returns or value["DIER"]
                    or value["RCR"] != self._repetition or any(value[key] != old for key, old in self._shadow.items()))

    @property
    def _returns(self) -> bool:
        """True if outputs come on again by themselves at the end of the break (AOE)."""
        return self._value["BDTR"] & (AOE | MOE) == AOE and not self.break_active

    @property
    def _triggers(self) -> bool:
        return self.on_trigger is not None and self._value["CR2"] & MMS == MMS_UPDATE

    def write_CR2(self, value: int) -> None:
        if value not in (0, MMS_UPDATE):
            raise Unmodelled(f"{self.name}.CR2 = 0x{value:X}: only updates are put out as triggers")
        self.value["CR2"] = value

    def _lap(self) -> float:
        """Cycles from one over- or underflow to the next."""
        centred = self.value["CR1"] & CMS
        counts = self._shadow["ARR"] if centred else self._shadow["ARR"] + 1
        return counts * (self._shadow["PSC"] + 1) * self._cycles_per_clock()

    def _update_due(self) -> None:
        self._event = None
        self._pass(1)
        self._update()
        self._schedule()

    def _update(self, flags: bool = True) -> None:
        """Update: take over all preloaded values together. flags: true if the update sets its flag."""
        self.forget("SR")
        taken = {key: self.value[key] for key in self._shadow}
        if taken != self._shadow:  # outputs change only then
            self.before_change()
            self._shadow = taken
        self._repetition = self.value["RCR"]
        if flags:
            self.value["SR"] |= UIF
        if self._returns:
            self.before_change()
            self.forget("BDTR")
            self.value["BDTR"] |= MOE
        if self._on_update:
            self._on_update()
        if self._triggers and self.on_trigger:
            self.on_trigger(self._phase)
        self._ask()

    def _ask(self) -> None:
        if self.value["DIER"]:
            self.request(bool(self.value["SR"] & UIF))

    def write_CR1(self, value: int) -> None:
        if value & CMS:
            value &= ~DIR  # which is read-only there
        if self.value["CR1"] & CEN & value and value != self.value["CR1"]:
            raise Unmodelled(f"{self.name}.CR1 changed while the timer runs")
        if value & DIR or value & CMS and not self.kind.centred:
            raise Unmodelled(f"{self.name}.CR1 = 0x{value:X}: counting down is not modelled, or not there")
        started = value & CEN and not self.value["CR1"] & CEN
        self.value["CR1"] = value
        if started and self.encoder:
            if self.value["ARR"] != self._full:
                raise Unmodelled(f"{self.name}: encoder mode with ARR = 0x{self.value['ARR']:X} loses counts")
            self._origin = self.value["CNT"] - self._signed_counts()
        elif started:
            if self.value["CNT"] and value & CMS:
                raise Unmodelled(f"{self.name}: started with CNT = {self.value['CNT']}")
            gone = self.value["CNT"] * (self._shadow["PSC"] + 1) * self._cycles_per_clock()
            self._phase, self._rising = self.events.now - gone, True

    def read_CR1(self) -> int:
        """Value with DIR, the direction of a centred timer. updates_at_bottom: as of silicon that starts its repetition
        in the other direction."""
        if not self.value["CR1"] & CMS or not self.value["CR1"] & CEN:
            return self.value["CR1"]
        laps = int((self.events.now - self._phase) / self._lap())
        rising = self._rising ^ bool(laps % 2) ^ self.updates_at_bottom
        return self.value["CR1"] | (0 if rising else DIR)

    def write_DIER(self, value: int) -> None:
        self.value["DIER"] = value
        self._ask()

    def write_EGR(self, value: int) -> None:
        if value & 1:
            self._phase, self._rising = self.events.now, True
            self.value["CNT"] = 0
            self._update(flags=not self.value["CR1"] & URS)

    def read_EGR(self) -> int:
        return 0

    def write_ARR(self, value: int) -> None:
        if value > self._full:
            raise Unmodelled(f"{self.name}.ARR is {self.width} bits wide")
        self.value["ARR"] = value
        if not self.value["CR1"] & ARPE:
            if self.value["CR1"] & CEN and value != self._shadow["ARR"]:
                raise Unmodelled(f"{self.name}.ARR changed without preload while the timer runs")
            self._shadow["ARR"] = value

    def read_SR(self) -> int:
        self.say("SR", self.value["SR"], self.settled_until)
        return self.value["SR"]

    def write_SR(self, value: int) -> None:
        self.value["SR"] &= value  # rc_w0
        self._ask()
        self._sense_break()

    def _sense_break(self) -> None:
        """Let the break input act by level: MOE stays low and BIF high while it is active."""
        if self.break_active:
            self.forget()
            self.value["SR"] |= BIF
            if self.value["BDTR"] & MOE:
                self.before_change()
                self.value["BDTR"] &= ~MOE

    def write_CNT(self, value: int) -> None:
        if not self.encoder and self.value["CR1"] & CEN:
            raise Unmodelled(f"{self.name}.CNT written while the timer runs")
        self.before_read()
        self.value["CNT"] = value & self._full
        self._origin = self.value["CNT"] - self._signed_counts()

    def read_CNT(self) -> int:
        if not self.value["CR1"] & CEN:
            return self.value["CNT"]
        if self.encoder:
            self.before_read()
            return self._origin + self._signed_counts() & self._full
        now = self.events.now if self._frozen_at is None else self._frozen_at
        return int(self._count(int(self._clocks_since(now))))

    def _clocks_since(self, cycle: float) -> float:
        """Clocks of the counter from the last over- or underflow to a cycle."""
        return (cycle - self._phase) / ((self._shadow["PSC"] + 1) * self._cycles_per_clock())

    def _count(self, gone: float) -> float:
        """Count of a running counter so many clocks after the last over- or underflow."""
        if not self.value["CR1"] & CMS:
            return gone % (self._shadow["ARR"] + 1)
        top = self._shadow["ARR"]
        place = (gone + (0 if self._rising else top)) % (2 * top)
        return place if place <= top else 2 * top - place

    # -- outputs ------------------------------------------------------------

    def _compare(self, channel: int, value: int) -> None:
        key = f"CCR{channel}"
        self.value[key] = value & self._full
        if not self._output_mode(channel) & 8:  # no preload: at once
            self.before_change()
            self._shadow[key] = self.value[key]

    def write_CCR1(self, value: int) -> None:
        self._compare(1, value)

    def write_CCR2(self, value: int) -> None:
        self._compare(2, value)

    def write_CCR3(self, value: int) -> None:
        self._compare(3, value)

    def write_CCR4(self, value: int) -> None:
        self._compare(4, value)

    def _output_mode(self, channel: int) -> int:
        """The CCMR byte of a channel: CCxS, OCxFE, OCxPE, OCxM, OCxCE."""
        return self._value["CCMR1" if channel < 3 else "CCMR2"] >> (8 if channel % 2 == 0 else 0) & 0xFF

    @property
    def outputs_on(self) -> bool:
        """True if outputs are on. A timer with MOE that the debug unit has stopped drops its outputs as if MOE were 0:
        RM0440 28.3.31; ODrive's firmware relies on the same of the F405."""
        self.recall()
        return self._on

    @property
    def _on(self) -> bool:
        return not self.advanced or bool(self._value["BDTR"] & MOE) and self._frozen_at is None

    def half_bridge(self, channel: int) -> float | None:
        """Share of time (0..1) for which a half bridge on a channel and its complement is switched to the supply; None
        while both of its switches are off."""
        self.recall()
        return self.duty(channel) if self.halves_on(channel) else None

    def low_switch_on(self, channel: int, since: float, until: float) -> bool:
        """True if the low switch of a half bridge conducts all the time between two cycles shortly before and after a
        top of a centred counter: it does while the count is at least the compare value (PWM mode 1)."""
        if self.half_bridge(channel) is None:
            return False
        counts = [self._count(self._clocks_since(cycle)) for cycle in (since, until)]
        return min(counts) >= self._shadow[f"CCR{channel}"]

    # -- lent (femtorque.hil.chip.lending) ----------------------------------------------

    def _lend(self, lending: Lending) -> bool:
        value = self._value
        usual = self.clocked and value["CR1"] & CEN and self._frozen_at is None and not value["DIER"]
        if not lending.whole or not usual or self._on_update:
            return False
        return self._lend_encoder(lending) if self.encoder else self._lend_counter(lending)

    def _lend_encoder(self, lending: Lending) -> bool:
        joint = self.joint()
        if joint is None:
            return False
        state = self._state(lending)
        state.period, state.triggers, state.joint, state.full = 0.0, -1, joint, self._full
        state.origin, state.backwards = self._origin, self._inverted
        self._give(lending, 0x24, "TIMER_COUNT")
        return True

    def _lend_counter(self, lending: Lending) -> bool:
        value, shadow = self._value, self._shadow
        waits = any(value[key] != shadow[key] for key in ("PSC", "ARR"))
        waits = waits or self._returns or value["RCR"] != self._repetition
        if not self._period or waits or self._triggers_unknown:
            return False
        state = self._state(lending)
        state.phase, state.period, state.rising, state.joint = self._phase, self._period, self._rising, -1
        state.clock = (shadow["PSC"] + 1) * self._cycles_per_clock()
        state.laps, state.centred, state.top = self._repetition + 1, bool(value["CR1"] & CMS), shadow["ARR"]
        state.full, state.status = self._full, value["SR"]
        state.triggers = self.follows if self._triggers else -1
        state.value = [value[f"CCR{channel}"] for channel in _CHANNELS]
        state.shadow = [shadow[f"CCR{channel}"] for channel in _CHANNELS]
        state.preloaded = sum(bool(self._output_mode(channel) & 8) << channel - 1 for channel in _CHANNELS)
        lending.give(state.update, self._event)
        self._give(lending, 0x10, "TIMER_STATUS")
        if self.advanced:
            self._hold(lending, 0x44)
        for offset, channel in _COMPARE.items():
            self._give_compare(lending, offset, channel)
        return True

    def _give_compare(self, lending: Lending, offset: int, channel: int) -> None:
        what = lending.what("TIMER_COMPARE") + channel - 1
        self._places.append(lending.place(self, offset, what, self.slot))

    @property
    def _triggers_unknown(self) -> bool:
        """True if its trigger starts a part that is not in C."""
        return self._triggers and self.follows is None

    def _state(self, lending: Lending) -> Any:
        return lending.state.timers[self.slot]

    def _take_back(self, lending: Lending) -> None:
        state = self._state(lending)
        if not state.period:
            return
        self._phase, self._rising = state.phase, bool(state.rising)
        self._value["SR"] = state.status
        for channel in _CHANNELS:
            self._value[f"CCR{channel}"], self._shadow[f"CCR{channel}"] = (
                state.value[channel - 1], state.shadow[channel - 1])
        self._event = lending.take(state.update, self._update_due)

    def follows_compare(self, channel: int) -> tuple[int, bool] | None:
        """(counts of a whole period, whether inverted) of a pin that follows its compare value; None: the pin is
        low."""
        value = self._value
        if not value["CCER"] >> 4 * (channel - 1) & 1 or not self._on:
            return None
        mode = self._output_mode(channel)
        if mode & 3 or mode >> 4 & 7 not in (_FORCED_LOW, _PWM1, _PWM2):
            raise Unmodelled(f"{self.name} channel {channel}: only forced low and PWM modes 1, 2 drive outputs")
        if mode >> 4 & 7 == _FORCED_LOW:
            return None
        inverted = (mode >> 4 & 7 == _PWM2) != bool(value["CCER"] >> 4 * (channel - 1) & 2)
        return self._shadow["ARR"] + (0 if value["CR1"] & CMS else 1), inverted

    def halves_on(self, channel: int) -> bool:
        """True if the outputs switch a half bridge on a channel and its complement."""
        if self._value["CCER"] >> 4 * (channel - 1) & 5 != 5 or not self._on:
            return False
        if not self._value["BDTR"] & 0x7F:
            raise Unmodelled(f"{self.name} channel {channel}: a half bridge without dead time shorts the supply")
        return True

    def duty(self, channel: int) -> float:
        """Share of time (0..1) for which the pin of a channel (1..4) is high."""
        self.recall()
        follows = self.follows_compare(channel)
        if follows is None:
            return 0.0
        top, inverted = follows
        share = min(self._shadow[f"CCR{channel}"] / top, 1.0) if top else 0.0
        if self._frozen_at is not None:
            share = float(self.read_CNT() < self._shadow[f"CCR{channel}"])  # the pin stays at that level
        return 1.0 - share if inverted else share

    # -- break --------------------------------------------------------------

    @property
    def break_active(self) -> bool:
        pin = self._break_low != bool(self._value["BDTR"] & BKP)
        return self.advanced and bool(self._value["BDTR"] & BKE) and (pin or self._system_break)

    def set_system_break(self, active: bool) -> None:
        """Set the level of the chip's own break sources."""
        self._system_break = active
        self._sense_break()

    def set_break(self, low: bool) -> None:
        """Set the level of the break pin (True: low)."""
        self._break_low = low
        self._sense_break()
        if self.value["BDTR"] & AOE:
            self._settle()
            self._schedule()

    def clock_failed(self) -> None:
        """Activate the break input by the clock security system."""
        if self.advanced and self.value["BDTR"] & BKE:
            self.before_change()
            self.forget()
            self.value["SR"] |= BIF
            self.value["BDTR"] &= ~MOE

    def read_BDTR(self) -> int:
        self.say("BDTR", self.value["BDTR"])
        return self.value["BDTR"]

    def write_BDTR(self, value: int) -> None:
        if not self.advanced:
            raise Unmodelled(f"{self.name}.BDTR: this timer has none")
        old = self.value["BDTR"]
        frozen = self.LOCKED[old >> 8 & 3] | (0x300 if old & 0x300 else 0)
        new = old & frozen | value & ~frozen
        if new & MOE != old & MOE:
            self.before_change()
        self.value["BDTR"] = new
        self._sense_break()

    # -- encoder ------------------------------------------------------------

    def _signed_counts(self) -> int:
        """Counts in the direction of the channels' polarities: one inverted input reverses it."""
        return -self.counts() if self._inverted else self.counts()

    @property
    def _inverted(self) -> bool:
        return bool(self._value["CCER"] & 2) != bool(self._value["CCER"] & 0x20)

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
        self.before_change()
        self.value[key] = value

    def write_CCER(self, value: int) -> None:
        if value >> 4 * self.kind.outputs or value & 0x0444 and not self.advanced:
            raise Unmodelled(f"{self.name}.CCER = 0x{value:X}: it has no such outputs")
        self.before_change()
        self.value["CCER"] = value
