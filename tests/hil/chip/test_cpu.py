"""Exceptions, floating point, faults, sleep and counts of the emulated core agree with the architecture."""

import pytest

from femtorque.hil.chip.registers import Unmodelled


def test_systick_counts_down_and_flags(program):
    run = program("""
        void start(void) {
            SYST_RVR = 999; SYST_CVR = 0; SYST_CSR = 5;
            uint32_t first;
            while ((first = SYST_CVR) == 0) { } // until it has reloaded, a clock after it was enabled
            for (volatile int i = 0; i < 20; i++) { }
            result[0] = first - SYST_CVR;
            result[1] = SYST_CSR >> 16 & 1;
            while (!(SYST_CSR & 1 << 16)) { }
            result[2] = 1;
            for (;;) { }
        }""").run(1e-3)
    assert 100 < run[0] < 400
    assert run[1] == 0
    assert run[2] == 1


def test_an_exception_keeps_every_register_and_flag(program):
    """The loop uses all caller-saved registers and the flags, and the handler overwrites them."""
    run = program("""
        void sys_tick(void) {
            result[0]++;
            __asm__ volatile("mov r0, #0\\n mov r1, #0\\n mov r2, #0\\n mov r3, #0\\n mov r12, #0\\n"
                             "cmp r0, #1\\n" ::: "r0", "r1", "r2", "r3", "r12", "cc");
        }
        void start(void) {
            uint32_t errors = 0;
            result[0] = 0;
            SYST_RVR = 1999; SYST_CVR = 0; SYST_CSR = 7;
            while (result[0] < 200) {
                uint32_t bad;
                __asm__ volatile(
                    "ldr r0, =0x11111111\\n ldr r1, =0x22222222\\n ldr r2, =0x33333333\\n"
                    "ldr r3, =0x44444444\\n ldr r12, =0x55555555\\n movs %0, #0\\n"
                    "mov r4, #50\\n 1: subs r4, #1\\n bne 1b\\n"
                    "add r0, r0, r1\\n add r0, r0, r2\\n add r0, r0, r3\\n add r0, r0, r12\\n"
                    "ldr r1, =0xFFFFFFFF\\n subs %0, r0, r1\\n"
                    : "=&r"(bad) :: "r0", "r1", "r2", "r3", "r4", "r12", "cc");
                errors |= bad;
            }
            result[1] = errors; result[2] = 1;
            for (;;) { WAIT(); }
        }""").run(40e-3)
    assert run[2] == 1
    assert run[1] == 0


def test_floating_point_survives_an_interrupt_that_uses_it(program):
    source = """
        void sys_tick(void) {
            float x = 1.0f + (float)result[0];
            for (int i = 0; i < 5; i++) x = x * 1.5f - 0.25f;
            result[3] = (uint32_t)x;
            result[0]++;
        }
        static float work(void) {
            float a = 1.0f, b = 2.0f, c = 3.0f, d = 4.0f;
            for (int i = 0; i < 20000; i++) {
                a = a * 0.999f + b * 1e-3f; b = b + c * 1e-4f;
                c = c * 0.9999f; d = d + a - b;
            }
            return a + b + c + d;
        }
        void start(void) {
            CPACR = 0xFu << 20;
            __asm__ volatile("dsb\\n isb");
            result[0] = 0;
            SYST_RVR = 1499; SYST_CVR = 0; SYST_CSR = TICK;
            float sum = work();
            __builtin_memcpy((void *)&result[1], &sum, 4);
            result[2] = 1;
            for (;;) { WAIT(); }
        }"""
    disturbed = program(source.replace("TICK", "7")).run(0.2)
    alone = program(source.replace("TICK", "0")).run(0.2)
    assert disturbed[2] == alone[2] == 1 and disturbed[0] > 50 and disturbed[1] == alone[1]


def test_what_a_comparison_has_found_survives_an_interrupt(program):
    """The exception return also restores the FPU's flags. The next FPU instruction does not reset them."""
    run = program("""
        void sys_tick(void) { result[0]++; }
        void start(void) {
            uint32_t wrong = 0;
            CPACR = 0xFu << 20;
            __asm__ volatile("dsb\\n isb");
            result[0] = 0;
            SYST_RVR = 1499; SYST_CVR = 0; SYST_CSR = 7;
            while (result[0] < 100) {
                uint32_t status;
                __asm__ volatile(
                    "vcmp.f32 %1, %2\\n mov r4, #50\\n 1: subs r4, #1\\n bne 1b\\n vmrs %0, fpscr\\n"
                    : "=r"(status) : "t"(1.0f), "t"(2.0f) : "r4", "cc");
                wrong += status >> 28 != 8u; /* less than */
            }
            result[1] = wrong; result[2] = 1;
            for (;;) { WAIT(); }
        }""").run(40e-3)
    assert (run[1], run[2]) == (0, 1)


