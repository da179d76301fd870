/* Which chip this is, what has happened to it, and its way into the boot
 * loader that ST put into its system memory. */
#include <string.h> /* memcpy, memset */

#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

/****************************************************************
 * What is told about the chip
 ****************************************************************/

static uint32_t ft_resets; /* since power-on */

/* Count the reset that led here. Memory that does not check is of a power-on,
 * and so is its crash record. */
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
    if (!FT_TOLERANT) /* an emulator without system memory would fault */
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
