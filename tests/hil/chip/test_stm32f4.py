"""The STM32F405's peripherals on small programs, against the reference manual (RM0090)."""

import pytest

from femtorque.hil.chip.registers import Unmodelled
from tests.hil.images import Program

RCC = """
#define RCC_CR REG(0x40023800)
#define RCC_PLLCFGR REG(0x40023804)
#define RCC_CFGR REG(0x40023808)
#define RCC_AHB1ENR REG(0x40023830)
#define RCC_APB1ENR REG(0x40023840)
#define RCC_APB2ENR REG(0x40023844)
#define RCC_CSR REG(0x40023874)
#define FLASH_ACR REG(0x40023C00)
#define PWR_CR REG(0x40007000)
static int wait_for(volatile uint32_t *reg, uint32_t bit) {
    for (uint32_t i = 0; i < 100000; i++) if (*reg & bit) return 1;
    return 0;
}
static int clock_start(uint32_t wait_states) {
    RCC_APB1ENR |= 1 << 28; PWR_CR |= 1 << 14; FLASH_ACR = wait_states;
    RCC_CR |= 1 << 16;
    if (!wait_for(&RCC_CR, 1 << 17)) return 0;
    RCC_PLLCFGR = 4 | 168 << 6 | 0 << 16 | 7 << 24 | 1 << 22;
    RCC_CR |= 1 << 24;
    if (!wait_for(&RCC_CR, 1 << 25)) return 0;
    RCC_CFGR = 5 << 10 | 4 << 13;
    RCC_CFGR |= 2;
    return wait_for(&RCC_CFGR, 2 << 2);
}
"""
TIM8 = RCC + """
#define TIM8(offset) REG(0x40010400 + offset)
enum { CR1 = 0, SMCR = 8, SR = 0x10, EGR = 0x14, CCMR1 = 0x18, CCMR2 = 0x1C, CCER = 0x20, CNT = 0x24, PSC = 0x28,
       ARR = 0x2C, RCR = 0x30, CCR1 = 0x34, CCR2 = 0x38, BDTR = 0x44 };
static void tim8_start(uint32_t top, uint32_t repetition) {
    RCC_APB2ENR |= 2;
    TIM8(CR1) = 0xA0; TIM8(ARR) = top; TIM8(CCMR1) = 0x6868; TIM8(CCER) = 0x11;
    TIM8(CCR1) = 0; TIM8(CCR2) = 0; TIM8(BDTR) = 0x1F00;
    TIM8(RCR) = 0; TIM8(EGR) = 1; TIM8(RCR) = repetition; TIM8(SR) = 0; TIM8(CR1) = 0xA1;
}
"""


@pytest.fixture
def program(tmp_path):
    return lambda source, **options: Program(tmp_path, source, **options)


# ---- clocks ---------------------------------------------------------------


def test_the_clock_tree_reaches_168_mhz_and_time_stays_seconds(program):
    run = program(RCC + """
        void sys_tick(void) { result[0]++; }
        void start(void) {
            result[0] = 0; result[1] = clock_start(5);
            SYST_RVR = 167999; SYST_CVR = 0; SYST_CSR = 7;
            for (;;) { WAIT(); }
        }""").run(0.1)
    assert run[1] == 1
    assert (run.chip.rcc.hclk, run.chip.rcc.apb1, run.chip.rcc.apb2) == (168_000_000, 42_000_000, 84_000_000)
    assert run.chip.rcc.timer_hz(False) == 84_000_000
    assert 95 <= run[0] <= 98  # the crystal took 2 ms
    assert run.chip.seconds == pytest.approx(0.1, abs=1e-6)


def test_a_dead_crystal_leaves_the_chip_on_its_own_oscillator(program):
    run = program(RCC + "void start(void) { result[0] = 7 + clock_start(5); for (;;) { WAIT(); } }",
                  hse_hz=None).run(0.5)
    assert run[0] == 7
    assert run.chip.rcc.hclk == 16_000_000


def test_too_few_wait_states_are_refused(program):
    with pytest.raises(Unmodelled, match="wait states for 120000000 Hz"):
        program(RCC + "void start(void) { clock_start(3); for (;;) { WAIT(); } }").run(0.1)