def test_the_first_store_to_a_page_leaves_no_condition_for_what_comes_after_a_branch(program):
    """The store is conditional, and the emulator looks up the memory page in the middle of the IT block."""
    run = program("""
        void start(void) {
            register uint32_t at __asm__("r0") = 0x20010000;
            register uint32_t count __asm__("r3") = 0;
            for (uint32_t i = 0; i < 8; i++)
                __asm__ volatile("cmp %0, %0\\n it eq\\n streq %1, [%0]\\n cmp %0, #0\\n b 2f\\n nop\\n"
                                 "2: add.w %1, %1, #1\\n add.w %0, %0, #4096\\n"
                                 : "+r"(at), "+r"(count) :: "cc", "memory");
            result[0] = count;
            for (uint32_t i = 0; i < 8; i++)
                result[1 + i] = *(uint32_t *)(0x20010000 + 4096 * i);
            for (;;) { }
        }""").run(1e-3)
    assert [run[i] for i in range(9)] == [8, *range(8)]


NOTING = """
static void note(uint32_t what) { result[1 + result[0]++] = what; }
static void wait_a_little(void) { for (int i = 0; i < 10; i++) { __asm__ volatile("nop"); } }
"""
LOCKED = "a fault in the handler of faults locks the processor up"
EXCEPTIONS = {  # name: handlers, body of start, and their records in order
    "IRQ 0 is more urgent and nests in IRQ 1; PendSV is the last and waits for both": ("""
        void irq0(void) { note(0xA0); }
        void irq1(void) { note(0xB0); ICSR = 1u << 28; NVIC_ISPR0 = 1; note(0xB1); }
        void pend_sv(void) { note(0xC0); }""", """
        NVIC_IPR0 = 0x10 | 0x80 << 8; SHPR3 = 0xF0u << 16; NVIC_ISER0 = 3; NVIC_ISPR0 = 2;
        wait_a_little(); note(0xD0);""", [0xB0, 0xA0, 0xB1, 0xC0, 0xD0]),
    "equal priorities do not nest": ("""
        void irq0(void) { note(0xA0); }
        void irq1(void) { note(0xB0); NVIC_ISPR0 = 1; note(0xB1); }""", """
        NVIC_IPR0 = 0x40 | 0x40 << 8; NVIC_ISER0 = 3; NVIC_ISPR0 = 2; wait_a_little();""", [0xB0, 0xB1, 0xA0]),
    "masked interrupts wait and still end sleep": ("void irq0(void) { note(0xA0); }", """
        NVIC_ISER0 = 1; __asm__ volatile("cpsid i"); NVIC_ISPR0 = 1; wait_a_little(); note(0xD0); WAIT(); note(0xD1);
        __asm__ volatile("cpsie i"); wait_a_little(); note(0xD2);""", [0xD0, 0xD1, 0xA0, 0xD2]),
    "SVC returns behind the instruction": ("void sv_call(void) { note(0xA0); }", """
        __asm__ volatile("svc 3"); note(0xD0); __asm__ volatile("svc 3"); note(0xD1);""", [0xA0, 0xD0, 0xA0, 0xD1]),
    "an enabled usage fault has its own handler": (
        "void usage_fault(void) { note(ICSR & 0x1FF); for (;;) { } }",
        'SHCSR = 1 << 18; __asm__ volatile("udf 1");', [6]),
    LOCKED: ("void hard_fault(void) { note(3); *(volatile uint32_t *)0x30000000 = 1; note(4); }",
             "*(volatile uint32_t *)0x30000000 = 1;", [3]),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_come_in_the_order_of_the_architecture(program, name):
    handlers, body, noted = EXCEPTIONS[name]
    run = program(f"{NOTING}{handlers}\nvoid start(void) {{ result[0] = 0; {body} for (;;) {{ WAIT(); }} }}").run(1e-3)
    assert [run[1 + i] for i in range(run[0])] == noted and run.chip.core.locked_up == (name == LOCKED)


@pytest.mark.parametrize("cause, status", [
    ("*(volatile uint32_t *)0x30000000 = 1;", 1 << 9),
    ("(void)*(volatile uint32_t *)0x30000000;", 1 << 9),
    ('__asm__ volatile("udf 1");', 1 << 16),
    ("((void (*)(void))0x30000001)();", 1 << 0),
    ("((void (*)(void))0x40000001)();", 1 << 0),
    ("((void (*)(void))0xE0000001)();", 1 << 0),
    ("((void (*)(void))0x60000001)();", 1 << 0),
    ("*(volatile uint32_t *)0x08000000 = 1;", 1 << 9),
])
def test_faults_reach_the_hard_fault_handler_with_their_cause(program, cause, status):
    run = program("""
        void hard_fault(void) {
            result[0] = 0xDEAD; result[1] = CFSR; result[2] = HFSR; result[3] = ICSR & 0x1FF;
            for (;;) { }
        }
        void start(void) { result[0] = 0; CAUSE for (;;) { } }""".replace("CAUSE", cause)).run(1e-3)
    assert run[0] == 0xDEAD
    assert run[1] & status
    assert run[2] & 1 << 30
    assert run[3] == 3


def test_code_in_memory_runs_as_it_was_last_written(program):
    """The program stores data at addresses near the code. A handler writes the code a second time."""
    run = program("""
        static uint16_t code[1024];
        static void write(volatile uint16_t *at, uint16_t value) {
            at[0] = 0x2000 | value; // movs r0, #value
            at[1] = 0x4770; // bx lr
            __asm__ volatile("dsb\\n isb" ::: "memory");
        }
        static uint32_t call(uint16_t *at) { return ((uint32_t (*)(void))((uintptr_t)at | 1))(); }
        void sys_tick(void) { write(code + 16, 66); write(code + 24, 77); }
        void start(void) {
            for (int i = 0; i < 8; i++) write(code + 4 * i, 2);
            SYST_RVR = 5999; SYST_CVR = 0; SYST_CSR = 7;
            result[14] = call(code + 16) + call(code + 24);
            WAIT();
            result[15] = call(code + 16); result[16] = call(code + 24);
            for (int i = 0; i < 7; i++) { write(code, 10 + i); result[i] = call(code); code[8] = 1; }
            for (int i = 0; i < 7; i++) { write(code + 900, 30 + i); result[7 + i] = call(code + 900); }
            for (;;) { WAIT(); }
        }""").run(2e-3)
    assert [run[i] for i in range(17)] == [*range(10, 17), *range(30, 37), 4, 66, 77]


def test_instructions_are_counted_exactly(program):
    run = program("""
        __attribute__((naked, noinline, used)) void loop(uint32_t turns) {
            __asm__ volatile("1: subs r0, #1\\n nop\\n it eq\\n moveq r1, #5\\n cmp r0, #0\\n bne 1b\\n bx lr");
        }
        void sys_tick(void) { loop(1000); result[0]++; }
        void start(void) {
            result[0] = 0;
            SYST_RVR = 15999; SYST_CVR = 0; SYST_CSR = 7;
            for (;;) { WAIT(); }
        }""").run(5.9e-3)
    loop = run.image.symbol("loop")
    assert run[0] == 5
    executed = sum(b.runs * b.instructions for b in run.chip.core.counter.within(loop.address, loop.end))
    assert executed == 5 * (1000 * 6 + 1)
    around = run.chip.core.handled(15).instructions - 5 * (1000 * 6 + 1)
    assert 0 < around == 5 * (around // 5) < 5 * 20


def test_the_cycle_counter_follows_the_model(program):
    run = program("""
        __attribute__((naked, noinline, used)) void loop(uint32_t turns) {
            __asm__ volatile("1: subs r0, #1\\n bne 1b\\n bx lr");
        }
        __attribute__((noinline)) static uint32_t measure(uint32_t turns) {
            uint32_t before = DWT_CYCCNT;
            loop(turns);
            return DWT_CYCCNT - before;
        }
        void start(void) {
            DEMCR = 1 << 24; DWT_CYCCNT = 0; DWT_CTRL = 1;
            uint32_t long_loop = measure(1000);
            result[0] = long_loop - measure(500);
            for (;;) { WAIT(); }
        }""").run(1e-3)
    assert run[0] == 500 * 4  # subs 1, taken branch 1 + 2


def test_an_interrupt_from_the_keyboard_leaves_from_within_a_register_access(program):
    run = program("void start(void) { for (;;) { (void)REG(0x40023C00); } }")

    def pressed(address: int, size: int, value: int | None) -> None:
        raise KeyboardInterrupt

    run.chip.bus.watch = pressed
    with pytest.raises(KeyboardInterrupt):
        run.run(1e-3)
    run.chip.bus.watch = None
    run.run(1e-3)


@pytest.mark.parametrize("body, said", [
    ("REG(0x40013000) = 1;", r"0x40013000.*nothing.*pc 0x0800"),
    ("REG(0x40023C00) = 0x10;", r"bits 0x10 .*FLASH.ACR at 0x40023C00, in the block at pc 0x0800"),
    ("volatile float x = 1.5f; x = x * x;", "CPACR is off")])
def test_what_is_not_modelled_is_refused_with_its_place(program, body, said):
    with pytest.raises(Unmodelled, match=said):
        program(f"void start(void) {{ {body} for (;;) {{ }} }}").run(1e-3)
