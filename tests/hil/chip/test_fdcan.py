"""The model of FDCAN agrees with the manual. The tests only write and read registers."""

import pytest
from can.util import dlc2len, len2dlc

from femtorque.hil.bus import BitTiming, Frame
from femtorque.hil.bus.frame import image
from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32g4.fdcan import Block, Fdcan, FirstFdcan, MessageRam
from tests.support.can_bench import Bench

CAN, SECOND, RAM = 0x40006400, 0x40006800, 0x4000A400
DBTP, CCCR, NBTP, ECR, PSR, TDCR, IR, IE, ILS, ILE, RXGFC = (
    0x0C, 0x18, 0x1C, 0x40, 0x44, 0x48, 0x50, 0x54, 0x58, 0x5C, 0x80)
RXF0S, RXF0A, RXF1S, RXF1A, TXBC, TXFQS, TXBRP, TXBAR, TXBCR, TXBTO, TXBCF, TXBTIE, TXBCIE = (
    0x90, 0x94, 0x98, 0x9C, 0xC0, 0xC4, 0xC8, 0xCC, 0xD0, 0xD4, 0xD8, 0xDC, 0xE0)
FD = 1 << 21 | 1 << 20  # FDF, BRS
INIT, CCE, MON, DAR, FDOE, BRSE = 1, 2, 1 << 5, 1 << 6, 1 << 8, 1 << 9
QUEUE = 1 << 24
# Bit timing of moteus at 170 MHz: 170 quanta, 34 in the data phase. In this test the sample point of the data phase is
# at 24 of 34 quanta.
NOMINAL = 113 - 1 << 8 | 56 - 1 | 56 - 1 << 25
DATA = 23 - 1 << 8 | 10 - 1 << 4 | 10 - 1
BIT, DATA_BIT = 1e-6, 2e-7


class Chip(Bench):
    """Two controllers at 170 MHz. The first controller is connected to a bus."""

    def __init__(self) -> None:
        super().__init__("stm32g4", 170e6)
        self.ram = MessageRam(RAM, self.events.parts)
        self.cans = [kind(name, base, self.events.parts, lambda: 170e6, lambda: 1.0)
                     for kind, name, base in ((FirstFdcan, "FDCAN1", CAN), (Fdcan, "FDCAN2", SECOND))]
        self.block = Block((*self.cans, self.ram))
        for part in (*self.cans, self.ram):
            self.bus.attach(part)
            part.reset()
        self.cans[0].plug(self.wire)
        self.other.timing, self.other.fast = BitTiming(1 / 170e6, 114, 56, 56), BitTiming(1 / 170e6, 24, 10, 10)

    @property
    def lines(self) -> dict[str, bool]:
        return {f"it{line}": bool(self.cans[0].asserted >> line & 1) for line in range(2)}

    def configure(self, settings: int = FDOE | BRSE, queue: bool = True, general: int = 0, tdc: int = 0) -> None:
        """Set all protected registers during initialisation. Without filters FIFO 0 receives each frame."""
        self.write(CAN + CCCR, INIT)
        self.write(CAN + CCCR, INIT | CCE)
        assert self.read(CAN + CCCR) & 3 == 3
        self.write(CAN + CCCR, INIT | CCE | settings)
        self.writes(CAN, (NBTP, NOMINAL), (DBTP, DATA | (tdc and 1 << 23)), (TDCR, tdc << 8), (RXGFC, general),
                    (TXBC, QUEUE if queue else 0))

    def start(self, **how) -> None:
        self.configure(**how)
        self.write(CAN + CCCR, self.read(CAN + CCCR) & ~(INIT | CCE))
        assert self.run(1e-4, lambda: self.read(CAN + PSR) >> 3 & 3 == 1)

    def load(self, i: int, number: int, data: bytes = b"", control: int = 0, extended: bool = False) -> None:
        self.writes(RAM + 0x278 + 72 * i, (0, number | 1 << 30 if extended else number << 18),
                    (4, control | len2dlc(len(data)) << 16), *((8 + k, int.from_bytes(data[k:k + 4], "little"))
                                                               for k in range(0, len(data), 4)))

    def send(self, i: int, number: int, data: bytes = b"", **how) -> None:
        self.load(i, number, data, **how)
        self.write(CAN + TXBAR, 1 << i)

    def element(self, f: int, get: int) -> list[int]:
        at = RAM + (0xB0, 0x188)[f] + 72 * get
        return [self.read(at + 4 * k) for k in range(4)]


