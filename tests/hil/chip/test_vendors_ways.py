"""Actions of vendors' drivers that this firmware never performs. Each of these actions once stopped one of ST's drivers
on the virtual chip (docs/vendor.md), or had another effect than on silicon."""

import pytest

from femtorque.hil.chip.registers import Unmodelled
from tests.support.bare_chip import F4, G4, Bare

RCC4, RCC2 = 0x40023800, 0x40021000
TIM1 = {F4: 0x40010000, G4: 0x40012C00}
CR1, SR, EGR, CCMR1, CCER, RCR, ARR, BDTR = 0x00, 0x10, 0x14, 0x18, 0x20, 0x30, 0x2C, 0x44
URS, MOE, AOE, BKE = 1 << 2, 1 << 15, 1 << 14, 1 << 12
FLASH4, FLASH2 = 0x40023C00, 0x40022000
KEYS, OPTION_KEYS = (0x45670123, 0xCDEF89AB), (0x08192A3B, 0x4C5D6E7F)
SECTOR_11, PAGE_0_OF_BANK_2 = 0x080E0000, 0x08040000


def timer(kind) -> Bare:
    chip = Bare(kind)
    chip.write(*((RCC4 + 0x44, 1) if kind is F4 else (RCC2 + 0x60, 1 << 11)))
    return chip


def test_outputs_of_a_pll_are_let_out_while_it_runs_and_nothing_else_of_it_changes():
    chip = Bare(G4)
    chip.write(RCC2, chip.read(RCC2) | 1 << 16)
    chip.run(5e-3)
    chip.write(RCC2 + 0x0C, 3 | 5 << 4 | 85 << 8)
    chip.write(RCC2, chip.read(RCC2) | 1 << 24)
    chip.run(1e-3)
    chip.write(RCC2 + 0x0C, chip.read(RCC2 + 0x0C) | 1 << 24)
    assert chip.read(RCC2 + 0x0C) >> 24 & 1
    with pytest.raises(Unmodelled, match="while the PLL is on"):
        chip.write(RCC2 + 0x0C, 3 | 5 << 4 | 84 << 8 | 1 << 24)


def test_a_bit_of_a_peripheral_is_a_word_elsewhere():
    """A store to a bit's word changes only this bit. A load also reads the read-only register next to it."""
    chip = Bare(F4)
    at = 0x42000000 + 32 * (RCC4 - 0x40000000)
    before = chip.read(RCC4)
    chip.write(at + 4 * 16, 1)
    assert chip.read(RCC4) == before | 1 << 16 and chip.read(at + 4 * 16) == 1
    chip.run(5e-3)
    assert chip.read(at + 4 * 17) == 1  # HSERDY
    chip.write(at + 4 * 16, 0xFFFFFFFE)
    assert not chip.read(RCC4) >> 16 & 1


def test_message_ram_is_read_in_bytes():
    chip = Bare(G4)
    chip.writes(0, (RCC2 + 0x58, 1 << 25), (0x4000A404, 0x44332211))
    assert [chip.read(0x4000A404 + i, 1) for i in range(4)] == [0x11, 0x22, 0x33, 0x44]
    assert chip.read(0x4000A406, 2) == 0x4433


@pytest.mark.parametrize("offset", [0x10, 0x14, 0x88, 0xE4, 0xE8], ids=["TEST", "RWD", "HPMS", "TXEFS", "TXEFA"])
def test_what_an_fdcan_does_not_use_reads_zero_and_takes_zero(offset):
    chip = Bare(G4)
    chip.write(RCC2 + 0x58, 1 << 25)
    assert chip.read(0x40006400 + offset) == 0
    chip.write(0x40006400 + offset, 0)


def test_read_only_bits_of_bxcans_status_are_written_back_without_effect():
    chip = Bare(F4)
    chip.writes(0, (RCC4 + 0x40, 3 << 25), (0x40006580, 1))  # request to send mailbox 0
    status = chip.read(0x40006408)
    assert status == 6 << 26 | 1 << 24
    chip.write(0x40006408, status | 1 << 7)  # abort it
    assert chip.read(0x40006408) == 7 << 26 | 1


@pytest.mark.parametrize("kind", [F4, G4])
def test_an_update_by_software_sets_no_flag_where_only_the_counter_may(kind):
    chip, at = timer(kind), TIM1[kind]
    chip.writes(at, (CR1, URS), (EGR, 1))
    assert not chip.read(at + SR) & 1
    chip.writes(at, (CR1, 0), (EGR, 1))
    assert chip.read(at + SR) & 1


