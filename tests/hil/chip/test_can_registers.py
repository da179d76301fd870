"""The CAN models have the registers and bits of the vendor's headers, and the manuals' bit timing."""

import random

import pytest

from assurance.registers import register_map
from femtorque.hil.chip.stm32f4.bxcan import BxCan, Filters
from femtorque.hil.chip.stm32g4.fdcan import Fdcan, FirstFdcan
from femtorque.hil.clock import library
from tests.hil.chip import test_bxcan, test_fdcan

IN_C = library()[1]
F4, G4 = register_map.stm32f405, register_map.stm32g474
MODELS = [(Filters, "CAN1", 0x40006400, F4), (BxCan, "CAN2", 0x40006800, F4), (FirstFdcan, "FDCAN1", 0x40006400, G4),
          (Fdcan, "FDCAN2", 0x40006800, G4), (Fdcan, "FDCAN3", 0x40006C00, G4)]
BITS = {  # register: names of its bits in the vendor's table, without the number of a FIFO or a mailbox
    "CAN1.MCR": "INRQ SLEEP TXFP RFLM NART ABOM RESET", "CAN1.MSR": "INAK SLAK ERRI SLAKI TXM RXM SAMP RX",
    "CAN1.TSR": "RQCP0 TXOK0 ALST0 TERR0 ABRQ0", "CAN1.RF0R": "FULL0 FOVR0 RFOM0",
    "CAN1.IER": "TMEIE FMPIE0 FFIE0 FOVIE0 LECIE ERRIE SLKIE", "CAN1.ESR": "EWGF EPVF BOFF",
    "CAN1.TI0R": "TXRQ RTR IDE", "CAN1.BTR": "SILM", "CAN1.FMR": "FINIT",
    "FDCAN1.CCCR": "INIT CCE MON DAR FDOE BRSE", "FDCAN1.DBTP": "TDC", "FDCAN1.TXBC": "TFQM",
    "FDCAN1.IR": "RF0N RF0F RF0L TC TCF TFE EP EW BO PEA PED"}


@pytest.mark.parametrize(("model", "name", "base", "registers"), MODELS, ids=[name for _, name, _, _ in MODELS])
def test_every_register_is_where_the_vendor_has_it_and_takes_no_reserved_bit(model, name, base, registers):
    there = registers()
    for offset, register in model.REGISTERS.items():
        vendors = there[base + offset]
        assert vendors.name in (f"{name}.{register.name}", "FDCANCONFIG.CKDIV")
        assert not register.writable & ~vendors.mask, register.name
        assert "w" in vendors.access or not register.writable, register.name


@pytest.mark.parametrize("register", BITS)
def test_every_bit_is_where_the_vendor_has_it(register):
    prefix, there = ("BXCAN", F4()) if register.startswith("CAN") else ("FDCAN", G4())
    fields = next(r.fields for r in there.values() if r.name == register)
    for name in BITS[register].split():
        assert getattr(IN_C, f"{prefix}_{name}") == 1 << fields[name][0], name


def test_the_places_in_message_ram_are_those_of_the_vendors_driver():
    """stm32g4xx_hal_fdcan.c (SRAMCAN_...): 28 and 8 filters, 2 FIFOs of 3, 3 transmit events, 3 transmit elements."""
    at, places = 0, []
    for count, size in ((28, 4), (8, 8), (3, 72), (3, 72), (3, 8), (3, 72)):
        places.append(at)
        at += count * size
    assert at == IN_C.FDCAN_PIECE
    assert places == [IN_C.FDCAN_STANDARD, IN_C.FDCAN_EXTENDED, IN_C.FDCAN_RECEIVED,
                      IN_C.FDCAN_RECEIVED + IN_C.FDCAN_DEPTH * IN_C.FDCAN_ELEMENT, 0x260, IN_C.FDCAN_TO_SEND]


@pytest.mark.parametrize(("family", "register", "letter", "names", "hz"), [
    (test_bxcan, "CAN1.BTR", "", "BRP TS1 TS2 SJW", 42e6),
    (test_fdcan, "FDCAN1.NBTP", "N", "BRP TSEG1 TSEG2 SJW", 170e6),
    (test_fdcan, "FDCAN1.DBTP", "D", "BRP TSEG1 TSEG2 SJW", 170e6)])
def test_a_bit_is_as_long_and_sampled_as_the_manuals_have_it_over_all_of_its_register(
        family, register, letter, names, hz):
    """According to RM0090 32.7.7 and RM0440 a bit has one quantum of synchronisation, TS1 + 1 quanta before the sample
    point and TS2 + 1 quanta after the sample point. A quantum has BRP + 1 clocks."""
    can = family.Chip().cans[0]
    places = next(r.fields for r in (F4 if family is test_bxcan else G4)().values() if r.name == register)
    fields, chance = [places[letter + name] for name in names.split()], random.Random(7)
    most = [(1 << bits) - 1 for _, bits in fields]
    if letter:
        can.value["CCCR"] |= test_fdcan.FDOE
    for values in ([0] * 4, most, *([chance.randint(0, top) for top in most] for _ in range(40))):
        can.value[register.split(".")[1]] = sum(v << low for v, (low, _) in zip(values, fields, strict=True))
        timing, (prescaler, before, behind, jump) = can.fast if letter == "D" else can.timing, values
        quantum = (prescaler + 1) / hz
        assert timing.bit == pytest.approx(quantum * (1 + before + 1 + behind + 1))
        assert timing.sample == pytest.approx(quantum * (1 + before + 1)) and timing.jump == jump + 1
