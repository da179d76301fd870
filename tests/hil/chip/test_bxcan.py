"""The model of bxCAN agrees with the manual. The tests only write and read registers."""

import pytest

from femtorque.hil.bus import Frame
from femtorque.hil.bus.frame import image
from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32.gpio import Gpio
from femtorque.hil.chip.stm32f4.bxcan import BxCan, Filters
from tests.support.can_bench import Bench

CAN1, CAN2 = 0x40006400, 0x40006800
MCR, MSR, TSR, RF0R, RF1R, IER, ESR, BTR = range(0, 0x20, 4)
FMR, FM1R, FS1R, FFA1R, FA1R, BANK = 0x200, 0x204, 0x20C, 0x214, 0x21C, 0x240
INRQ, SLEEP, TXFP, RFLM, NART, ABOM = 1, 2, 4, 8, 16, 64
MEGABIT = 3 - 1 | 10 << 16 | 1 << 20 | 1 << 24  # 42 MHz / 3 / (1 + 11 + 2)
BIT = 1e-6


class Chip(Bench):
    """Two controllers at 42 MHz. The first controller is connected to a bus."""

    def __init__(self) -> None:
        super().__init__("stm32f4", 168e6)
        self.cans = [kind(name, base, self.events.parts, lambda: 42e6, lambda: 4.0)
                     for kind, name, base in ((Filters, "CAN1", CAN1), (BxCan, "CAN2", CAN2))]
        for can in self.cans:
            can.filters = self.cans[0]
            self.bus.attach(can)
            can.reset()
            can.plug(self.wire)

    @property
    def lines(self) -> dict[tuple[int, str], bool]:
        """Return the interrupt requests in the order of the vendor's CAN1_TX_IRQn and so on."""
        return {(i, line): bool(can.asserted >> k & 1) for i, can in enumerate(self.cans)
                for k, line in enumerate(("tx", "rx0", "rx1", "sce"))}

    def start(self, base: int = CAN1, mode: int = 0) -> None:
        """Start as in RM0090 32.4: leave sleep, enter initialisation, set timing and filters, enter normal mode."""
        self.write(base + MCR, INRQ)
        assert self.run(1e-5, lambda: self.read(base + MSR) & 3 == 1)
        self.write(base + BTR, MEGABIT)
        self.filter_all()
        self.write(base + MCR, mode)
        assert self.run(1e-4, lambda: self.read(base + MSR) & 3 == 0)

    def filter_all(self) -> None:
        self.writes(CAN1, (FMR, 0x2A1C0E01), (FS1R, 1 | 1 << 14), (FA1R, 1 | 1 << 14), (FMR, 0x2A1C0E00))

    def load(self, m: int, number: int, data: bytes = b"", base: int = CAN1) -> None:
        self.writes(base + 0x180 + 16 * m, (4, len(data)), (8, int.from_bytes(data[:4], "little")),
                    (12, int.from_bytes(data[4:], "little")), (0, number << 21 | 1))

    def take(self, f: int = 0) -> tuple[int, int, int, int]:
        at = CAN1 + 0x1B0 + 16 * f
        slot = tuple(self.read(at + 4 * i) for i in range(4))
        self.write(CAN1 + RF0R + 4 * f, 0x20)
        self.run(1e-6)
        return slot


@pytest.fixture
def chip() -> Chip:
    return Chip()


def test_it_sleeps_out_of_reset_with_the_vendors_values(chip):
    values = [chip.read(CAN1 + at) for at in (MCR, MSR, TSR, RF0R, IER, ESR, BTR, FMR)]
    assert values == [0x10002, 0xC02, 0x1C000000, 0, 0, 0, 0x01230000, 0x2A1C0E01]


def test_modes_are_acknowledged_after_a_time_and_normal_only_on_a_bus_that_rests(chip):
    chip.write(CAN1 + MCR, INRQ)
    assert chip.read(CAN1 + MSR) & 3 == 2
    chip.run(1e-6)
    assert chip.read(CAN1 + MSR) & 3 == 1
    chip.write(CAN1 + BTR, MEGABIT)
    chip.write(CAN1 + MCR, 0)
    chip.run(10e-6)
    assert chip.read(CAN1 + MSR) & 3 == 1
    chip.run(2e-6)
    assert chip.read(CAN1 + MSR) & 3 == 0


def test_initialisation_wins_over_sleep(chip):
    """HAL_CAN_Init (stm32f4xx_hal_can.c) sets INRQ while SLEEP is set after reset, and waits for INAK."""
    chip.write(CAN1 + MCR, INRQ | SLEEP)
    chip.run(1e-6)
    assert chip.read(CAN1 + MSR) & 3 == 1
    chip.write(CAN1 + MCR, INRQ)
    chip.run(1e-6)
    assert chip.read(CAN1 + MSR) & 3 == 1
    chip.write(CAN1 + MCR, SLEEP)
    chip.run(1e-6)
    assert chip.read(CAN1 + MSR) & 3 == 2