@pytest.fixture
def chip() -> Chip:
    return Chip()


def test_out_of_reset_it_is_in_initialisation_with_the_vendors_values(chip):
    values = [chip.read(CAN + at) for at in (0x00, 0x04, DBTP, CCCR, NBTP, ECR, RXF0S, 0x84)]
    assert values == [0x32141218, 0x87654321, 0xA33, 1, 0x06000A03, 0, 0, 0x1FFFFFFF]
    assert chip.read(CAN + PSR) == 0x707 and chip.read(CAN + TXFQS) == 3


def test_settings_change_in_initialisation_with_change_enabled_alone(chip):
    chip.write(CAN + NBTP, NOMINAL)
    chip.write(CAN + CCCR, INIT | FDOE)
    assert chip.read(CAN + NBTP) == 0x06000A03 and chip.read(CAN + CCCR) == 1
    chip.start()
    assert chip.read(CAN + NBTP) == NOMINAL and chip.read(CAN + CCCR) == FDOE | BRSE
    chip.write(CAN + NBTP, 0)
    assert chip.read(CAN + NBTP) == NOMINAL
    assert chip.cans[0].timing.bit == pytest.approx(BIT) and chip.cans[0].fast.bit == pytest.approx(DATA_BIT)


def test_it_takes_part_after_eleven_recessive_bits_and_initialisation_reads_back_after_some_clocks(chip):
    chip.configure()
    chip.write(CAN + CCCR, FDOE | BRSE)
    chip.run(10e-6)
    assert chip.read(CAN + PSR) >> 3 & 3 == 0
    chip.run(2e-6)
    assert chip.read(CAN + PSR) >> 3 & 3 == 1
    chip.write(CAN + CCCR, INIT)
    assert not chip.read(CAN + CCCR) & INIT
    chip.run(1e-6)
    assert chip.read(CAN + CCCR) & INIT and chip.read(CAN + PSR) >> 3 & 3 == 0


def test_a_classic_and_a_fast_frame_go_out(chip):
    chip.start(tdc=10)
    chip.writes(CAN, (IE, 1 << 7), (ILE, 1), (TXBTIE, 7))
    chip.send(0, 0x123, b"\x01\x02\x03")
    assert chip.read(CAN + TXBRP) == 1 and chip.read(CAN + TXBTO) == 0
    chip.run(1e-3)
    assert chip.read(CAN + TXBTO) == 1 and chip.read(CAN + TXBRP) == 0
    assert chip.lines["it0"] and chip.read(CAN + IR) & 1 << 7
    chip.write(CAN + IR, 1 << 7)
    assert not chip.lines["it0"]
    chip.send(1, 0x1ABCDEF, bytes(range(16)), control=1 << 21 | 1 << 20, extended=True)
    began = chip.seconds
    assert chip.run(1e-3, lambda: chip.read(CAN + TXBTO) & 2 != 0)
    frame = Frame(0x1ABCDEF, bytes(range(16)), extended=True, fd=True, fast=True)
    assert chip.other.got == [Frame(0x123, b"\x01\x02\x03"), frame]
    assert chip.seconds - began == pytest.approx(BIT + image(frame).length(BIT, DATA_BIT), abs=1e-8)


def test_frames_of_every_length_go_out_and_come_in_by_the_codes_of_python_can(chip):
    """Compares the elements' words in message RAM. Bytes after the frame are 0 or arbitrary."""
    chip.start(tdc=10)
    for code in range(16):
        data = bytes(range(1, dlc2len(code) + 1))
        chip.send(0, 7, data, control=FD)
        assert chip.run(1e-3, lambda: chip.read(CAN + TXBTO) & 1 != 0)
        assert chip.other.got.pop() == Frame(7, data, fd=True, fast=True)
        chip.other.send(Frame(8, data, fd=True, fast=True))
        assert chip.run(1e-3, lambda: chip.read(CAN + RXF0S) & 15 != 0)
        get = chip.read(CAN + RXF0S) >> 8 & 3
        at = RAM + 0xB0 + 72 * get
        assert chip.read(at + 4) & 0xFFFFFF == FD | code << 16
        assert b"".join(chip.read(at + 8 + k).to_bytes(4, "little") for k in range(0, 64, 4))[:len(data)] == data
        chip.write(CAN + RXF0A, get)


