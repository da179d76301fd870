"""FDCAN of the STM32G474 (RM0440 section 44; Bosch's M_CAN, by its user's manual 3.3): three controllers with one
clock, each with a fixed part of message RAM.

Refused: restricted operation, clock stop, test modes, transmit events, priority messages. Left out: time stamps,
timeout counter, RAM watchdog, the count of recovery in PSR and ECR.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from femtorque.hil.bus.clock import Handle
from femtorque.hil.bus.frame import SIZES, Frame, arbitration
from femtorque.hil.bus.node import PASSIVE, BitTiming, Error
from femtorque.hil.chip.registers import WORD, Peripheral, Register, Unmodelled
from femtorque.hil.chip.stm32.can import CanController
from femtorque.hil.clock.events import Events

# CCCR
INIT, CCE, MON, DAR, FDOE, BRSE, PXHD, TXP = 1, 1 << 1, 1 << 5, 1 << 6, 1 << 8, 1 << 9, 1 << 12, 1 << 14
SETTINGS = MON | DAR | FDOE | BRSE | PXHD | TXP
TDC, TFQM = 1 << 23, 1 << 24  # DBTP, TXBC
# IR, for FIFO 0; three bits further for FIFO 1
RFN, RFF, RFL = 1, 1 << 1, 1 << 2
TC, TCF, TFE, EP, EW, BO, PEA, PED = 1 << 7, 1 << 8, 1 << 9, 1 << 17, 1 << 18, 1 << 19, 1 << 21, 1 << 22
GROUPS = (0x7, 0x38, 0x1C0, 0x1E00, 0xE000, 0x30000, 0xFC0000)  # of IR, by bit of ILS (44.4.16)
NO_CHANGE = 7  # LEC and DLEC after a read

# 44.3.5: places in each part of message RAM
PIECE, STANDARD, EXTENDED, RECEIVED, TO_SEND = 0x350, 0x000, 0x070, (0x0B0, 0x188), 0x278
ELEMENT, DEPTH, STANDARD_FILTERS, EXTENDED_FILTERS = 72, 3, 28, 8
WARNING, RECOVERY = 96, 129  # 44.4.12 PSR.EW; 44.3.2: sequences of 11 recessive bits
HANDSHAKE = 4  # clocks until INIT reads as it was written: two clock domains; chosen
INTERRUPTS = ("it0", "it1")
PLACES = {"FDCAN1": 0, "FDCAN2": 1, "FDCAN3": 2}


@lru_cache
def _nominal(n: int, quantum: float) -> BitTiming:
    """Timing by NBTP."""
    return BitTiming(((n >> 16 & 0x1FF) + 1) * quantum, 2 + (n >> 8 & 0xFF), 1 + (n & 0x7F), 1 + (n >> 25))


@lru_cache
def _of_data(d: int, quantum: float) -> BitTiming:
    """Timing by DBTP."""
    return BitTiming(((d >> 16 & 31) + 1) * quantum, 2 + (d >> 8 & 31), 1 + (d >> 4 & 15), 1 + (d & 15))


class MessageRam(Peripheral):
    """Message RAM: written in words alone, read in any pieces; after power-on its content is arbitrary."""

    SIZE = 3 * PIECE

    def __init__(self, base: int) -> None:
        self.words = np.random.default_rng(0xCA).integers(0, 1 << 32, self.SIZE // 4, np.uint64).tolist()
        super().__init__("SRAMCAN", base)

    def reset(self) -> None:
        """Keep the content over a reset."""

    def read(self, offset: int, size: int) -> int:
        self._check(offset, "read of")
        return self.words[offset // 4] >> 8 * (offset & 3) & WORD >> 32 - 8 * size

    def write(self, offset: int, size: int, value: int) -> None:
        if size != 4:
            raise Unmodelled(f"write of {size} bytes to {self._where(offset)}")
        self._check(offset, "write to")
        self.words[offset // 4] = value

    def _check(self, offset: int, what: str) -> None:
        if not self.clocked or offset >= self.SIZE:
            raise Unmodelled(f"{what} {self._where(offset)}")


def _registers() -> dict[int, Register]:
    table = {
        0x000: Register("CREL", 0, 0), 0x004: Register("ENDN", 0, 0), 0x00C: Register("DBTP", 0, 0x9F1FFF),
        0x010: Register("TEST", 0, 0), 0x014: Register("RWD", 0, 0), 0x088: Register("HPMS", 0, 0),
        0x018: Register("CCCR", 0, INIT | CCE | SETTINGS), 0x01C: Register("NBTP", 0, 0xFFFFFF7F),
        0x020: Register("TSCC", 0, 0), 0x028: Register("TOCC", 0, 0), 0x040: Register("ECR", 0, 0),
        0x044: Register("PSR", 0, 0), 0x048: Register("TDCR", 0, 0x7F7F), 0x050: Register("IR", 0, 0xFFFFFF),
        0x054: Register("IE", 0, 0xFFFFFF), 0x058: Register("ILS", 0, 0x7F), 0x05C: Register("ILE", 0, 3),
        0x080: Register("RXGFC", 0, 0xF1F033F), 0x084: Register("XIDAM", 0, 0x1FFFFFFF),
        0x0C0: Register("TXBC", 0, TFQM), 0x0C4: Register("TXFQS", 0, 0), 0x0C8: Register("TXBRP", 0, 0),
        0x0CC: Register("TXBAR", 0, 7), 0x0D0: Register("TXBCR", 0, 7), 0x0D4: Register("TXBTO", 0, 0),
        0x0D8: Register("TXBCF", 0, 0), 0x0DC: Register("TXBTIE", 0, 7), 0x0E0: Register("TXBCIE", 0, 7),
        0x0E4: Register("TXEFS", 0, 0), 0x0E8: Register("TXEFA", 0, 0),
    }
    for f in range(2):
        table |= {0x090 + 8 * f: Register(f"RXF{f}S", 0, 0), 0x094 + 8 * f: Register(f"RXF{f}A", 0, 7)}
    return table


@dataclass
class _Fifo:
    """get: index of the oldest element; level: how many there are."""

    get: int = 0
    level: int = 0
    lost: bool = False

    @property
    def put(self) -> int:
        return (self.get + self.level) % DEPTH


@dataclass
class _Buffers:
    """Elements to send. order: of a FIFO's, also cancelled ones until their turn. put: place of the next one."""

    pending: set[int] = field(default_factory=set)
    sent: set[int] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    leaving: set[int] = field(default_factory=set)  # cancelled while on the wire
    order: list[int] = field(default_factory=list)
    put: int = 0