def test_without_its_pins_it_never_joins(chip):
    """At first one of PB8 and PB9 is switched to another function."""
    port = Gpio("GPIOB", 0x40020400, chip.events.parts)
    port.write(0x00, 4, 2 << 16 | 2 << 18)
    port.write(0x24, 4, 9 | 4 << 4)
    chip.cans[0].plug(chip.wire, (port, 8, 9), (port, 9, 9))
    chip.write(CAN1 + MCR, 0)
    chip.run(1e-2)
    assert chip.read(CAN1 + MSR) & 3 == 2
    port.write(0x24, 4, 9 | 9 << 4)
    chip.write(CAN1 + MCR, 0)
    chip.run(1e-4)
    assert chip.read(CAN1 + MSR) & 3 == 0


def test_bit_timing_is_written_in_initialisation_alone(chip):
    chip.write(CAN1 + BTR, MEGABIT)
    assert chip.read(CAN1 + BTR) == 0x01230000
    chip.start()
    assert chip.read(CAN1 + BTR) == MEGABIT
    assert chip.cans[0].timing.bit == pytest.approx(BIT)
    assert chip.cans[0].timing.sample / BIT == pytest.approx(12 / 14)
    with pytest.raises(Unmodelled, match="CAN1.BTR"):
        chip.write(CAN1 + BTR, 1 << 30)  # loop back


def test_a_frame_goes_out_and_tells_when_it_has(chip):
    chip.start()
    chip.write(CAN1 + IER, 1)
    chip.load(0, 0x123, b"\x01\x02\x03\x04\x05")
    assert chip.read(CAN1 + TSR) == 1 << 24 | 0b110 << 26
    frame = Frame(0x123, b"\x01\x02\x03\x04\x05")
    chip.run(image(frame).length(BIT, BIT))
    assert not chip.read(CAN1 + TSR) & 1
    chip.run(2e-6)
    assert chip.other.got == [frame]
    assert chip.read(CAN1 + TSR) & 0xFF == 0b11 and chip.lines[0, "tx"]
    chip.write(CAN1 + TSR, 1)
    assert chip.read(CAN1 + TSR) == 0x1C000000 and not chip.lines[0, "tx"]


@pytest.mark.parametrize(("mode", "order"), [(0, [0x300, 0x100, 0x200]), (TXFP, [0x300, 0x200, 0x100])])
def test_mailboxes_go_by_identifier_or_in_the_order_of_requests(chip, mode, order):
    """The first frame is already being sent when the other frames arrive."""
    chip.start(mode=mode)
    chip.load(2, 0x300)
    chip.run(5e-6)
    chip.load(0, 0x200)
    chip.load(1, 0x100)
    chip.run(1e-3)
    assert [frame.id for frame in chip.other.got] == order


def test_equal_identifiers_go_by_mailbox_number_however_old_they_are(chip):
    """Therefore an old command in mailbox 1 is sent after a new command in mailbox 0."""
    chip.start()
    chip.load(2, 1)
    chip.run(5e-6)
    chip.load(1, 0x100, b"old")
    chip.load(0, 0x100, b"new")
    assert chip.read(CAN1 + TSR) >> 29 == 0b010  # the waiting mailbox that will be sent last
    chip.run(1e-3)
    assert [frame.data for frame in chip.other.got] == [b"", b"new", b"old"]


def test_what_waits_is_aborted_and_what_is_on_the_wire_goes_through(chip):
    chip.start()
    chip.load(0, 0x100)
    chip.load(1, 0x200)
    chip.run(10e-6)
    chip.write(CAN1 + TSR, 1 << 7 | 1 << 15)
    tsr = chip.read(CAN1 + TSR)
    assert tsr >> 8 & 0xFF == 1 and tsr & 0xFF == 0x80 and tsr >> 26 & 7 == 0b110
    chip.run(1e-3)
    assert [frame.id for frame in chip.other.got] == [0x100]
    assert chip.read(CAN1 + TSR) & 0xFF == 0b11


def test_what_is_aborted_on_the_wire_and_disturbed_is_not_sent_again(chip):
    chip.start()
    chip.wire.error_rate = 1.0
    chip.load(0, 0x100)
    chip.run(5e-6)
    chip.write(CAN1 + TSR, 1 << 7)
    chip.run(1e-3)
    assert chip.read(CAN1 + TSR) & 0xFF == 0b1001 and chip.read(CAN1 + ESR) >> 16 & 0xFF == 8


