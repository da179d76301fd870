"""bxCAN of the STM32F405 (RM0090 section 32): modes, three mailboxes, two FIFOs of three, 28 filter banks, errors.

CAN2 has no filters of its own: they are in CAN1 and it needs CAN1's clock. Refused: time-triggered mode, waking by the
bus, loop back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from femtorque.hil.bus.clock import Handle
from femtorque.hil.bus.frame import Frame, arbitration
from femtorque.hil.bus.node import BitTiming, Error
from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32.can import PythonController
from femtorque.hil.clock.events import Events

# MCR, MSR
INRQ, SLEEP, TXFP, RFLM, NART, ABOM, RESET, DBF = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 6, 1 << 15, 1 << 16
INAK, SLAK, ERRI, SLAKI, TXM, RXM, SAMP, RX = 1, 1 << 1, 1 << 2, 1 << 4, 1 << 8, 1 << 9, 1 << 10, 1 << 11
# TSR, of mailbox 0; eight bits further for each next one
RQCP, TXOK, ALST, TERR, ABRQ = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 7
FULL, FOVR, RFOM = 1 << 3, 1 << 4, 1 << 5  # RFR
# IER
TMEIE, FMPIE, FFIE, FOVIE = 1, 1 << 1, 1 << 2, 1 << 3  # the last three for FIFO 0; three bits further for FIFO 1
EWGIE, EPVIE, BOFIE, LECIE, ERRIE, SLKIE = 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 15, 1 << 17
EWGF, EPVF, BOFF = 1, 1 << 1, 1 << 2  # ESR
TXRQ, RTR, IDE = 1, 1 << 1, 1 << 2  # TIR, RIR
SILM = 1 << 31  # BTR
FINIT = 1  # FMR

MAILBOXES, DEPTH, BANKS = 3, 3, 28
WARNING = 96  # 32.9.2, ESR.EWGF
RECOVERY = 128  # sequences of 11 recessive bits, 32.7.6
HANDSHAKE = 4  # clocks from the request of a mode, on an idle bus, to its acknowledgement; chosen
RELEASE = 4  # clocks that RFOM takes (32.9.2: cleared by hardware when the mailbox has been released); chosen
INTERRUPTS = ("tx", "rx0", "rx1", "sce")


def _registers() -> dict[int, Register]:
    table = {
        0x00: Register("MCR", 0, INRQ | SLEEP | TXFP | RFLM | NART | ABOM | RESET | DBF),
        0x04: Register("MSR", 0, ERRI | SLAKI), 0x08: Register("TSR", 0, 0xFF8F8F8F),
        0x0C: Register("RF0R", 0, FULL | FOVR | RFOM), 0x10: Register("RF1R", 0, FULL | FOVR | RFOM),
        0x14: Register("IER", 0, 0x28F7F), 0x18: Register("ESR", 0, 0x70), 0x1C: Register("BTR", 0, SILM | 0x037F03FF),
    }
    for m in range(MAILBOXES):
        for at, key, writable in ((0, "TI", 0xFFFFFFFF), (4, "TDT", 0xF), (8, "TDL", 0xFFFFFFFF),
                                  (12, "TDH", 0xFFFFFFFF)):
            table[0x180 + 16 * m + at] = Register(f"{key}{m}R", 0, writable)
    for f in range(2):
        for at, key in ((0, "RI"), (4, "RDT"), (8, "RDL"), (12, "RDH")):
            table[0x1B0 + 16 * f + at] = Register(f"{key}{f}R", 0, 0)
    return table


def _filter_registers() -> dict[int, Register]:
    banks = (1 << BANKS) - 1
    table = {0x200: Register("FMR", 0, 0x3F01), 0x204: Register("FM1R", 0, banks), 0x20C: Register("FS1R", 0, banks),
             0x214: Register("FFA1R", 0, banks), 0x21C: Register("FA1R", 0, banks)}
    for bank in range(BANKS):
        table |= {0x240 + 8 * bank + 4 * half: Register(f"F{bank}R{half + 1}") for half in range(2)}
    return table


@dataclass
class _Mailbox:
    """state: empty, pending, sending. order: number of the request."""

    state: str = "empty"
    flags: int = 0
    order: int = 0
    abort: bool = False


class _Fifo:
    def __init__(self) -> None:
        self.slots: list[tuple[int, int, int, int]] = []  # RIR, RDTR, RDLR, RDHR
        self.flags = 0
        self.releasing = False


@lru_cache
def _timing(btr: int, clock_hz: float) -> BitTiming:
    """Timing by BTR."""
    return BitTiming(((btr & 0x3FF) + 1) / clock_hz, 2 + (btr >> 16 & 15), 1 + (btr >> 20 & 7), 1 + (btr >> 24 & 3))


class BxCan(PythonController):
    """One controller. clock_hz: of its bus. request: drives its interrupt requests, by name of INTERRUPTS."""

    REGISTERS = _registers()

    def __init__(self, name: str, base: int, events: Events, clock_hz: Callable[[], float],
                 cycles_per_clock: Callable[[], float]) -> None:
        self.events, self._clock_hz, self._cycles = events, clock_hz, cycles_per_clock
        self.request: dict[str, Callable[[bool], None]] = {line: lambda asserted: None for line in INTERRUPTS}
        self.filters: Filters
        self._pending: Handle | None = None  # the change to a requested mode
        self._recovering: Handle | None = None  # the end of bus off
        self._boxes = [_Mailbox() for _ in range(MAILBOXES)]
        self._fifos = [_Fifo() for _ in range(2)]
        super().__init__(name, base)
        for m in range(MAILBOXES):
            for key in ("TI", "TDT", "TDL", "TDH"):
                self._protect(f"{key}{m}R", m)
        for f in range(2):
            for place, key in enumerate(("RI", "RDT", "RDL", "RDH")):
                self._show(f"{key}{f}R", f, place)
        self.reset()

    def _protect(self, key: str, m: int) -> None:
        """Ignore writes to a mailbox that is not empty (32.9.3)."""
        def write(value: int) -> None:
            if self._boxes[m].state == "empty":
                self.value[key] = value
                if key.startswith("TI") and value & TXRQ:
                    self._wanted(m)

        self._on_write(key, write)

    def _show(self, key: str, f: int, place: int) -> None:
        """Show the oldest frame of a FIFO in a register."""
        self._read[self._offset(key)] = lambda: self._fifos[f].slots[0][place] if self._fifos[f].slots else 0

    def reset(self) -> None:
        self.clear()
        self._mode, self._off = "sleep", False
        self._acknowledged = SLAK
        self._flags, self._lec = 0, 0
        self._errors = 0  # last flags of ESR
        self.counters.clear()
        self._boxes[:] = [_Mailbox() for _ in range(MAILBOXES)]
        self._fifos[:] = [_Fifo() for _ in range(2)]
        self._order, self._sending = 0, -1
        self._forget()
        self._stay_off()
        self._ask()

    def _forget(self) -> None:
        if self._pending:
            self._pending.cancel()
            self._pending = None

    def _stay_off(self) -> None:
        if self._recovering:
            self._recovering.cancel()
            self._recovering = None

    def read(self, offset: int, size: int) -> int:
        self._need_filters_clock()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self._need_filters_clock()
        super().write(offset, size, value)

    def _need_filters_clock(self) -> None:
        if not self.filters.clocked:
            raise Unmodelled(f"{self.name} used while the clock of {self.filters.name}, which has its memory, is off")

    # -- modes (32.4) -------------------------------------------------------

    def write_MCR(self, value: int) -> None:
        if value & RESET:
            self.reset()
            return
        self.value["MCR"] = value
        self._turn("init" if value & INRQ else "sleep" if value & SLEEP else "normal")

    def _turn(self, wanted: str) -> None:
        """Request a mode: initialisation and sleep wait for the frame on the bus, normal for eleven recessive bits.
        Initialisation wins over sleep: HAL_CAN_Init of ST's stm32f4xx_hal_can.c requests it and waits for INAK while
        SLEEP is still set, as out of reset."""
        self._forget()
        if wanted == self._mode:
            return
        if wanted == "normal":
            if self.wire and self.connected():
                self._pending = self.wire.after_recessive(self, 1, self._join)
        elif self._mode == "normal" and self.wire and not self.wire.idle and not self._off:
            self._pending = self.wire.after_recessive(self, 1, lambda: self._enter(wanted))
        else:
            self._pending = self.events.after(round(HANDSHAKE * self._cycles()), lambda: self._enter(wanted))

    def _enter(self, mode: str) -> None:
        """End bus off, in normal mode alone (32.7.6): in other modes the controller does not read the bus."""
        self._pending = None
        self._stay_off()
        self._mode, self._acknowledged = mode, {"sleep": SLAK, "init": INAK, "normal": 0}[mode]
        if mode == "sleep" and self.value["IER"] & SLKIE:
            self._flags |= SLAKI
        self._ask()

    def _join(self) -> None:
        """Clear INAK after eleven recessive bits (32.4.2), end bus off only after 128 times as many (32.7.6)."""
        self._enter("normal")
        if self._off:
            self._recover()
        else:
            self._take_part()

    def _recover(self) -> None:
        if self.wire:
            self._recovering = self.wire.after_recessive(self, RECOVERY, self._take_part)

    def read_MSR(self) -> int:
        busy = self.listening and self.wire is not None and not self.wire.idle
        going = (TXM if self._sending >= 0 else RXM) if busy else 0
        return self._acknowledged | self._flags | going | SAMP | RX

    def write_MSR(self, value: int) -> None:
        self._flags &= ~value
        self._ask()

    def write_BTR(self, value: int) -> None:
        if self._mode == "init":
            self.value["BTR"] = value

    # -- the node -----------------------------------------------------------

    @property
    def timing(self) -> BitTiming:
        return _timing(self.value["BTR"], self._clock_hz())

    @property
    def listening(self) -> bool:
        return self._mode == "normal" and not self._off and self.connected() and self.clocked

    @property
    def silent(self) -> bool:  # type: ignore[override]
        return bool(self.value["BTR"] & SILM)

    def offer(self) -> Frame | None:
        if not self.listening or self.silent:
            return None
        waiting = [m for m, box in enumerate(self._boxes) if box.state == "pending"]
        if not waiting:
            return None
        self._offered = min(waiting, key=self._priority)
        return self._frame(self._offered)

    def _priority(self, m: int) -> tuple[int, int]:
        """Next mailbox by the order of requests, or by identifier and then by number (32.7.1)."""
        if self.value["MCR"] & TXFP:
            return 0, self._boxes[m].order
        return arbitration(self._frame(m)), m

    def _frame(self, m: int) -> Frame:
        word, length = self.value[f"TI{m}R"], min(self.value[f"TDT{m}R"] & 15, 8)
        data = b"".join(self.value[f"{key}{m}R"].to_bytes(4, "little") for key in ("TDL", "TDH"))[:length]
        remote, extended = bool(word & RTR), bool(word & IDE)
        return Frame(word >> 3 if extended else word >> 21, b"" if remote else data, extended, remote)

    def _wanted(self, m: int) -> None:
        self._order += 1
        self._boxes[m] = _Mailbox("pending", 0, self._order)
        self._ask()
        self._wake()

    def began(self) -> None:
        self._sending = self._offered
        self._boxes[self._sending].state = "sending"

    def lost(self) -> None:
        self._give_up_or_retry(self._offered, ALST, self.value["MCR"] & NART)

    def sent(self) -> None:
        m, self._sending = self._sending, -1
        if m >= 0:
            self._lec = 0
            self._empty(m, RQCP | TXOK)

    def failed(self, error: Error) -> None:
        m, self._sending = self._sending, -1
        if m >= 0:
            self._give_up_or_retry(m, TERR, self.value["MCR"] & NART or self._boxes[m].abort)
        self._fault(error)

    def _give_up_or_retry(self, m: int, why: int, give_up: int | bool) -> None:
        if give_up:
            self._empty(m, RQCP | why)
        else:
            self._boxes[m].state = "pending"
            self._boxes[m].flags |= why

    def _empty(self, m: int, flags: int) -> None:
        self._boxes[m] = _Mailbox("empty", flags)
        self.value[f"TI{m}R"] &= ~TXRQ
        self._note_errors()

    # -- mailboxes ----------------------------------------------------------

    def read_TSR(self) -> int:
        status = 0
        for m, box in enumerate(self._boxes):
            status |= (box.flags | (ABRQ if box.abort else 0)) << 8 * m | (box.state == "empty") << 26 + m
        empty = [m for m, box in enumerate(self._boxes) if box.state == "empty"]
        full = [m for m, box in enumerate(self._boxes) if box.state != "empty"]
        last = max(full, key=self._priority) if full else 0
        low = 1 << 29 + last if len(full) > 1 else 0
        return status | low | (empty[0] if empty else last) << 24

    def write_TSR(self, value: int) -> None:
        for m, box in enumerate(self._boxes):
            asked = value >> 8 * m & 0xFF
            if asked & RQCP:
                box.flags = 0
            box.flags &= ~(asked & (TXOK | ALST | TERR))
            if asked & ABRQ and box.state == "pending":
                self._empty(m, RQCP)
            elif asked & ABRQ and box.state == "sending":
                box.abort = True
        self._ask()

    def write_IER(self, value: int) -> None:
        self.value["IER"] = value
        self._ask()

    def _ask(self) -> None:
        """Drive the interrupt requests by flags and their enables (32.8)."""
        enabled = self.value["IER"]
        self.request["tx"](bool(enabled & TMEIE and any(box.flags & RQCP for box in self._boxes)))
        for f, fifo in enumerate(self._fifos):
            on = enabled >> 3 * f
            self.request[f"rx{f}"](bool(on & FMPIE and fifo.slots or on & FFIE and fifo.flags & FULL
                                        or on & FOVIE and fifo.flags & FOVR))
        self.request["sce"](bool(enabled & ERRIE and self._flags & ERRI or self._flags & SLAKI))

    # -- FIFOs --------------------------------------------------------------

    def heard(self, frame: Frame) -> None:
        self._lec = 0
        found = self.filters.match(self, frame)
        if found is not None:
            self._store_frame(*found, frame)
        self._note_errors()

    def _store_frame(self, f: int, match: int, frame: Frame) -> None:
        fifo, extended = self._fifos[f], frame.extended
        word = (frame.id << 3 | IDE if extended else frame.id << 21) | (RTR if frame.remote else 0)
        data = frame.data.ljust(8, b"\0")
        slot = (word, match << 8 | len(frame.data), int.from_bytes(data[:4], "little"),
                int.from_bytes(data[4:], "little"))
        if len(fifo.slots) < DEPTH:
            fifo.slots.append(slot)
            fifo.flags |= FULL if len(fifo.slots) == DEPTH else 0
            return
        fifo.flags |= FOVR
        if not self.value["MCR"] & RFLM:  # the newest frame is overwritten
            fifo.slots[-1] = slot

    def read_RF0R(self) -> int:
        return self._fifo_status(0)

    def read_RF1R(self) -> int:
        return self._fifo_status(1)

    def _fifo_status(self, f: int) -> int:
        fifo = self._fifos[f]
        return len(fifo.slots) | fifo.flags | (RFOM if fifo.releasing else 0)

    def write_RF0R(self, value: int) -> None:
        self._write_fifo(0, value)

    def write_RF1R(self, value: int) -> None:
        self._write_fifo(1, value)

    def _write_fifo(self, f: int, value: int) -> None:
        fifo = self._fifos[f]
        fifo.flags &= ~(value & (FULL | FOVR))
        if value & RFOM and fifo.slots and not fifo.releasing:
            fifo.releasing = True
            self.events.after(round(RELEASE * self._cycles()), lambda: self._release(fifo))
        self._ask()

    def _release(self, fifo: _Fifo) -> None:
        if fifo.releasing:
            fifo.releasing = False
            fifo.slots.pop(0)
            self._ask()

    # -- errors (32.7.6) ----------------------------------------------------

    def disturbed(self, error: Error) -> None:
        self._fault(error)

    def _fault(self, error: Error) -> None:
        self._lec = int(error)
        if self.value["IER"] & LECIE:
            self._flags |= ERRI
        self._note_errors()

    def _note_errors(self) -> None:
        """Set the flags of the error state, and request the interrupts of a new one."""
        if self.counters.off and not self._off:
            self._off = True
            if self.value["MCR"] & ABOM:
                self._recover()
        now = self._error_flags()
        risen, self._errors = now & ~self._errors, now
        enabled = self.value["IER"] >> 8 & 7
        if risen & enabled:
            self._flags |= ERRI
        self._ask()

    def _error_flags(self) -> int:
        count = self.counters
        warned = max(count.transmit, count.receive) >= WARNING
        return (EWGF if warned else 0) | (EPVF if count.passive else 0) | (BOFF if self._off else 0)

    def read_ESR(self) -> int:
        count = self.counters
        return self._error_flags() | self._lec << 4 | min(count.transmit, 255) << 16 | count.receive << 24

    def write_ESR(self, value: int) -> None:
        self._lec = value >> 4 & 7


class Filters(BxCan):
    """CAN1, with the filter banks of both controllers (32.7.4): those before FMR.CAN2SB its own, the others CAN2's."""

    REGISTERS = _registers() | _filter_registers()

    def __init__(self, name: str, base: int, events: Events, clock_hz: Callable[[], float],
                 cycles_per_clock: Callable[[], float]) -> None:
        self.filters = self
        self._tests: dict[bool, list[_Test]] | None = None
        super().__init__(name, base, events, clock_hz, cycles_per_clock)
        for key in ("FM1R", "FS1R", "FFA1R"):
            self._settle(key, lambda: False)
        for bank in range(BANKS):
            for half in (1, 2):
                self._settle(f"F{bank}R{half}", partial(self._is_off, bank))
        for key in ("FMR", "FA1R"):
            self._settle(key, lambda: True)

    def _is_off(self, bank: int) -> bool:
        return not self.value["FA1R"] >> bank & 1

    def _settle(self, key: str, free: Callable[[], bool]) -> None:
        """Let a register change only during the set-up of filters (FINIT), or when `free`."""
        def write(value: int) -> None:
            if self.value["FMR"] & FINIT or free():
                self.value[key] = value
                self._tests = None

        self._on_write(key, write)

    def match(self, node: BxCan, frame: Frame) -> tuple[int, int] | None:
        """FIFO and filter match index of the filter that takes a frame."""
        if self.value["FMR"] & FINIT:
            return None
        if self._tests is None:
            first = self.value["FMR"] >> 8 & 0x3F
            self._tests = {True: self._tests_of(range(min(first, BANKS))),
                           False: self._tests_of(range(min(first, BANKS), BANKS))}
        wide = (frame.id << 3 | IDE if frame.extended else frame.id << 21) | (RTR if frame.remote else 0)
        narrow = wide >> 16 & 0xFFE0 | (wide & RTR) << 3 | (wide & IDE) << 1 | wide >> 18 & 7
        for test in self._tests[node is self]:
            if ((wide if test.wide else narrow) ^ test.value) & test.mask == 0:
                return test.fifo, test.index
        return None

    def _tests_of(self, banks: range) -> list[_Test]:
        """Filters in the order of their priority: wide before narrow, lists before masks, then by number. Banks that
        are off count in the numbers."""
        found, numbers = [], [0, 0]
        for bank in banks:
            one, two = self.value[f"F{bank}R1"], self.value[f"F{bank}R2"]
            wide, listed, active = (bool(self.value[key] >> bank & 1) for key in ("FS1R", "FM1R", "FA1R"))
            fifo = self.value["FFA1R"] >> bank & 1
            halves = [half for word in (one, two) for half in (word & 0xFFFF, word >> 16)]
            if wide:
                pairs = [(one, ~1 & 0xFFFFFFFF), (two, ~1 & 0xFFFFFFFF)] if listed else [(one, two)]
            elif listed:
                pairs = [(half, 0xFFFF) for half in halves]
            else:
                pairs = [(halves[0], halves[1]), (halves[2], halves[3])]
            for value, mask in pairs:
                if active:
                    found.append(_Test(not wide, not listed, numbers[fifo], fifo, wide, value, mask))
                numbers[fifo] += 1
        return sorted(found, key=lambda test: (test.narrow, test.masked, test.index))


@dataclass(frozen=True)
class _Test:
    """narrow, masked: keys of its priority; index: its number in its FIFO."""

    narrow: bool
    masked: bool
    index: int
    fifo: int
    wide: bool
    value: int
    mask: int
