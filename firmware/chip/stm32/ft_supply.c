/* The chip's own supply. Below 2.7 V the processor may compute wrong results at
 * full speed, long before a reset. The voltage detector trips earlier, at 2.9 V
 * falling (2.85 to 2.99 V by the data sheets). At the next higher threshold, a
 * 3.3 V supply within its tolerance might trip the detector. The detector's
 * interrupt has the highest priority, and its handler makes the outputs safe.
 * On the G4 the detector also triggers the timers' break inputs, without any
 * code. */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

enum { FT_SUPPLY_INTERRUPT = 1, FT_DETECTOR_US = 100 };

static bool ft_low_at_start;

bool ft_supply_start(void)
{
    if (FT_TOLERANT)
        return true;
    PWR_ENR |= PWR_ENR_PWREN;
    (void)PWR_ENR; /* erratum: the detector needs two cycles */
    PWR_PVD_CR |= PWR_PVD_PLS_2V9 | PWR_PVD_PVDE;
    ft_wait_us(FT_DETECTOR_US);
    ft_low_at_start = !ft_wait_for(&PWR_PVD_SR, PWR_PVD_PVDO, 0);
    if (ft_low_at_start)
        return false;
    EXTI_RTSR |= EXTI_LINE_PVD; /* PVDO rises as the voltage falls */
    EXTI_PR = EXTI_LINE_PVD;    /* write 1 to clear */
    EXTI_IMR |= EXTI_LINE_PVD;
    ft_supply_breaks();
    ft_interrupt_enable(FT_SUPPLY_INTERRUPT, FT_PRIORITY_SUPPLY);
    return true;
}

bool ft_chip_supply_good(void)
{
    return FT_TOLERANT ||
           (!ft_low_at_start && (PWR_PVD_SR & PWR_PVD_PVDO) == 0);
}

bool ft_supply_sagged(void)
{
    return (EXTI_PR & EXTI_LINE_PVD) != 0;
}
