/* Clock tree: HSE -> PLL -> 170 MHz for the core, both APBs and every timer.
 * The chip stays on its 16 MHz oscillator HSI in three cases: crystal or PLL do
 * not start, the crystal has another frequency, or the supply is too low. */
#include "ft_board.h" /* FT_PLL_* */
#include "ft_chip.h"  /* FT_RESET_* */
#include "ft_parts.h"
#include "ft_registers.h"

/* Restore the clock state after reset, as a boot loader may change it. */
void ft_clock_to_hsi(void)
{
    RCC->CR |= RCC_CR_HSION;
    ft_wait_for(&RCC->CR, RCC_CR_HSIRDY, RCC_CR_HSIRDY);
    RCC->CFGR = RCC_CFGR_SW_HSI;
    ft_wait_for(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_HSI);
    RCC->CR &= ~(RCC_CR_HSEON | RCC_CR_CSSON | RCC_CR_PLLON);
}

/* Set core voltage and flash for 170 MHz: range 1 boost, 4 waits, caches. */
bool ft_flash_prepare(void)
{
    RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN;
    (void)RCC->APB1ENR1;
    PWR->CR5 &= ~PWR_CR5_R1MODE;
    FLASH->ACR = FLASH_ACR_LATENCY_4WS | FLASH_ACR_PRFTEN | FLASH_ACR_ICEN |
                 FLASH_ACR_DCEN | FLASH_ACR_DBG_SWEN;
    return ft_wait_for(&FLASH->ACR, FLASH_ACR_LATENCY, FLASH_ACR_LATENCY_4WS);
}

/* Wait for more than a microsecond at 85 MHz. */
static void ft_settle(void)
{
    for (volatile uint32_t turns = 40; turns != 0; turns--) {
    }
}

/* Start the PLL, then switch over to it. The voltage regulator requires an
 * intermediate step at half the speed. */
bool ft_clock_to_pll(void)
{
    RCC->PLLCFGR = RCC_PLLCFGR_PLLSRC_HSE |
                   (FT_PLL_M - 1u) << RCC_PLLCFGR_PLLM_Pos |
                   FT_PLL_N << RCC_PLLCFGR_PLLN_Pos |
                   (FT_PLL_P / 2u - 1u) << RCC_PLLCFGR_PLLR_Pos |
                   RCC_PLLCFGR_PLLREN;
    RCC->CR |= RCC_CR_PLLON;
    if (!ft_wait_for(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY))
        return false;
    RCC->CFGR = RCC_CFGR_SW_PLL | RCC_CFGR_HPRE_DIV2;
    if (!ft_wait_for(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL))
        return false;
    ft_settle();
    RCC->CFGR = RCC_CFGR_SW_PLL;
    return true;
}

bool ft_clock_stopped(void)
{
    return (RCC->CIFR & RCC_CIFR_CSSF) != 0;
}

/* Read and clear the reset flags. Power-up and brown-out share one flag, but
 * only a power-up loses a mark in the memory that survives resets. Every reset
 * sets the pin flag, so test this flag last. */
uint32_t ft_reset_cause(void)
{
    uint32_t csr = RCC->CSR;
    bool kept = ft_kept.power_check == FT_POWER_CHECK;
    ft_kept.power_check = FT_POWER_CHECK;
    RCC->CSR |= RCC_CSR_RMVF;
    if ((csr & RCC_CSR_BORRSTF) != 0)
        return kept ? FT_RESET_BROWNOUT : FT_RESET_POWER;
    if ((csr & (RCC_CSR_IWDGRSTF | RCC_CSR_WWDGRSTF)) != 0)
        return FT_RESET_WATCHDOG;
    if ((csr & RCC_CSR_SFTRSTF) != 0)
        return FT_RESET_SOFTWARE;
    return (csr & RCC_CSR_PINRSTF) != 0 ? FT_RESET_PIN : FT_RESET_OTHER;
}

/* Connect the voltage detector to the timers' break inputs. A core lock-up,
 * caused by a fault within a fault handler, also triggers these break inputs.
 * The detector's threshold is then locked until the next reset. */
void ft_supply_breaks(void)
{
    RCC->APB2ENR |= RCC_APB2ENR_SYSCFGEN;
    (void)RCC->APB2ENR; /* erratum: the peripheral needs two cycles */
    SYSCFG->CFGR2 |= SYSCFG_CFGR2_PVDL | SYSCFG_CFGR2_CLL;
}

/* After reset, USB power delivery pulls PB4 and PB6 down. */
void ft_pins_prepare(void)
{
    PWR->CR3 |= PWR_CR3_UCPD1_DBDIS;
}