def test_a_crystal_that_stops_raises_nmi_and_breaks_the_outputs(program):
    run = program(TIM8 + """
        void nmi(void) { result[0] = 1; result[1] = TIM8(BDTR); REG(0x4002380C) |= 1 << 23; }
        void start(void) {
            result[0] = 0; clock_start(5); RCC_CR |= 1 << 19; tim8_start(4200, 39); TIM8(BDTR) |= 1 << 15;
            result[2] = TIM8(BDTR);
            for (;;) { WAIT(); }
        }""").run(0.01)
    assert run[0] == 0 and run[2] & 1 << 15
    run.chip.rcc.fail_hse()
    run.run(1e-3)
    assert run[0] == 1
    assert not run[1] & 1 << 15
    assert run.chip.rcc.hclk == 16_000_000


# ---- outputs --------------------------------------------------------------


def test_update_comes_once_in_repetition_plus_one_half_periods(program):
    run = program(TIM8 + """
        void start(void) {
            DEMCR = 1 << 24; DWT_CTRL = 1;
            clock_start(5); tim8_start(4200, 39);
            uint32_t last = 0;
            for (int i = 0; i < 4; i++) {
                while (!(TIM8(SR) & 1)) { }
                uint32_t now = DWT_CYCCNT; TIM8(SR) = 0;
                result[i] = now - last; last = now;
            }
            result[4] = TIM8(CNT);
            for (;;) { WAIT(); }
        }""").run(0.02)
    for i in (1, 2, 3):
        assert run[i] == pytest.approx(168_000, abs=40)  # 40 half periods of 4200 cycles
    assert 4100 < run[4] <= 4200  # updates come at the top


def test_duties_are_taken_over_together_at_the_update(program):
    run = program(TIM8 + """
        void start(void) {
            clock_start(5); tim8_start(4200, 39); TIM8(BDTR) |= 1 << 15;
            while (!(TIM8(SR) & 1)) { }
            TIM8(SR) = 0;
            while (!(TIM8(SR) & 1)) { }
            TIM8(CCR1) = 2100; TIM8(CCR2) = 4200; result[0] = 1;
            for (;;) { WAIT(); }
        }""")
    timer = run.chip.timers["TIM8"]
    changes: list[tuple[float, float, float]] = []

    def note() -> None:
        changes.append((run.chip.seconds, timer.duty(1), timer.duty(2)))

    timer.on_update = note
    while run[0] != 1:
        run.run(1e-5)
    assert (timer.duty(1), timer.duty(2)) == (0.0, 0.0)
    changes.clear()
    run.run(1.5e-3)
    assert [row[1:] for row in changes] == [(0.5, 1.0)]


def test_the_break_input_clears_moe_until_it_is_gone_and_software_sets_it(program):
    run = program(TIM8 + """
        void start(void) {
            clock_start(5); tim8_start(4200, 39); TIM8(BDTR) |= 1 << 15;
            result[0] = TIM8(BDTR); result[1] = 1;
            while (!(TIM8(BDTR) & 1 << 15) == 0) { }
            result[2] = TIM8(SR) & 0x80;
            TIM8(SR) = ~0x80u; TIM8(BDTR) |= 1 << 15; result[3] = TIM8(BDTR);
            result[4] = TIM8(SR) & 0x80; result[1] = 2;
            while (REG(0x20008000) != 0x600D) { }
            result[5] = TIM8(BDTR);
            TIM8(SR) = ~0x80u; TIM8(BDTR) |= 1 << 15; result[6] = TIM8(BDTR); result[7] = TIM8(SR) & 0x80;
            for (;;) { WAIT(); }
        }""").run(0.01)
    moe, timer = 1 << 15, run.chip.timers["TIM8"]
    assert run[0] & moe
    timer.set_break(True)
    assert not timer.outputs_on  # hardware, before any instruction
    run.run(1e-3)
    assert run[1] == 2 and run[2]
    assert not run[3] & moe and run[4]  # not while the break input is active
    timer.set_break(False)
    run.chip.core.load(0x20008000, (0x600D).to_bytes(4, "little"))
    run.run(1e-3)
    assert not run[5] & moe  # AOE = 0: outputs do not return by themselves
    assert run[6] & moe and not run[7]


