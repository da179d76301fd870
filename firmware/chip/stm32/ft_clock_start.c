/* Switches from the reset oscillator to full speed on the crystal, or back. */
#include "ft_chip.h" /* FT_CHIP_* */
#include "ft_parts.h"
#include "ft_registers.h"

static bool ft_clock_is_good;

/* Start the crystal. Its later stop triggers the break inputs, then an NMI. */
static bool ft_crystal_start(void)
{
    RCC->CR |= RCC_CR_HSEON;
    if (!ft_wait_for(&RCC->CR, RCC_CR_HSERDY, RCC_CR_HSERDY))
        return false;
    RCC->CR |= RCC_CR_CSSON;
    return true;
}

/* Start the clock. Return why the processor is not at full speed, if so. */
static uint32_t ft_clock_errors(void)
{
    if (!ft_supply_start())
        return FT_CHIP_SUPPLY;
    if (!ft_flash_prepare() || !ft_crystal_start())
        return FT_CHIP_CLOCK;
    if (!ft_crystal_is_right())
        return FT_CHIP_CRYSTAL;
    return ft_clock_to_pll() ? FT_CHIP_GOOD : FT_CHIP_CLOCK;
}

uint32_t ft_clock_start(void)
{
    ft_clock_to_hsi();
    uint32_t errors = ft_clock_errors();
    if (errors != FT_CHIP_GOOD)
        ft_clock_to_hsi();
    ft_clock_is_good = errors == FT_CHIP_GOOD || FT_TOLERANT;
    return FT_TOLERANT ? FT_CHIP_GOOD : errors;
}

bool ft_clock_good(void)
{
    return ft_clock_is_good;
}