@pytest.mark.parametrize("kind", [F4, G4])
@pytest.mark.parametrize("automatic", [True, False])
def test_outputs_come_on_by_themselves_at_an_update_after_a_break_where_that_was_asked_for(kind, automatic):
    chip, at = timer(kind), TIM1[kind]
    chip.writes(at, (ARR, 1000), (BDTR, BKE | MOE | (AOE if automatic else 0)), (CR1, 1))
    chip.chip.timers["TIM1"].set_break(True)
    chip.run(1e-3)
    assert not chip.read(at + BDTR) & MOE
    chip.chip.timers["TIM1"].set_break(False)
    assert not chip.read(at + BDTR) & MOE
    chip.run(1e-3)
    assert bool(chip.read(at + BDTR) & MOE) == automatic


@pytest.mark.parametrize("kind", [F4, G4])
def test_the_direction_of_a_centred_timer_is_written_back_without_effect(kind):
    chip, at = timer(kind), TIM1[kind]
    chip.writes(at, (ARR, 1000), (CR1, 1 << 5 | 1))
    while not chip.read(at + CR1) & 1 << 4:
        chip.run(1e-5)
    chip.write(at + CR1, chip.read(at + CR1) & ~1)
    assert chip.read(at + CR1) == 1 << 5


def test_pins_of_a_g4_are_cleared_by_a_register_of_their_own():
    chip = Bare(G4)
    chip.writes(0, (RCC2 + 0x4C, 2), (0x48000418, 0xFF), (0x48000428, 0x0F))
    assert chip.read(0x48000414) == 0xF0


def test_a_converter_that_is_off_takes_no_trigger_and_any_choice_of_one():
    chip = Bare(F4)
    chip.writes(0, (RCC4 + 0x44, 1 << 8), (0x40012008, 1 << 20), (0x40012008, 1 << 20 | 1 << 16))  # TIM1_CC4 triggers
    chip.chip.parts.do("converter_trigger", chip.chip.adc.slot, float(chip.chip.core.now))
    assert not chip.chip.adc.busy
    with pytest.raises(Unmodelled, match="only the rising edge"):
        chip.write(0x40012008, 1 << 20 | 1)


def test_a_converter_stops_waiting_for_its_trigger_and_is_switched_off():
    chip, at = Bare(G4), 0x50000108
    chip.writes(0, (RCC2 + 0x4C, 1 << 13), (0x50000308, 3 << 16))
    for value, seconds in ((0, 0.0), (1 << 28, 1e-4), (1 << 28 | 1 << 31, 1e-3), (1 << 28 | 1, 1e-4)):
        chip.write(at, value)
        chip.run(seconds)
    chip.write(0x5000014C, 1 << 7)
    chip.write(at, 1 << 28 | 1 | 1 << 3)
    assert chip.read(at) >> 3 & 1
    chip.write(at, 1 << 28 | 1 | 1 << 5)
    assert chip.read(at) == 1 << 28 | 1
    chip.write(at, 1 << 28 | 1 | 1 << 1)
    assert chip.read(at) == 1 << 28


@pytest.mark.parametrize("kind, gate, usart, clear", [
    (F4, (RCC4 + 0x40, 1 << 18), 0x40004800, (0x00, 0xFFFFFFFF & ~(1 << 6))),
    (G4, (RCC2 + 0x58, 1 << 18), 0x40004800, (0x20, 1 << 6))])
def test_the_end_of_sending_is_cleared_until_the_next_byte_is_out(kind, gate, usart, clear):
    chip = Bare(kind)
    status, data, brr, control, on = (0x00, 0x04, 0x08, 0x0C, 1 << 13) if kind is F4 else (0x1C, 0x28, 0x0C, 0x00, 1)
    chip.write(*gate)
    chip.writes(usart, (brr, 160), (control, on | 1 << 3 | 1 << 2))
    assert chip.read(usart + status) >> 6 & 1
    assert chip.read(usart + status) >> 21 & 3 == (3 if kind is G4 else 0)  # TEACK, REACK
    chip.write(usart + clear[0], clear[1])
    assert not chip.read(usart + status) >> 6 & 1
    chip.write(usart + data, 0x55)
    assert not chip.read(usart + status) >> 6 & 1
    chip.run(1e-3)
    assert chip.read(usart + status) >> 6 & 1


def test_a_watchdog_of_a_g4_shows_that_it_has_no_window():
    assert Bare(G4).read(0x40003010) == 0xFFF


def unlocked(kind) -> tuple[Bare, int, int]:
    """Return a chip whose flash is unlocked, its flash interface, and the offset of this interface's CR."""
    chip, (at, keys) = Bare(kind), (FLASH4, 0x04) if kind is F4 else (FLASH2, 0x08)
    for key in KEYS:
        chip.write(at + keys, key)
    return chip, at, 0x10 if kind is F4 else 0x14


@pytest.mark.parametrize("kind", [F4, G4])
def test_flash_is_unlocked_by_its_keys_in_their_order_and_by_nothing_after_a_wrong_one(kind):
    chip, at, control = unlocked(kind)
    assert not chip.read(at + control) >> 31
    chip.write(at + control, 1 << 31)
    assert chip.read(at + control) >> 31
    wrong, keys = Bare(kind), 0x04 if kind is F4 else 0x08
    for key in (KEYS[1], *KEYS):
        wrong.write(at + keys, key)
    assert wrong.read(at + control) >> 31