def test_a_locked_break_configuration_cannot_be_undone(program):
    run = program(TIM8 + """
        void start(void) {
            clock_start(5); tim8_start(4200, 39);
            TIM8(BDTR) = 1 << 15; TIM8(CCMR1) = 0; result[0] = TIM8(BDTR); result[1] = TIM8(CCMR1);
            for (;;) { WAIT(); }
        }""").run(0.01)
    assert run[0] == 0x9F00
    assert run[1] == 0x6868


def test_pins_read_what_is_wired_and_drive_what_is_set(program):
    run = program(RCC + """
        void start(void) {
            RCC_AHB1ENR |= 2;
            REG(0x40020400) |= 1u << 24;               /* PB12 output */
            REG(0x4002040C) |= 1u << 20;               /* PB10 pulled up */
            REG(0x40020418) = 1u << 12;
            result[0] = REG(0x40020410);
            REG(0x40020418) = 1u << 28;
            result[1] = REG(0x40020410);
            for (;;) { WAIT(); }
        }""")
    run.chip.gpio["B"].drive(9, True)
    run.run(1e-3)
    assert run[0] & (1 << 12 | 1 << 10 | 1 << 9) == 1 << 12 | 1 << 10 | 1 << 9
    assert run[1] & (1 << 12 | 1 << 10 | 1 << 9) == 1 << 10 | 1 << 9


# ---- encoders -------------------------------------------------------------


@pytest.mark.parametrize("timer, base, enable, bits", [("TIM3", 0x40000400, 1, 16), ("TIM2", 0x40000000, 0, 32)])
def test_an_encoder_timer_wraps_at_its_width(program, timer, base, enable, bits):
    run = program(RCC + """
        void start(void) {
            RCC_APB1ENR |= 1 << ENABLE;
            REG(BASE + 0x2C) = RANGE; REG(BASE + 0x18) = 0x6161; REG(BASE + 8) = 3; REG(BASE + 0x24) = 0; REG(BASE) = 1;
            for (;;) { result[0] = REG(BASE + 0x24); }
        }""".replace("ENABLE", str(enable)).replace("BASE", hex(base)).replace("RANGE", hex(2**bits - 1)))
    place = 1000
    run.chip.timers[timer].counts = lambda: place
    run.run(1e-3)
    assert run[0] == 0  # counting began at the present position
    for place in (1005, 998, 1000 + 70000):
        run.run(1e-4)
        assert run[0] == (place - 1000) % 2**bits


def test_an_encoder_range_that_loses_counts_is_refused(program):
    with pytest.raises(Unmodelled, match="loses counts"):
        program(RCC + """
            void start(void) {
                RCC_APB1ENR |= 2; REG(0x4000042C) = 8191; REG(0x40000418) = 0x0101;
                REG(0x40000408) = 3; REG(0x40000400) = 1;
                for (;;) { WAIT(); }
            }""").run(1e-3)


# ---- link -----------------------------------------------------------------

ECHO = RCC + """
#define USART2(offset) REG(0x40004400 + offset)
#define DMA1(offset) REG(0x40026000 + offset)
static volatile uint8_t ring[64], out[64];
static void link_start(void) {
    clock_start(5); RCC_AHB1ENR |= 1 << 21; RCC_APB1ENR |= 1 << 17;
    USART2(8) = 42; USART2(0x14) = 0xC0; USART2(0xC) = 0x200C;
    DMA1(0x90) = 0x40004404; DMA1(0x94) = (uint32_t)ring; DMA1(0x8C) = 64;
    DMA1(0x88) = 4 << 25 | 0x500; DMA1(0x88) |= 1;
}
static void send(uint32_t size) {
    DMA1(0x0C) = 0x3D << 16;
    DMA1(0xA8) = 0x40004404; DMA1(0xAC) = (uint32_t)out; DMA1(0xA4) = size;
    DMA1(0xA0) = 4 << 25 | 0x440; DMA1(0xA0) |= 1;
}
"""