def test_a_full_mailbox_takes_no_writes(chip):
    chip.start()
    chip.other.here = False
    chip.load(0, 0x100, b"a")
    chip.load(0, 0x200, b"b")
    chip.other.here = True
    chip.run(1e-3)
    assert chip.other.got == [Frame(0x100, b"a")]


def test_without_an_answer_it_repeats_becomes_passive_and_not_off(chip):
    chip.start()
    chip.other.here = False
    chip.write(CAN1 + IER, 1 << 9 | 1 << 15)
    chip.load(0, 0x100)
    chip.run(0.05)
    esr = chip.read(CAN1 + ESR)
    assert esr & 7 == 0b011 and esr >> 16 & 0xFF == 128 and esr >> 4 & 7 == 3  # warning, passive; acknowledgement
    assert chip.lines[0, "sce"] and chip.read(CAN1 + MSR) & 4
    chip.write(CAN1 + MSR, 4)
    assert not chip.lines[0, "sce"]


def test_once_it_is_told_not_to_repeat_it_gives_up(chip):
    chip.start(mode=NART)
    chip.other.here = False
    chip.load(0, 0x100)
    chip.run(1e-3)
    assert chip.read(CAN1 + TSR) & 0xFF == 0b1001
    chip.other.here = True
    chip.load(0, 0x100)
    chip.other.send(Frame(0x50))
    chip.run(1e-3)
    assert chip.read(CAN1 + TSR) & 0xFF == 0b101 and not chip.other.got


@pytest.mark.parametrize(("mode", "last"), [(0, 0x103), (RFLM, 0x102)])
def test_three_frames_fill_a_fifo_and_the_fourth_takes_the_place_of_the_last_unless_it_is_locked(chip, mode, last):
    chip.start(mode=mode)
    chip.write(CAN1 + IER, 1 << 1 | 1 << 3)
    chip.other.send(*[Frame(0x100 + k, bytes([k])) for k in range(4)])
    chip.run(1e-3)
    assert chip.read(CAN1 + RF0R) == 3 | 1 << 3 | 1 << 4 and chip.lines[0, "rx0"]
    assert [chip.take()[0] >> 21 for _ in range(3)] == [0x100, 0x101, last]
    chip.write(CAN1 + RF0R, 1 << 3 | 1 << 4)
    assert chip.read(CAN1 + RF0R) == 0 and not chip.lines[0, "rx0"]


def test_a_mailbox_is_released_after_some_clocks_and_a_second_release_meanwhile_is_lost(chip):
    chip.start()
    chip.other.send(Frame(1), Frame(2))
    chip.run(1e-3)
    chip.write(CAN1 + RF0R, 0x20)
    chip.write(CAN1 + RF0R, 0x20)
    assert chip.read(CAN1 + RF0R) & 0x23 == 0x22
    chip.run(1e-6)
    assert chip.read(CAN1 + RF0R) & 0x23 == 1


def test_a_received_frame_is_laid_out_as_the_manual_has_it(chip):
    chip.start()
    chip.other.send(Frame(0x15555555, b"\x01\x02\x03\x04\x05\x06", extended=True))
    chip.run(1e-3)
    assert chip.take() == (0x15555555 << 3 | 1 << 2, 6, 0x04030201, 0x0605)


@pytest.mark.parametrize(("scale", "listed", "values", "passes", "stops"), [
    (1, 0, (0x123 << 21, 0x7FF << 21 | 6), Frame(0x123), Frame(0x122)),
    (1, 0, (0x123 << 21, 0x7FF << 21 | 6), Frame(0x123), Frame(0x123 << 18, extended=True)),
    (1, 1, (0x123 << 21, 0x234 << 21), Frame(0x234), Frame(0x235)),
    (1, 1, (5 << 3 | 4, 6 << 3 | 4), Frame(6, extended=True), Frame(6)),
    (0, 0, (0x120 << 5 | 0x7F0 << 21, 0x200 << 5 | 0x7FF << 21), Frame(0x12F), Frame(0x130)),
    (0, 0, (0x120 << 5 | 0x7F0 << 21, 0x200 << 5 | 0x7FF << 21), Frame(0x200), Frame(0x201)),
    (0, 1, (0x11 << 5 | 0x12 << 21, 0x13 << 5 | 0x14 << 21), Frame(0x14), Frame(0x15)),
])
def test_filters_pass_by_mask_and_by_list_in_both_scales(chip, scale, listed, values, passes, stops):
    chip.start()
    chip.writes(CAN1, (FMR, 0x2A1C0E01), (FA1R, 0), (FS1R, scale), (FM1R, listed), (BANK, values[0]),
                (BANK + 4, values[1]), (FA1R, 1), (FMR, 0x2A1C0E00))
    chip.other.send(stops)
    chip.run(1e-3)
    assert chip.read(CAN1 + RF0R) == 0
    chip.other.send(passes)
    chip.run(1e-3)
    assert chip.read(CAN1 + RF0R) == 1