def test_a_classic_frame_has_8_bytes_at_most_whatever_its_code(chip):
    chip.start()
    for code in range(16):
        chip.load(0, 7, bytes(range(8)))
        chip.write(RAM + 0x278 + 4, code << 16)
        chip.write(CAN + TXBAR, 1)
        assert chip.run(1e-3, lambda: chip.read(CAN + TXBTO) & 1 != 0)
        assert chip.other.got.pop() == Frame(7, bytes(range(min(code, 8))))


def test_without_compensation_a_late_transceiver_makes_its_own_data_phase_wrong(chip):
    """A bit arrives 150 ns after it was sent, but is sampled after 24 of 34 quanta, or 141 ns."""
    chip.start()
    chip.send(0, 5, bytes(12), control=1 << 21 | 1 << 20)
    chip.run(0.2e-3)
    assert not chip.other.got
    status = chip.read(CAN + PSR)
    assert status >> 8 & 7 == 4 and status & 7 == 7  # in the data phase
    assert chip.read(CAN + PSR) >> 8 & 7 == 7  # the read has cleared the flag, unless more errors have occurred
    assert chip.read(CAN + IR) & 1 << 22


def test_a_queue_goes_by_identifier_and_then_by_number(chip):
    chip.start()
    chip.send(2, 0x300)
    chip.run(5e-6)
    chip.send(1, 0x100, b"b")
    chip.send(0, 0x100, b"a")
    chip.run(1e-3)
    assert [(f.id, f.data) for f in chip.other.got] == [(0x300, b""), (0x100, b"a"), (0x100, b"b")]


def test_a_fifo_goes_in_the_order_of_requests_and_tells_its_room(chip):
    chip.start(queue=False)
    chip.send(0, 0x300)
    chip.send(1, 0x200)
    assert chip.read(CAN + TXFQS) == 1 | 0 << 8 | 2 << 16
    chip.send(2, 0x100)
    assert chip.read(CAN + TXFQS) == 0 << 8 | 0 << 16 | 1 << 21
    chip.run(1e-3)
    assert [f.id for f in chip.other.got] == [0x300, 0x200, 0x100]
    assert chip.read(CAN + TXFQS) & 7 == 3 and chip.read(CAN + IR) & 1 << 9
    with pytest.raises(Unmodelled, match="next element is 0"):
        chip.write(CAN + TXBAR, 1 << 1)


def test_what_waits_is_cancelled_at_once_and_what_is_on_the_wire_goes_through(chip):
    chip.start()
    chip.write(CAN + TXBCIE, 7)
    chip.send(0, 0x100)
    chip.send(1, 0x200)
    chip.run(10e-6)
    chip.write(CAN + TXBCR, 3)
    assert chip.read(CAN + TXBRP) == 1 and chip.read(CAN + TXBCF) == 2 and chip.read(CAN + IR) & 1 << 8
    chip.run(1e-3)
    assert [f.id for f in chip.other.got] == [0x100]
    assert chip.read(CAN + TXBTO) == 1 and chip.read(CAN + TXBCF) == 3
    chip.send(0, 0x101)
    assert chip.read(CAN + TXBTO) == 0 and chip.read(CAN + TXBCF) == 2


def test_without_retransmission_a_request_ends_with_the_first_disturbance(chip):
    chip.start(settings=DAR)
    chip.other.here = False
    chip.send(0, 0x100)
    chip.run(1e-3)
    assert chip.read(CAN + TXBRP) == 0 and chip.read(CAN + TXBCF) == 1 and chip.read(CAN + TXBTO) == 0
    assert chip.read(CAN + ECR) & 0xFF == 8 and chip.read(CAN + PSR) & 7 == 3