class Fdcan(CanController):
    """clock_hz: of its bits, before CKDIV. request: drives an interrupt request, by its name in INTERRUPTS."""

    REGISTERS = _registers()

    def __init__(self, name: str, base: int, events: Events, ram: MessageRam, clock_hz: Callable[[], float],
                 cycles_per_clock: Callable[[], float]) -> None:
        self.events, self._ram, self._hz, self._cycles = events, ram, clock_hz, cycles_per_clock
        self._piece = PLACES[name] * PIECE
        self.request: dict[str, Callable[[bool], None]] = {line: lambda asserted: None for line in INTERRUPTS}
        self.divider: Callable[[], int] = lambda: 1
        self._pending: Handle | None = None
        super().__init__(name, base)
        for key in ("DBTP", "NBTP", "TDCR", "RXGFC", "XIDAM", "TXBC"):
            self._protect(key)
        for f in range(2):
            self._fifo_registers(f)
        for key in ("IE", "ILS", "ILE"):
            self._on_write(key, lambda value, key=key: self._settle(key, value))  # type: ignore[misc]
        self.reset()

    def _settle(self, key: str, value: int) -> None:
        self.value[key] = value
        self._ask()

    def _protect(self, key: str) -> None:
        """Let a register change with INIT and CCE alone."""
        def write(value: int) -> None:
            if self.value["CCCR"] & CCE:
                self.value[key] = value

        self._on_write(key, write)

    def reset(self) -> None:
        self.clear()
        self.value["CCCR"] = INIT
        self._joined = self._off = False
        self._flags, self._codes, self._logged = 0, [NO_CHANGE, NO_CHANGE], 0
        self._state = (False, False, False)  # last error state: warned, passive, off
        self.counters.clear()
        self._start_over()
        self._forget()
        self._ask()

    def _start_over(self) -> None:
        """Reset FIFOs and requests, as CCE does (44.3.2)."""
        self._fifos, self._buffers, self._sending, self._offered = [_Fifo(), _Fifo()], _Buffers(), -1, -1

    def _forget(self) -> None:
        if self._pending:
            self._pending.cancel()
            self._pending = None

    # -- initialisation -----------------------------------------------------

    def write_CCCR(self, value: int) -> None:
        old = self.value["CCCR"]
        settings = value & SETTINGS if old & CCE else old & SETTINGS & (value | ~MON)
        configures = value & CCE if old & value & INIT else 0
        if configures and not old & CCE:
            self._start_over()
        self.value["CCCR"] = settings | configures | old & INIT
        if (value ^ old) & INIT:
            self._forget()
            self._pending = self.events.after(round(HANDSHAKE * self._cycles()), lambda: self._turn(value & INIT))

    def _turn(self, initialise: int) -> None:
        self._pending, self._joined = None, False
        self.value["CCCR"] = self.value["CCCR"] & ~(INIT | CCE) | (initialise and INIT | self.value["CCCR"] & CCE)
        if initialise:
            self._sending = -1
        elif self.wire and self.connected():
            if self.value["DBTP"] & TDC and self.value["DBTP"] >> 16 & 31 > 1:
                raise Unmodelled(f"{self.name}.DBTP: delay compensation with a prescaler above 2")
            self._pending = self.wire.after_recessive(self, RECOVERY if self._off else 1, self._join)

    def _join(self) -> None:
        self._pending, self._joined = None, True
        self._take_part()

    # -- the node -----------------------------------------------------------

    @property
    def _quantum(self) -> float:
        hz = self._hz()
        return self.divider() / hz if hz else np.inf  # a clock that has died ends no bit

    @property
    def timing(self) -> BitTiming:
        return _nominal(self.value["NBTP"], self._quantum)

    @property
    def fast(self) -> BitTiming | None:
        return _of_data(self.value["DBTP"], self._quantum) if self.value["CCCR"] & FDOE else None

    def sees_itself(self, loop_delay: float) -> bool:
        """True if it reads a sent bit back in time: by the sample point, or compensated by the offset (44.3.4)."""
        fast = self.fast
        assert fast is not None
        if not self.value["DBTP"] & TDC:
            return loop_delay < fast.sample
        offset = (self.value["TDCR"] >> 8 & 0x7F) * self._quantum
        return 0.0 < offset < fast.bit and loop_delay + offset < 127 * self._quantum

    @property
    def listening(self) -> bool:
        return self._joined and not self._off and self.connected() and self.clocked and self._hz() > 0.0

    @property
    def silent(self) -> bool:  # type: ignore[override]
        return bool(self.value["CCCR"] & MON)

    def offer(self) -> Frame | None:
        if not self.listening or self.silent or not self._buffers.pending:
            return None
        self._offered = self._next()
        return self._frame(self._offered)

    @property
    def _queue(self) -> bool:
        return bool(self.value["TXBC"] & TFQM)

    def _next(self) -> int:
        pending = self._buffers.pending
        if self._queue:
            return min(pending, key=lambda i: (arbitration(self._frame(i)), i))
        return next(i for i in self._buffers.order if i in pending)

    def _words(self, offset: int, count: int) -> list[int]:
        first = (self._piece + offset) // 4
        return self._ram.words[first:first + count]

    def _frame(self, i: int) -> Frame:
        """The frame of an element to send (44.3.5, table 406)."""
        head, control, *data = self._words(TO_SEND + ELEMENT * i, ELEMENT // 4)
        if control & 1 << 23:
            raise Unmodelled(f"{self.name}: transmit events")
        extended, fd = bool(head >> 30 & 1), bool(control & 1 << 21 and self.value["CCCR"] & FDOE)
        remote = bool(head >> 29 & 1) and not fd
        size = SIZES[control >> 16 & 15] if fd else min(control >> 16 & 15, 8)
        whole = struct.pack(f"<{len(data)}I", *data)
        return Frame(head & 0x1FFFFFFF if extended else head >> 18 & 0x7FF, b"" if remote else whole[:size], extended,
                     remote, fd, fd and bool(control & 1 << 20 and self.value["CCCR"] & BRSE),
                     fd and (self.counters.passive or bool(head >> 31)))

    def began(self) -> None:
        self._sending = self._offered

    def lost(self) -> None:
        if self.value["CCCR"] & DAR or self._offered in self._buffers.leaving:
            self._done(self._offered, sent=False)

    def sent(self) -> None:
        i, self._sending = self._sending, -1
        if i >= 0:
            self._codes[0] = 0
            self._done(i, sent=True)
        self._note_errors()

    def failed(self, error: Error) -> None:
        i, self._sending = self._sending, -1
        if i >= 0 and (self.value["CCCR"] & DAR or i in self._buffers.leaving):
            self._done(i, sent=False)
        self._fault(error)

    def _done(self, i: int, sent: bool) -> None:
        """Finish a request: sent, or given up; both if it was cancelled on the wire and went through."""
        b = self._buffers
        b.pending.discard(i)
        if sent:
            b.sent.add(i)
            self._flags |= TC if self.value["TXBTIE"] >> i & 1 else 0
        if not sent or i in b.leaving:
            b.cancelled.add(i)
            self._flags |= TCF if self.value["TXBCIE"] >> i & 1 else 0
        b.leaving.discard(i)
        while b.order and b.order[0] not in b.pending:
            b.order.pop(0)
        if not self._queue and not b.order:
            self._flags |= TFE
        self._ask()

    # -- requests -----------------------------------------------------------

    def write_TXBAR(self, value: int) -> None:
        b = self._buffers
        if self.value["CCCR"] & CCE:
            return
        for i in (i for i in range(DEPTH) if value >> i & 1 and i not in b.pending):
            if not self._queue and (i != b.put or i in b.order):
                raise Unmodelled(f"{self.name}.TXBAR = {value}: the FIFO's next element is {b.put}")
            b.pending.add(i)
            b.sent.discard(i)
            b.cancelled.discard(i)
            if not self._queue:
                b.order.append(i)
                b.put = (i + 1) % DEPTH
        self._wake()

    def write_TXBCR(self, value: int) -> None:
        for i in [i for i in self._buffers.pending if value >> i & 1]:
            if i == self._sending:
                self._buffers.leaving.add(i)
            else:
                self._done(i, sent=False)

    def read_TXBAR(self) -> int:
        return 0

    def read_TXBCR(self) -> int:
        return _bits(self._buffers.leaving)

    def read_TXBRP(self) -> int:
        return _bits(self._buffers.pending)

    def read_TXBTO(self) -> int:
        return _bits(self._buffers.sent)

    def read_TXBCF(self) -> int:
        return _bits(self._buffers.cancelled)

    def read_TXFQS(self) -> int:
        b = self._buffers
        if self._queue:
            free = [i for i in range(DEPTH) if i not in b.pending]
            return (free[0] << 16 if free else 1 << 21)
        level = DEPTH - len(b.order)
        get = b.order[0] if b.order else b.put
        return level | get << 8 | b.put << 16 | (0 if level else 1 << 21)

    # -- receiving ----------------------------------------------------------

    def heard(self, frame: Frame) -> None:
        self._codes[0] = 0
        if frame.fast:
            self._codes[1] = 0
        f, match = self._filtered(frame)
        if f is not None:
            self._take(f, match, frame)
        self._note_errors()

    def _filtered(self, frame: Frame) -> tuple[int | None, int]:
        """FIFO of a frame, and R1's bits about the filter (index, or that none matched)."""
        general = self.value["RXGFC"]
        if frame.remote and general >> (0 if frame.extended else 1) & 1:
            return None, 0
        found = self._extended(frame.id) if frame.extended else self._standard(frame.id)
        if found is not None:
            what, index = found
            if what in (4, 5, 6):
                raise Unmodelled(f"{self.name}: filters of priority messages")
            return {1: 0, 2: 1}.get(what), index << 24
        unmatched = general >> (2 if frame.extended else 4) & 3
        return (unmatched if unmatched < 2 else None), 1 << 31

    def _standard(self, number: int) -> tuple[int, int] | None:
        count = min(self.value["RXGFC"] >> 16 & 31, STANDARD_FILTERS)
        for index, word in enumerate(self._words(STANDARD, count)):
            kind, what, one, two = word >> 30, word >> 27 & 7, word >> 16 & 0x7FF, word & 0x7FF
            if kind != 3 and what and _matches(kind, number, one, two):
                return what, index
        return None

    def _extended(self, number: int) -> tuple[int, int] | None:
        count = min(self.value["RXGFC"] >> 24 & 15, EXTENDED_FILTERS)
        words = self._words(EXTENDED, 2 * count)
        for index in range(count):
            first, second = words[2 * index:2 * index + 2]
            kind, what, one, two = second >> 30, first >> 29, first & 0x1FFFFFFF, second & 0x1FFFFFFF
            masked = number if kind == 3 else number & self.value["XIDAM"]
            if what and _matches(kind % 3, masked, one, two):
                return what, index
        return None

    def _take(self, f: int, match: int, frame: Frame) -> None:
        fifo, shift = self._fifos[f], 3 * f
        if fifo.level == DEPTH:
            if not self.value["RXGFC"] >> 9 - f & 1:  # F0OM is bit 9, F1OM bit 8
                fifo.lost = True
                self._flags |= RFL << shift
                return
            fifo.get, fifo.level = (fifo.get + 1) % DEPTH, DEPTH - 1
        self._lay_down(RECEIVED[f] + ELEMENT * fifo.put, match, frame)
        fifo.level += 1
        self._flags |= (RFN | (RFF if fifo.level == DEPTH else 0)) << shift

    def _lay_down(self, offset: int, match: int, frame: Frame) -> None:
        number = frame.id | 1 << 30 if frame.extended else frame.id << 18
        control = match | frame.fd << 21 | frame.fast << 20 | frame.code << 16
        words = [number | frame.remote << 29 | frame.passive << 31, control]
        padded = frame.data.ljust(-(-len(frame.data) // 4) * 4, b"\0")
        words += [int.from_bytes(padded[i:i + 4], "little") for i in range(0, len(padded), 4)]
        first = (self._piece + offset) // 4
        self._ram.words[first:first + len(words)] = words

    def _fifo_registers(self, f: int) -> None:
        def status() -> int:
            fifo = self._fifos[f]
            return fifo.level | fifo.get << 8 | fifo.put << 16 | (fifo.level == DEPTH) << 24 | fifo.lost << 25

        def acknowledge(value: int) -> None:
            fifo = self._fifos[f]
            count = (value - fifo.get) % DEPTH + 1
            if value >= DEPTH or count > fifo.level:
                raise Unmodelled(f"{self.name}.RXF{f}A = {value}: the FIFO has {fifo.level} from {fifo.get} on")
            fifo.get, fifo.level = (value + 1) % DEPTH, fifo.level - count

        self._read[self._offset(f"RXF{f}S")] = status
        self._on_write(f"RXF{f}A", acknowledge)

    # -- interrupts ---------------------------------------------------------

    def read_IR(self) -> int:
        return self._flags

    def write_IR(self, value: int) -> None:
        self._flags &= ~value
        for f, fifo in enumerate(self._fifos):
            fifo.lost = fifo.lost and not value >> 3 * f & RFL
        self._ask()

    def _ask(self) -> None:
        raised, enabled = self._flags & self.value["IE"], self.value["ILE"]
        second = sum(group for bit, group in enumerate(GROUPS) if self.value["ILS"] >> bit & 1)
        self.request["it0"](bool(enabled & 1 and raised & ~second))
        self.request["it1"](bool(enabled & 2 and raised & second))

    # -- errors -------------------------------------------------------------

    def disturbed(self, error: Error) -> None:
        self._fault(error)

    def _fault(self, error: Error) -> None:
        fast = self.wire is not None and self.wire.fast_phase
        self._codes[fast] = int(error)
        self._logged = min(self._logged + 1, 255)
        self._flags |= PED if fast else PEA
        self._note_errors()

    def _note_errors(self) -> None:
        """Set the flags of a change of the error state, in either direction; bus off sets INIT."""
        c = self.counters
        if c.off and not self._off:
            self._off, self._joined = True, False
            self.value["CCCR"] |= INIT
        state = max(c.transmit, c.receive) >= WARNING, c.passive, self._off
        for was, now, flag in zip(self._state, state, (EW, EP, BO), strict=True):
            self._flags |= flag if was != now else 0
        self._state = state
        self._ask()

    def read_ECR(self) -> int:
        c, logged = self.counters, self._logged
        self._logged = 0
        return min(c.transmit, 255) | min(c.receive, PASSIVE) << 8 | (c.receive > PASSIVE) << 15 | logged << 16

    def read_PSR(self) -> int:
        warned, passive, off = self._state
        status = self._codes[0] | self._activity() << 3 | passive << 5 | warned << 6 | off << 7 | self._codes[1] << 8
        self._codes = [NO_CHANGE, NO_CHANGE]
        return status

    def _activity(self) -> int:
        if not self._joined:
            return 0
        if self.wire is None or self.wire.idle:
            return 1
        return 3 if self._sending >= 0 else 2


class FirstFdcan(Fdcan):
    """FDCAN1, with the divider of the clock of all three."""

    REGISTERS = _registers() | {0x100: Register("CKDIV", 0, 15)}

    def write_CKDIV(self, value: int) -> None:
        if self.value["CCCR"] & CCE:
            self.value["CKDIV"] = value

    def divided_by(self) -> int:
        """Divider of the clock: 1, or twice CKDIV (44.4.37)."""
        return 2 * self.value["CKDIV"] or 1


class Block(Peripheral):
    """The peripherals behind one clock gate and one reset bit; it has no addresses of its own."""

    SIZE = 0

    def __init__(self, members: tuple[Peripheral, ...]) -> None:
        self._members, self._clocked = members, True
        super().__init__("FDCAN", members[0].base)

    @property
    def clocked(self) -> bool:
        return self._clocked

    @clocked.setter
    def clocked(self, on: bool) -> None:
        self._clocked = on
        for member in self._members:
            member.clocked = on

    def reset(self) -> None:
        for member in self._members:
            member.reset()


def _bits(numbers: set[int]) -> int:
    return sum(1 << i for i in numbers) & WORD


def _matches(kind: int, number: int, one: int, two: int) -> bool:
    """kind: 0, a range; 1, either of two; 2, value and mask."""
    if kind == 0:
        return one <= number <= two
    return number in (one, two) if kind == 1 else (number ^ one) & two == 0