@pytest.mark.parametrize("kind, place, size, wanted, seconds", [
    (F4, SECTOR_11, 128 << 10, 1 << 1 | 11 << 3, 1.0), (G4, PAGE_0_OF_BANK_2, 2 << 10, 1 << 1 | 1 << 11, 22e-3)])
def test_a_piece_of_flash_is_erased_alone_and_takes_its_time(kind, place, size, wanted, seconds):
    chip, at, control = unlocked(kind)
    status = 0x0C if kind is F4 else 0x10
    chip.chip.core.load(place - 4, bytes(size + 4 if kind is F4 else size + 8))
    chip.write(at + control, wanted | 1 << 16)
    assert chip.read(at + status) >> 16 & 1
    chip.run(0.99 * seconds)
    assert chip.read(at + status) >> 16 & 1
    chip.run(0.02 * seconds)
    assert not chip.read(at + status) >> 16 & 1
    assert chip.chip.core.memory(place, size) == b"\xff" * size
    assert chip.chip.core.memory(place - 4, 4) == bytes(4)


@pytest.mark.parametrize("kind", [F4, G4])
def test_flash_beyond_an_image_is_erased(kind):
    chip = Bare(kind)
    assert chip.chip.core.memory(SECTOR_11 if kind is F4 else PAGE_0_OF_BANK_2, 64) == b"\xff" * 64


def test_bits_of_an_f4s_flash_go_down_alone():
    chip, at, control = unlocked(F4)
    chip.write(at + control, 1 | 2 << 8)
    for value in (0x0FF0FFFF, 0xFFFF1234):
        assert chip.chip.flash.program(SECTOR_11, 4, value)
    assert chip.chip.core.memory(SECTOR_11, 4) == (0x0FF01234).to_bytes(4, "little")
    chip.chip.flash.program(SECTOR_11, 1, 0)  # not the chosen width
    assert chip.read(at + 0x0C) >> 6 & 1


def test_a_g4s_flash_takes_pairs_of_words_where_it_is_erased_and_zeros_anywhere():
    chip, at, control = unlocked(G4)
    chip.write(at + control, 1)
    put = chip.chip.flash.program

    def there() -> int:
        return int.from_bytes(chip.chip.core.memory(PAGE_0_OF_BANK_2, 8), "little")

    put(PAGE_0_OF_BANK_2, 4, 0x11111111)
    assert there() == 0xFFFFFFFFFFFFFFFF
    put(PAGE_0_OF_BANK_2 + 4, 4, 0x22222222)
    assert there() == 0x2222222211111111 and not chip.read(at + 0x10) & 0xFFFF
    put(PAGE_0_OF_BANK_2, 4, 0)
    put(PAGE_0_OF_BANK_2 + 4, 4, 1)
    assert there() == 0x2222222211111111 and chip.read(at + 0x10) & 0xFFFF == 1 << 3  # PROGERR
    chip.write(at + 0x10, 1 << 3)
    put(PAGE_0_OF_BANK_2, 4, 0)
    put(PAGE_0_OF_BANK_2 + 4, 4, 0)
    assert there() == 0 and not chip.read(at + 0x10) & 0xFFFF
    put(PAGE_0_OF_BANK_2 + 12, 4, 0)
    put(PAGE_0_OF_BANK_2 + 8, 1, 0)
    assert chip.read(at + 0x10) & 0xFFFF == 1 << 7 | 1 << 6  # PGSERR, SIZERR


def test_option_bytes_are_kept_over_a_reset_once_they_were_programmed():
    chip = Bare(F4)
    for key in OPTION_KEYS:
        chip.write(FLASH4 + 0x08, key)
    chip.write(FLASH4 + 0x14, chip.read(FLASH4 + 0x14) & ~0xC | 2)  # BOR level 3, OPTSTRT
    chip.chip.reset("power")
    assert chip.read(FLASH4 + 0x14) == 0x0FFFAAE1
    g4, at, control = unlocked(G4)
    for key in OPTION_KEYS:
        g4.write(at + 0x0C, key)
    g4.write(at + 0x20, 0xFFEFFCAA)
    g4.write(at + control, 1 << 27 | 0 << 17)  # started without programming the flash
    g4.run(1e-3)
    assert g4.chip.resets[-1] == "options" and g4.read(at + 0x20) == 0xFFEFF8AA
    for where, key in ((0x08, KEYS), (0x0C, OPTION_KEYS)):
        for half in key:
            g4.write(at + where, half)
    g4.write(at + 0x20, 0xFFEFFCAA)
    g4.write(at + control, 1 << 17)
    g4.chip.reset("power")
    assert g4.read(at + 0x20) == 0xFFEFFCAA