def test_filters_name_their_fifo_and_their_number_and_banks_that_are_off_count(chip):
    chip.start()
    chip.writes(CAN1, (FMR, 0x2A1C0E01), (FM1R, 0b110), (FS1R, 0b100), (FFA1R, 0b010), (FA1R, 0b110),
                (BANK + 8, 0x30 << 5 | 0x31 << 21), (BANK + 12, 0x32 << 5 | 0x33 << 21),  # a narrow list, to FIFO 1
                # a wide list, to FIFO 0, after the two masks of bank 0
                (BANK + 16, 0x40 << 21), (BANK + 20, 0x41 << 21), (FMR, 0x2A1C0E00))
    chip.other.send(Frame(0x32), Frame(0x41))
    chip.run(1e-3)
    assert chip.take(0)[1] >> 8 == 3 and chip.take(1)[1] >> 8 == 2


def test_nothing_passes_while_filters_are_set_up_and_their_registers_are_held_outside(chip):
    chip.start()
    chip.writes(CAN1, (FS1R, 0), (BANK, 0x123))
    assert chip.read(CAN1 + FS1R) == 1 | 1 << 14 and chip.read(CAN1 + BANK) == 0
    chip.write(CAN1 + FMR, 0x2A1C0E01)
    chip.other.send(Frame(1))
    chip.run(1e-3)
    assert chip.read(CAN1 + RF0R) == 0


def test_a_short_ends_in_bus_off_and_it_comes_back_after_128_pauses_by_itself(chip):
    chip.start(mode=ABOM)
    chip.wire.shorted = True
    chip.load(0, 0x100)
    assert chip.run(5e-3, lambda: chip.read(CAN1 + ESR) & 4 != 0)
    assert chip.read(CAN1 + ESR) >> 16 & 0xFF == 0xFF
    chip.wire.shorted = False
    began = chip.seconds
    assert chip.run(5e-3, lambda: not chip.read(CAN1 + ESR) & 4)
    assert chip.seconds - began == pytest.approx(128 * 11 * BIT, abs=20e-6)
    chip.run(1e-3)
    assert chip.other.got == [Frame(0x100)] and chip.read(CAN1 + ESR) == 0


def test_without_abom_it_stays_off_until_it_goes_through_initialisation(chip):
    chip.start()
    chip.wire.shorted = True
    chip.load(0, 0x100)
    chip.run(5e-3)
    chip.wire.shorted = False
    chip.run(20e-3)
    assert chip.read(CAN1 + ESR) & 4
    chip.write(CAN1 + MCR, INRQ)
    assert chip.run(1e-4, lambda: chip.read(CAN1 + MSR) & 1 != 0)
    chip.write(CAN1 + MCR, 0)
    began = chip.seconds
    assert chip.run(1e-3, lambda: not chip.read(CAN1 + MSR) & 1)
    assert chip.seconds - began == pytest.approx(11 * BIT, abs=1e-6) and chip.read(CAN1 + ESR) & 4
    chip.run(1e-3)
    chip.write(CAN1 + MCR, INRQ)  # all counts are lost
    assert chip.run(1e-4, lambda: chip.read(CAN1 + MSR) & 1 != 0)
    chip.write(CAN1 + MCR, 0)
    began = chip.seconds
    assert chip.run(5e-3, lambda: not chip.read(CAN1 + ESR) & 4)
    assert chip.seconds - began == pytest.approx(129 * 11 * BIT, abs=20e-6)


def test_initialisation_waits_for_the_frame_that_is_on_the_wire(chip):
    chip.start()
    chip.load(0, 0x100, bytes(8))
    chip.run(20e-6)
    chip.write(CAN1 + MCR, INRQ)
    chip.run(20e-6)
    assert not chip.read(CAN1 + MSR) & 1
    chip.run(1e-4)
    assert chip.read(CAN1 + MSR) & 1 and len(chip.other.got) == 1


def test_the_second_controller_needs_the_clock_of_the_first_and_its_filters(chip):
    chip.start(CAN2)
    chip.other.send(Frame(0x77))
    chip.run(1e-3)
    assert chip.read(CAN2 + RF0R) == 1 and chip.read(CAN1 + RF0R) == 0  # CAN1 is asleep
    chip.cans[0].clocked = False
    with pytest.raises(Unmodelled, match="CAN2 used while the clock of CAN1"):
        chip.read(CAN2 + RF0R)
