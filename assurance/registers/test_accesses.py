"""Tests that every register access of whole images on the virtual board agrees with the vendor's description. The
register must exist, it must allow this type of access, and no write may set a reserved bit or a forbidden field value.
"""

import re
from contextlib import suppress

import pytest

from assurance.registers import register_map
from assurance.registers.register_map import Accesses, lost_reset_bits, violations
from femtorque.codegen.motion import knots
from femtorque.hil.board import VirtualBoard
from femtorque.hil.chip import Unmodelled
from femtorque.hil.chip.reset_values import CORRECTIONS, PERIPHERALS, after_reset
from femtorque.hil.chip.stm32.serial import FE
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import play_motion
from tests.firmware.test_chip import ARMED, CRASHING, Machine, mutate
from tests.support.boards import DRIVING, image
from tests.support.bus_arm import arm
from tests.support.servos import arm as servo_arm

MAPS = {"stm32f4": register_map.stm32f405, "stm32g4": register_map.stm32g474}


def hold_to_the_vendor(seen: Accesses, family: str) -> register_map.Map:
    """Check that no access breaks a rule, and that writes clear only named bits. Return the family's registers."""
    registers = MAPS[family]()
    assert violations(seen, registers, family) == []
    lost = lost_reset_bits(seen, registers, after_reset(family))
    assert lost and {name: hex(bits) for name, bits in lost.items() if bits & ~may_clear(name)} == {}
    return registers


@pytest.mark.parametrize("name", DRIVING)
def test_every_access_of_an_image_is_one_that_the_vendor_describes(name):
    """The image runs from power-up through homing, motion, e-stop, line noise, a failing crystal and the restart."""
    mechanism, built = image(name)
    seen = Accesses()
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.chip.bus.watch = seen.note
        board.chip.reset("power")
        result = play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)
        assert result.ended == "done"
        board.chip.usarts[board.board.link.usart].line_in(b"noise", errors=FE)
        board.estop(True)
        board.run(0.01)
        board.estop(False)
        board.run(0.01)
        board.kill_crystal()
        board.run(0.5)
        assert len(board.chip.resets) == 3
    hold_to_the_vendor(seen, board.board.chip.name)
    assert len(seen.reads | set(seen.writes)) > 60


@pytest.mark.parametrize(("name", "fault"), [
    *((kind, "BUS_OFF") for kind in ("damiao", "fd", "robomaster", "three")),
    *((name, "DRIVE_SILENT") for name in ("f405rg-4", "f405rg-6", "nucleo-g474re-6", "nucleo-g474-can"))])
def test_every_access_to_drives_and_servos_is_one_that_the_vendor_describes(name, fault):
    """The image runs through a motion, a short circuit of its bus, the return motion and a failing crystal."""
    mechanism, elf = arm(name) if fault == "BUS_OFF" else servo_arm(name, cutoff=name != "nucleo-g474-can")
    seen, motion = Accesses(), knots(short_motion(mechanism), mechanism)
    with VirtualBoard(elf, mechanism, Plant(mechanism)) as board:
        board.brakes = True
        board.chip.bus.watch = seen.note
        board.chip.reset("power")
        played = play_motion(board, mechanism, motion, feedforward=True, fault="bus-short")
        assert played.faults == (fault,)
        board.run(0.5)
        board.kill_crystal()
        board.run(0.3)
    registers = hold_to_the_vendor(seen, board.board.chip.name)
    of, least = ("CAN", 13) if fault == "BUS_OFF" else (board.board.half_duplex["servos"].usart, 3)
    assert len({a for a in seen.writes if of in registers[a].name}) >= least


# Bits that are 1 after reset and that an image clears deliberately: register, bits, reason. All further bits must
# remain set.
WORD = 0xFFFFFFFF
DEBUG_PINS = 0xF << 26  # PA13 and PA14: SWDIO and SWCLK
CLEARED = [
    (r"TIM\d+\.ARR", WORD, "the largest count of a PWM timer"),
    (r"IWDG\.RLR", 0xFFF, "the watchdog's time"),
    (r"GPIOA\.(MODER|OSPEEDR|PUPDR)", WORD & ~DEBUG_PINS, "pins that the board gives a use"),
    (r"GPIO[B-I]\.(MODER|OSPEEDR|PUPDR)", WORD, "pins that the board gives a use"),
    (r"RCC\.PLLCFGR", WORD, "factors for the board's crystal"),
    (r"RCC\.CFGR", 0xF, "another clock than HSI"),
    (r"PWR\.CR5", 1 << 8, "the regulator's boost, for 170 MHz"),
    (r"ADC1\.CR", 1 << 29, "out of deep power-down"),
    (r"CAN\d\.(MCR|FMR)", 3, "out of sleep; filters at work"),
    (r"CAN\d\.TSR", 7 << 26, "status, at whose other bits a one clears"),
    (r"FDCAN\d\.CCCR", 1, "out of initialisation"),
    (r"(CAN\d\.BTR|FDCAN\d\.[DN]BTP)", WORD, "the parts of a bit"),
]