def test_dma_echoes_bytes_at_the_speed_of_the_wire(program):
    run = program(ECHO + """
        void start(void) {
            link_start();
            uint32_t read = 0;
            for (;;) {
                uint32_t write = (64 - DMA1(0x8C)) % 64, size = 0;
                if (DMA1(0xA0) & 1) continue;
                while (read != write) { out[size++] = ring[read]; read = (read + 1) % 64; }
                if (size) send(size);
            }
        }""").run(5e-3)
    usart = run.chip.usarts["USART2"]
    text = bytes(range(1, 201))
    began = run.chip.seconds
    usart.line_in(text)
    back = b""
    while len(back) < len(text):
        run.run(1e-4)
        back += usart.line_out()
        assert run.chip.seconds - began < 10e-3
    assert back == text
    assert run.chip.seconds - began == pytest.approx(200 * 10e-6, abs=0.7e-3)  # 1 Mbaud: 10 us a byte


def test_polled_bytes_overrun_when_nobody_reads(program):
    run = program(RCC + """
        #define USART2(offset) REG(0x40004400 + offset)
        void start(void) {
            clock_start(5); RCC_APB1ENR |= 1 << 17; USART2(8) = 42; USART2(0xC) = 0x200C;
            result[0] = 0;
            while (REG(0x20008000) != 0x600D) { }
            result[1] = USART2(0); result[2] = USART2(4); result[3] = USART2(0);
            for (int i = 0; i < 3; i++) { while (!(USART2(0) & 0x80)) { } USART2(4) = 'a' + i; }
            while (!(USART2(0) & 0x40)) { }
            result[4] = 1;
            for (;;) { WAIT(); }
        }""").run(5e-3)
    usart = run.chip.usarts["USART2"]
    usart.line_in(b"xy")
    run.run(1e-3)
    run.chip.core.load(0x20008000, (0x600D).to_bytes(4, "little"))
    run.run(1e-3)
    assert run[1] & 0x28 == 0x28  # RXNE, ORE
    assert run[2] == ord("x")
    assert run[3] & 0x28 == 0
    assert run[4] == 1
    assert usart.line_out() == b"abc"


def test_a_stream_started_with_old_flags_is_refused(program):
    with pytest.raises(Unmodelled, match="stream 6: enabled with its flags not cleared"):
        program(ECHO + """
            void start(void) {
                link_start(); send(4);
                while (DMA1(0xA0) & 1) { }
                DMA1(0xA4) = 4; DMA1(0xA0) |= 1;
                for (;;) { WAIT(); }
            }""").run(0.01)


# ---- watchdog -------------------------------------------------------------

DOG = RCC + """
#define IWDG(offset) REG(0x40003000 + offset)
static void dog_start(void) {
    IWDG(0) = 0xCCCC; IWDG(0) = 0x5555; IWDG(4) = 1; IWDG(8) = 399; while (IWDG(0xC)) { } IWDG(0) = 0xAAAA;
}
"""


def test_the_watchdog_resets_a_chip_that_stops_feeding_it(program):
    run = program(DOG + """
        void start(void) {
            if (result[9] != 0xCAFE) { result[9] = 0xCAFE; result[0] = 0; }
            result[1 + result[0]++] = RCC_CSR; RCC_CSR |= 1 << 24;
            dog_start();
            for (int i = 0; i < 10; i++) { for (volatile int k = 0; k < 5000; k++) { } IWDG(0) = 0xAAAA; }
            result[8]++;
            for (;;) { }
        }""").run(0.3)
    assert run.chip.resets[0] == "power" and set(run.chip.resets[1:]) == {"watchdog"}
    assert run[1] & 1 << 27
    assert run[2] & 1 << 29 and not run[2] & 1 << 27
    assert run.chip.watchdog.timeout_s() == pytest.approx(0.1)


def test_a_fed_watchdog_keeps_still(program):
    run = program(DOG + """
        void start(void) {
            dog_start();
            for (;;) { for (volatile int k = 0; k < 2000; k++) { } IWDG(0) = 0xAAAA; }
        }""").run(0.5)
    assert run.chip.resets == ["power"]
