/* The chip's identity and history, and the entry into ST's boot loader. */
#include <string.h> /* memcpy, memset */

#include "ft_board.h" /* FT_LOADER */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

/* ---- Report on the chip -------------------------------------------------- */

static uint32_t ft_resets; /* since power-on */

/* Count this reset. If the check sum of this memory is wrong, the chip was
 * powered on. After power-on the crash record is invalid. */
void ft_history_start(void)
{
    bool kept = ft_kept.resets_check == ~ft_kept.resets &&
                ft_chip_reset_cause() != FT_RESET_POWER;
    ft_resets = kept ? ft_kept.resets + 1u : 0u;
    ft_kept.resets = ft_resets;
    ft_kept.resets_check = ~ft_resets;
    if (!kept)
        ft_kept.exception = 0;
}

void ft_chip_history(ft_history *h)
{
    memset(h->unique, 0, sizeof h->unique);
    if (!FT_TOLERANT) /* emulators have no system memory */
        memcpy(h->unique, (const uint8_t *)UID_BASE, sizeof h->unique);
    h->options = FT_OPTIONS;
    h->resets = ft_resets;
    h->exception = ft_kept.exception;
    h->pc = ft_kept.pc;
    h->lr = ft_kept.lr;
    h->psr = ft_kept.psr;
    h->cfsr = ft_kept.cfsr;
    h->hfsr = ft_kept.hfsr;
    h->address = ft_kept.address;
}

/* ---- The boot loader in ROM --------------------------------------------- */

bool ft_chip_has_loader(void)
{
    return FT_LOADER != 0;
}

/* Enter the boot loader by a reset. After the reset every clock, pin and
 * interrupt is in its reset state, as after a start with BOOT0 high. */
void ft_chip_leave(void)
{
    ft_chip_safe();
    ft_chip_outputs(false);
    ft_kept.leave_check = FT_LEAVE_CHECK;
    __asm__ volatile("dsb" ::: "memory");
    SCB->AIRCR = SCB_AIRCR_VECTKEY | SCB_AIRCR_SYSRESETREQ;
    for (;;) {
    }
}

/* Jump into the boot loader in ROM, which begins with its vector table, if the
 * last run has requested it. The chip is in its reset state. */
void ft_leave_if_asked(void)
{
    const uint32_t *rom = (const uint32_t *)SYSTEM_MEMORY_BASE;

    if (ft_kept.leave_check != FT_LEAVE_CHECK)
        return;
    ft_kept.leave_check = 0;
    SCB->VTOR = SYSTEM_MEMORY_BASE;
    __asm__ volatile("dsb\n\tisb\n\t"
                     "msr msp, %0\n\t"
                     "bx %1" ::"r"(rom[0]), "r"(rom[1]) : "memory");
}
