/* Check whether the crystal has the frequency of the board file. With another
 * crystal the PLL would run the chip too fast, and all rates would be wrong.
 *
 * The chip's internal oscillator HSI is accurate to a few per cent, but no
 * counter can compare HSI with the crystal directly. The slow oscillator LSI
 * therefore serves as the common reference. A timer counts processor cycles
 * over the same number of LSI periods, first on HSI, then on the crystal. LSI
 * itself may be wrong by half. */
#include "ft_board.h" /* FT_HSE_KHZ, FT_CLOCK_MHZ_HSI */
#include "ft_parts.h"
#include "ft_registers.h"

/* By the data sheets, from -40 to 105 deg C, HSI is accurate to -8 and +4.5 %
 * (F405) or to 2 % (G474). A tolerance of 1/8 leaves a margin for drift of LSI.
 * A closer frequency, such as 25 MHz instead of 24 MHz, is not detected. */
enum { FT_CRYSTAL_SHARE = 8, FT_CAPTURES = 3 };

static const uint32_t ft_hsi_khz = FT_CLOCK_MHZ_HSI * 1000u;

/* Return the number of processor cycles in eight periods of LSI. Return 0 if
 * LSI does not run. Peripherals and processor have the same clock here. */
static uint32_t ft_lsi_cycles(void)
{
    uint32_t at[FT_CAPTURES] = { 0 };
    bool there = true;
    FT_LSI_TIMER_ENR |= FT_LSI_TIMER_BIT;
    (void)FT_LSI_TIMER_ENR;
    FT_LSI_TIMER_SELECT = FT_LSI_TIMER_LSI;
    FT_LSI_TIMER_CCMR = FT_LSI_TIMER_MODE;
    FT_LSI_TIMER->CCER = FT_LSI_TIMER_CCE;
    FT_LSI_TIMER->CR1 = TIM_CR1_CEN;
    for (uint32_t i = 0; there && i < FT_CAPTURES; i++) {
        there = ft_wait_for(&FT_LSI_TIMER->SR, FT_LSI_TIMER_FLAG,
                            FT_LSI_TIMER_FLAG);
        at[i] = FT_LSI_TIMER_CCR; /* reading clears the flag */
    }
    FT_LSI_TIMER_RSTR |= FT_LSI_TIMER_BIT; /* restore the state after reset */
    FT_LSI_TIMER_RSTR &= ~FT_LSI_TIMER_BIT;
    FT_LSI_TIMER_ENR &= ~FT_LSI_TIMER_BIT;
    return there ? (at[FT_CAPTURES - 1] - at[FT_CAPTURES - 2]) &
                       FT_LSI_TIMER_RANGE : 0u;
}

/* Switch the processor to the crystal. */
static bool ft_clock_to_crystal(void)
{
    RCC->CFGR = RCC_CFGR_SW_HSE;
    return ft_wait_for(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_HSE);
}

bool ft_crystal_is_right(void)
{
    if (FT_TOLERANT)
        return true;
    RCC->CSR |= RCC_CSR_LSION;
    if (!ft_wait_for(&RCC->CSR, RCC_CSR_LSIRDY, RCC_CSR_LSIRDY))
        return false;
    uint32_t expected = ft_lsi_cycles() * FT_HSE_KHZ;
    if (expected == 0 || !ft_clock_to_crystal())
        return false;
    uint32_t found = ft_lsi_cycles() * ft_hsi_khz;
    uint32_t off = found > expected ? found - expected : expected - found;
    return off < expected / FT_CRYSTAL_SHARE;
}