def test_three_frames_fill_a_fifo_and_a_fourth_is_lost_or_takes_the_oldest_place(chip):
    chip.start()
    chip.other.send(*[Frame(0x100 + k, bytes([k])) for k in range(4)])
    chip.run(1e-3)
    assert chip.read(CAN + RXF0S) == 3 | 0 << 8 | 0 << 16 | 1 << 24 | 1 << 25
    assert chip.read(CAN + IR) & 7 == 7
    assert chip.element(0, 0)[:2] == [0x100 << 18, 1 << 31 | 1 << 16]
    chip.write(CAN + RXF0A, 1)  # acknowledges two FIFO elements together
    assert chip.read(CAN + RXF0S) & 0xF0F == 1 | 2 << 8
    chip.write(CAN + IR, 7)
    assert not chip.read(CAN + RXF0S) >> 25 & 1
    over = Chip()
    over.start(general=1 << 9)
    over.other.send(*[Frame(0x100 + k) for k in range(4)])
    over.run(1e-3)
    assert over.read(CAN + RXF0S) == 3 | 1 << 8 | 1 << 16 | 1 << 24
    assert over.element(0, 0)[0] >> 18 == 0x103


def test_a_received_fast_frame_is_laid_out_as_the_manual_has_it(chip):
    chip.start()
    chip.other.send(Frame(0x15555555, bytes(range(12)), extended=True, fd=True, fast=True))
    chip.run(1e-3)
    assert chip.element(0, 0) == [0x15555555 | 1 << 30, 1 << 31 | 1 << 21 | 1 << 20 | 9 << 16, 0x03020100, 0x07060504]


@pytest.mark.parametrize(("element", "passes", "stops"), [
    (0 << 30 | 1 << 27 | 0x100 << 16 | 0x1FF, 0x180, 0x200), (1 << 30 | 1 << 27 | 0x11 << 16 | 0x13, 0x13, 0x12),
    (2 << 30 | 1 << 27 | 0x120 << 16 | 0x7F0, 0x12F, 0x130)])
def test_standard_filters_pass_ranges_pairs_and_masks(chip, element, passes, stops):
    chip.write(RAM, element)
    chip.start(general=1 << 16 | 2 << 4 | 2 << 2)
    chip.other.send(Frame(stops), Frame(passes), Frame(passes, extended=True))
    chip.run(1e-3)
    assert chip.read(CAN + RXF0S) & 15 == 1
    assert chip.element(0, 0)[:2] == [passes << 18, 0]


def test_extended_filters_and_the_second_fifo(chip):
    chip.writes(RAM, (0x70, 3 << 29 | 1), (0x74, 1 << 30 | 2),  # rejected
                (0x78, 2 << 29 | 0x02000000), (0x7C, 2 << 30 | 0x1F000000))
    chip.start(general=2 << 24 | 2 << 4 | 2 << 2)
    chip.other.send(Frame(2, extended=True), Frame(0x028001FD, extended=True), Frame(2))
    chip.run(1e-3)
    assert (chip.read(CAN + RXF0S) & 15, chip.read(CAN + RXF1S) & 15) == (0, 1)
    assert chip.element(1, 0)[:2] == [0x028001FD | 1 << 30, 1 << 24]


@pytest.mark.parametrize(("extended", "element"), [(False, ((0, 4 << 27),)),
                                                   (True, ((0x70, 5 << 29), (0x74, 0x1FFFFFFF)))])
def test_a_filter_of_priority_messages_is_refused_when_a_frame_meets_it(chip, extended, element):
    chip.writes(RAM, *element)
    chip.start(general=1 << (24 if extended else 16))
    chip.other.send(Frame(0, extended=extended))
    with pytest.raises(Unmodelled, match="FDCAN1: filters of priority messages"):
        chip.run(1e-3)


def test_a_request_for_a_transmit_event_is_refused_and_so_is_acknowledging_what_is_not_there(chip):
    chip.start()
    with pytest.raises(Unmodelled, match="the FIFO has 0 from 0 on"):
        chip.write(CAN + RXF0A, 0)
    with pytest.raises(Unmodelled, match="FDCAN1: transmit events"):
        chip.send(0, 5, control=1 << 23)


