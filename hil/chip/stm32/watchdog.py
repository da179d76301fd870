"""The independent watchdog (RM0090 section 21, RM0440 section 43), on its own 32 kHz oscillator; it resets the chip."""

from __future__ import annotations

from collections.abc import Callable

from femtorque.hil.chip.events import Event, Events
from femtorque.hil.chip.lending import Lendable, Lending
from femtorque.hil.chip.registers import Register
from femtorque.hil.chip.stm32.clocks import LSI_HZ

_UNLOCK, _START, _FEED = 0x5555, 0xCCCC, 0xAAAA


class Watchdog(Lendable):
    """`on_bite`: called when it was not fed in time. Once started it stops at a reset only."""

    REGISTERS = {0x0: Register("KR", 0, 0xFFFF), 0x4: Register("PR", 0, 7), 0x8: Register("RLR", 0, 0xFFF),
                 0xC: Register("SR", 0, 0)}

    alone = True

    def __init__(self, base: int, events: Events, hclk: Callable[[], int]) -> None:
        self.events, self._hclk = events, hclk
        self.on_bite: Callable[[], None] = lambda: None
        self._event: Event | None = None
        super().__init__("IWDG", base)
        self.reset()

    def reset(self) -> None:
        self.clear()
        if self._event:
            self._event.cancel()
        self._event = None
        self._running = self._unlocked = False
        self._left: int | None = None  # cycles to a reset, while it is held

    def timeout_s(self) -> float:
        return (self.value["RLR"] + 1) * (4 << min(self.value["PR"], 6)) / LSI_HZ

    def _cycles(self) -> int:
        return round(self.timeout_s() * self._hclk())

    def _lend(self, lending: Lending) -> bool:
        if not (self._running and self._event and self.clocked) or self._unlocked:
            return False
        state = lending.state.watchdog
        state.timeout = self._cycles()
        lending.give(state.bite, self._event)
        self._give(lending, 0x0, "WATCHDOG_KEY")
        return True

    def _take_back(self, lending: Lending) -> None:
        self._event = lending.take(lending.state.watchdog.bite, lambda: self.on_bite())
        self._unlocked = False

    def hold(self, held: bool) -> None:
        """Stop it while the debug unit freezes it, or let it go on."""
        self.recall()
        if held and self._event:
            self._left = self._event.at - self.events.now
            self._event.cancel()
            self._event = None
        elif not held and self._left is not None:
            self._event, self._left = self.events.after(self._left, lambda: self.on_bite()), None

    def write_KR(self, value: int) -> None:
        self._unlocked = value == _UNLOCK
        if value == _START:
            self._running = True
        if value in (_START, _FEED) and self._running:
            if self._event:
                self._event.cancel()
            self._event = self.events.after(self._cycles(), lambda: self.on_bite())

    def read_KR(self) -> int:
        return 0

    def write_PR(self, value: int) -> None:
        if self._unlocked:
            self.value["PR"] = value

    def write_RLR(self, value: int) -> None:
        if self._unlocked:
            self.value["RLR"] = value


class WatchdogG4(Watchdog):
    """A watchdog whose window stays as out of reset, which is none (RM0440 section 43.4.5); others are refused."""

    REGISTERS = Watchdog.REGISTERS | {0x10: Register("WINR", 0xFFF, 0)}