def may_clear(register: str) -> int:
    return next((bits for pattern, bits, _ in CLEARED if re.fullmatch(pattern, register)), 0)


@pytest.mark.parametrize("family", MAPS)
def test_what_a_register_holds_out_of_reset_is_the_vendors_word(family):
    """The table of reset values with which the virtual chips start agrees with the vendor's second description."""
    registers = {r.address: r for r in MAPS[family]().values() if r.address < 0xE0000000}
    table = after_reset(family)
    if family == "stm32f4":
        used = [r for r in registers.values() if r.name.startswith(PERIPHERALS) and r.name not in CORRECTIONS[family]]
        assert len(used) > 300
        assert [r.name for r in used if r.reset != table.get(r.address, 0)] == []
    else:
        assert table[0x40022000] & 1 << 18  # FLASH.ACR; one of the two descriptions does not contain DBG_SWEN
        assert all(not table.get(r.address, 0) & ~r.mask for r in registers.values())


def test_a_reset_bit_that_a_whole_register_write_clears_is_told():
    seen = Accesses()
    seen.note(0x40022000, 4, 0x704)
    seen.note(0x40022000, 4, 0x40704)
    assert lost_reset_bits(seen, MAPS["stm32g4"](), after_reset("stm32g4")) == {"FLASH.ACR": 1 << 18}


@pytest.mark.parametrize(("name", "register", "value", "message"), [
    ("f405rg-4", 0x40023808, 0x3, "RCC.CFGR = 0x3: SW = 3 is not allowed"),
    ("f405rg-4", 0x40020010, 0x1, "GPIOA.IDR is written and can only be read"),
    ("f405rg-4", 0x40020018, None, "GPIOA.BSRR is read and can only be written"),
    ("f405rg-4", 0x40004400 + 0x0C, 1 << 20, r"USART2.CR1 = 0x100000: bits 0x100000 are reserved"),
    ("nucleo-g474re-6", 0x40014000 + 0x1C, 0x68, "write to 0x4001401C, where there is no register"),
    ("nucleo-g474re-6", 0x40021008, 0x0, "RCC.CFGR = 0x0: SW = 0 is not allowed"),
    ("nucleo-g474re-6", 0x40020004, 1 << 32 - 1, None),
])
def test_accesses_that_are_wrong_are_told(name, register, value, message):
    seen = Accesses()
    seen.note(register, 4, value)
    family = "stm32f4" if name.startswith("f405") else "stm32g4"
    found = violations(seen, MAPS[family](), family)
    if message is None:
        assert found == []
    else:
        assert found and re.search(message, found[0]), found


@pytest.mark.parametrize(("name", "file", "old", "new"), [
    ("f405rg-4", "stm32f4/ft_usart.c", "USART_CR3_DMAR |", "USART_CR3_DMAR | 1u << 13 |"),  # a reserved bit
    ("nucleo-g474re-6", "stm32g4/ft_usart.c", "FT_LINK_USART->ICR =", "FT_LINK_USART->ISR ="),  # a read-only register
])
def test_a_wrong_access_in_the_chips_c_is_found_in_its_image(tmp_path, monkeypatch, name, file, old, new):
    mutate(tmp_path, monkeypatch, file, old, new)
    machine, seen = Machine(tmp_path, ARMED, name), Accesses()
    machine.chip.bus.watch = seen.note
    with suppress(Unmodelled):  # the virtual chip may refuse the access
        machine.run(0.01)
        machine.usart.line_in(b"x")
        machine.run(0.01)
    assert violations(seen, MAPS[machine.board.chip.name](), machine.board.chip.name)


def test_what_a_fault_touches_is_described_too(tmp_path):
    for name in ("f405rg-4", "nucleo-g474re-6"):
        machine = Machine(tmp_path, CRASHING, name)
        seen = Accesses()
        machine.chip.bus.watch = seen.note
        machine.run(0.02).poke("crash", 1)
        machine.run(0.02)
        family = machine.board.chip.name
        assert machine.chip.resets[-1] == "software" and violations(seen, MAPS[family](), family) == []
