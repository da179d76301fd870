"""The independent watchdog (RM0090 21, RM0440 43), clocked by a 32 kHz oscillator, resets the chip."""

from collections.abc import Callable

from femtorque.hil.chip.registers import Peripheral, Register
from femtorque.hil.chip.stm32.clocks import LSI_HZ
from femtorque.hil.clock import Events

_UNLOCK, _START, _FEED = 0x5555, 0xCCCC, 0xAAAA


class Watchdog(Peripheral):
    """The watchdog. on_bite: called when it has expired. Only a reset stops it. `watchdog` of parts.h feeds it."""

    REGISTERS = {0x0: Register("KR", 0, 0xFFFF), 0x4: Register("PR", 0, 7), 0x8: Register("RLR", 0, 0xFFF),
                 0xC: Register("SR", 0, 0)}

    def __init__(self, base: int, events: Events, hclk: Callable[[], int]) -> None:
        self.events, self._hclk = events, hclk
        self.on_bite: Callable[[], None] = lambda: None
        self._state = events.parts.state.watchdog
        events.parts.hear("WATCHDOG_BITES", 0, lambda value: self.on_bite())
        super().__init__("IWDG", base)
        self.reset()

    def attached(self) -> None:
        """Let C handle the writes that feed the watchdog."""
        assert self._bus is not None
        place, kinds = self._bus.place(self.base), self._bus.kinds
        place.kind, place.value = kinds.OF_A_PART, kinds.THE_WATCHDOG << kinds.KIND

    def reset(self) -> None:
        self.clear()
        self._state.bite.armed, self._state.timeout = False, 0
        self._running = self._unlocked = False
        self._left: int | None = None  # cycles until the watchdog expires, while it is stopped

    def hold(self, held: bool) -> None:
        """Stop the watchdog for the debug unit, or let it continue."""
        bite, now = self._state.bite, self.events.now
        if held and bite.armed:
            self._left, bite.armed = bite.at - now, False
        elif not held and self._left is not None:
            self.events.parts.do("parts_plan", self.events.parts.ffi.addressof(bite), now + self._left)
            self._left = None

    def clock_changed(self) -> None:
        """Compute the time-out in cycles of the present processor clock."""
        seconds = (self.value["RLR"] + 1) * (4 << min(self.value["PR"], 6)) / LSI_HZ
        self._state.timeout = round(seconds * self._hclk()) if self._running and not self._unlocked else 0

    def write_KR(self, value: int) -> None:
        self._unlocked = value == _UNLOCK
        if value == _START:
            self._running = True
        self.clock_changed()
        if value in (_START, _FEED) and self._running:
            self.events.parts.do("watchdog_feed")

    def write_PR(self, value: int) -> None:
        if self._unlocked:
            self.value["PR"] = value

    def write_RLR(self, value: int) -> None:
        if self._unlocked:
            self.value["RLR"] = value


class WatchdogG4(Watchdog):
    """A watchdog with a window, which must keep the reset value that disables it (RM0440 43.4.5)."""

    REGISTERS = Watchdog.REGISTERS | {0x10: Register("WINR", 0xFFF, 0)}