def test_a_remote_frame_has_no_data_and_is_rejected_where_that_is_set(chip):
    chip.start(general=2)  # RRFS
    chip.writes(RAM, (0x278, 1 << 29 | 5 << 18), (0x27C, 4 << 16), (CAN + TXBAR - RAM, 1))
    chip.run(1e-3)
    assert chip.other.got == [Frame(5, remote=True)]
    chip.other.send(Frame(6, remote=True), Frame(6, remote=True, extended=True))
    chip.run(1e-3)
    assert chip.read(CAN + RXF0S) & 15 == 1 and chip.element(0, 0)[0] == 6 | 1 << 29 | 1 << 30


def test_interrupts_go_to_the_line_that_their_group_has(chip):
    chip.start()
    chip.writes(CAN, (IE, 1), (ILE, 3), (ILS, 1))
    chip.other.send(Frame(1))
    chip.run(1e-3)
    assert chip.lines == {"it0": False, "it1": True}


def test_a_short_ends_in_bus_off_and_it_stays_so_until_initialisation_is_left(chip):
    chip.start()
    chip.wire.shorted = True
    chip.send(0, 0x100)
    assert chip.run(5e-3, lambda: chip.read(CAN + CCCR) & INIT != 0)
    assert chip.read(CAN + PSR) >> 5 & 7 == 7 and chip.read(CAN + IR) >> 17 & 7 == 7
    chip.wire.shorted = False
    chip.run(20e-3)
    assert chip.read(CAN + CCCR) & INIT
    chip.write(CAN + IR, 7 << 17)
    chip.write(CAN + CCCR, FDOE | BRSE)
    began = chip.seconds
    assert chip.run(5e-3, lambda: not chip.read(CAN + PSR) >> 7 & 1)
    assert chip.seconds - began == pytest.approx(129 * 11 * BIT, abs=5e-6)
    assert chip.read(CAN + ECR) & 0xFFFF == 0 and chip.read(CAN + IR) >> 19 & 1
    chip.run(1e-3)
    assert chip.other.got == [Frame(0x100)]  # the request is still pending


def test_change_enabled_forgets_requests_and_frames(chip):
    chip.start()
    chip.other.send(Frame(1))
    chip.run(1e-3)
    chip.other.here = False
    chip.send(0, 5)
    chip.run(1e-4)
    chip.write(CAN + CCCR, INIT)
    chip.run(1e-5)
    assert chip.read(CAN + TXBRP) == 1
    chip.write(CAN + CCCR, INIT | CCE)
    assert chip.read(CAN + TXBRP) == 0 and chip.read(CAN + RXF0S) == 0


def test_without_fd_it_destroys_fd_frames_and_its_counters_tell(chip):
    chip.start(settings=0)
    chip.other.send(Frame(5, bytes(12), fd=True, fast=True))
    chip.run(0.2e-3)
    ecr = chip.read(CAN + ECR)
    assert ecr >> 8 & 0x7F > 0 and ecr >> 16 > 0 and chip.read(CAN + ECR) >> 16 == 0
    assert chip.read(CAN + RXF0S) == 0


def test_the_message_ram_takes_words_alone_and_holds_anything_at_first(chip):
    assert len({chip.read(RAM + 4 * k) for k in range(64)}) > 60
    with pytest.raises(Unmodelled, match="1 bytes"):
        chip.ram.write(0, 1, 0)


def test_one_gate_and_one_reset_are_before_all_of_them(chip):
    chip.start()
    chip.block.clocked = False
    for address in (CAN, SECOND, RAM):
        with pytest.raises(Unmodelled):
            chip.read(address)
    chip.block.clocked = True
    chip.block.reset()
    assert chip.read(CAN + NBTP) == 0x06000A03


def test_the_clock_of_all_is_divided_beside_the_first(chip):
    chip.configure()
    chip.write(CAN + 0x100, 1)
    assert chip.cans[0].timing.bit == pytest.approx(2 * BIT)
    assert chip.cans[1].timing.quantum == pytest.approx(2 / 170e6)  # NBRP is 0 out of reset
