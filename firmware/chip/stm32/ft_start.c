/* Start-up: vector table and reset. After a processor fault, a stopped crystal
 * or a low supply: outputs safe, cause stored, reset. */
#include <stddef.h>

#include "ft_app.h"
#include "ft_board.h" /* FT_VECTORS, FT_TICK_PRELOAD */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

/* memory.ld gives the addresses. */
extern uint32_t ft_stack_top[], ft_ram_start[], ft_ram_end[];
extern uint32_t ft_data_start[], ft_data_end[], ft_data_image[];
extern uint32_t ft_bss_start[], ft_bss_end[];
extern const uint32_t ft_check[];

int main(void);

__attribute__((section(".noinit"))) ft_keepsake ft_kept;

/* ---- Vector table ------------------------------------------------------- */

typedef void (*ft_vector)(void);

typedef struct {
    uint32_t *stack;
    ft_vector reset, nmi, hard_fault, mem_manage, bus_fault, usage_fault;
    ft_vector reserved_7[4], sv_call, debug_monitor, reserved_13, pend_sv;
    ft_vector sys_tick;
    ft_vector interrupts[FT_VECTOR_COUNT]; /* an unused interrupt is a fault */
} ft_vector_table;

__attribute__((section(".vectors"), used)) const ft_vector_table ft_vectors = {
    .stack = ft_stack_top,
    .reset = ft_reset,
    .nmi = ft_crash_entry, /* clock security: the external clock stopped */
    .hard_fault = ft_crash_entry,
    .mem_manage = ft_crash_entry,
    .bus_fault = ft_crash_entry,
    .usage_fault = ft_crash_entry,
    .sv_call = ft_crash_entry,
    .debug_monitor = ft_crash_entry,
#if FT_TICK_PRELOAD || FT_PIL
    .pend_sv = ft_crash_entry,
    .sys_tick = ft_tick_interrupt,
#define FT_PRIORITY_SYSTICK FT_PRIORITY_TICK
#else
#define FT_PRIORITY_SYSTICK FT_PRIORITY_BOUNDARY
    .pend_sv = ft_tick_interrupt,
    .sys_tick = ft_boundary_interrupt,
#endif
    .interrupts = { FT_VECTORS },
};

/* ---- Reset -------------------------------------------------------------- */

/* Set the core up: FPU, fault exceptions, priorities. */
static void ft_core_start(void)
{
    /* Lazy stacking (the reset state) reserves stack for the FPU registers, and
     * saves them only if the tick uses the FPU. */
    SCB->CPACR |= SCB_CPACR_CP10_CP11;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    SCB->VTOR = (uint32_t)(uintptr_t)&ft_vectors;
    SCB->SHPR[2] =
        FT_PRIORITY_SYSTICK << (SCB_SHPR3_SYSTICK_Pos + 4u) |
        FT_PRIORITY_TICK << (SCB_SHPR3_PENDSV_Pos + 4u);
    SCB->SHCSR |= SCB_SHCSR_MEMFAULTENA | SCB_SHCSR_BUSFAULTENA |
                  SCB_SHCSR_USGFAULTENA;
    SCB->CCR |= SCB_CCR_DIV_0_TRP;
}

/* The stack grows down to the start of RAM. A mark in its last words shows
 * whether it has almost filled its space. */
static const uint32_t ft_mark = 0x57AC4E4Du;
enum { FT_MARK_WORDS = 8 };

bool ft_chip_stack_whole(void)
{
    const volatile uint32_t *stack = ft_ram_start;
    bool whole = true;
    for (uint32_t i = 0; i < FT_MARK_WORDS; i++)
        whole = whole && stack[i] == ft_mark;
    return whole;
}

/* The image begins with the table of vectors. */
ft_image ft_chip_image(void)
{
    uintptr_t first = (uintptr_t)&ft_vectors, check = (uintptr_t)ft_check;
    ft_image image = { (const uint8_t *)first, check - first, *ft_check };
    return image;
}

/* Initialise memory, then run main(). */
void ft_reset(void)
{
    ft_leave_if_asked();
    for (uint32_t i = 0; i < FT_MARK_WORDS; i++)
        ft_ram_start[i] = ft_mark;
    const uint32_t *from = ft_data_image;
    for (uint32_t *to = ft_data_start; to != ft_data_end; to++)
        *to = *from++;
    for (uint32_t *to = ft_bss_start; to != ft_bss_end; to++)
        *to = 0;
    ft_core_start();
    (void)main();
    for (;;) { /* if main() returns, the watchdog resets the chip */
    }
}

/* Initialise the chip, then serve the link between control ticks. */
int main(void)
{
    ft_app_start(ft_chip_start());
    ft_chip_run();
    for (;;)
        ft_app_idle();
}

/* ---- Faults ------------------------------------------------------------- */

/* Switch to a new stack, since the old stack may have failed. */
__attribute__((naked)) void ft_crash_entry(void)
{
    __asm__ volatile("mrs r0, msp\n\t"
                     "mov r1, lr\n\t"
                     "ldr r2, =ft_stack_top\n\t"
                     "msr msp, r2\n\t"
                     "b ft_crash\n\t"
                     ".ltorg");
}

/* Make the outputs safe, store the cause, reset. */
__attribute__((used)) void ft_crash(const uint32_t *frame, uint32_t exc_return)
{
    ft_chip_safe();
    ft_kept.exception = SCB->ICSR & SCB_ICSR_VECTACTIVE;
    ft_kept.cfsr = SCB->CFSR;
    ft_kept.hfsr = SCB->HFSR;
    ft_kept.address = SCB->BFAR;
    bool readable = frame >= ft_ram_start && frame + 8 <= ft_ram_end;
    ft_kept.lr = readable ? frame[5] : exc_return;
    ft_kept.pc = readable ? frame[6] : 0u;
    ft_kept.psr = readable ? frame[7] : 0u;
    ft_kept.crash_check = ft_clock_stopped()   ? FT_CLOCK_CHECK
                          : ft_supply_sagged() ? FT_SUPPLY_CHECK
                                               : FT_CRASH_CHECK;
    __asm__ volatile("dsb" ::: "memory");
    SCB->AIRCR = SCB_AIRCR_VECTKEY | SCB_AIRCR_SYSRESETREQ;
    for (;;) {
    }
}
