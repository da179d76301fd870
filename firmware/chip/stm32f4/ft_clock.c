/* Clock tree: HSE -> PLL -> 168 MHz, APB1 42 MHz, APB2 84 MHz. The chip stays
 * on its 16 MHz oscillator HSI in three cases: crystal or PLL do not start, the
 * crystal has another frequency, or the supply is too low. */
#include "ft_board.h" /* FT_PLL_* */
#include "ft_chip.h"  /* FT_RESET_* */
#include "ft_parts.h"
#include "ft_registers.h"

/* Restore the clock state after reset, as a boot loader may change it. */
void ft_clock_to_hsi(void)
{
    RCC->CR |= RCC_CR_HSION;
    ft_wait_for(&RCC->CR, RCC_CR_HSIRDY, RCC_CR_HSIRDY);
    RCC->CFGR = 0;
    ft_wait_for(&RCC->CFGR, RCC_CFGR_SWS, 0);
    RCC->CR &= ~(RCC_CR_HSEON | RCC_CR_CSSON | RCC_CR_PLLON);
}

/* Configure flash for 168 MHz at 3.3 V: 5 wait states, all caches. */
bool ft_flash_prepare(void)
{
    RCC->APB1ENR |= RCC_APB1ENR_PWREN;
    (void)RCC->APB1ENR; /* erratum: the peripheral needs two cycles */
    PWR->CR |= PWR_CR_VOS; /* core voltage for more than 144 MHz */
    FLASH->ACR = FLASH_ACR_LATENCY_5WS | FLASH_ACR_PRFTEN | FLASH_ACR_ICEN |
                 FLASH_ACR_DCEN;
    return ft_wait_for(&FLASH->ACR, FLASH_ACR_LATENCY, FLASH_ACR_LATENCY_5WS);
}

/* Start the PLL, then switch over to it. */
bool ft_clock_to_pll(void)
{
    RCC->PLLCFGR = FT_PLL_M << RCC_PLLCFGR_PLLM_Pos |
                   FT_PLL_N << RCC_PLLCFGR_PLLN_Pos |
                   (FT_PLL_P / 2u - 1u) << RCC_PLLCFGR_PLLP_Pos |
                   FT_PLL_Q << RCC_PLLCFGR_PLLQ_Pos | RCC_PLLCFGR_PLLSRC_HSE;
    RCC->CR |= RCC_CR_PLLON;
    if (!ft_wait_for(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY))
        return false;
    RCC->CFGR = RCC_CFGR_PPRE1_DIV4 | RCC_CFGR_PPRE2_DIV2;
    RCC->CFGR |= RCC_CFGR_SW_PLL;
    return ft_wait_for(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL);
}

bool ft_clock_stopped(void)
{
    return (RCC->CIR & RCC_CIR_CSSF) != 0;
}

/* Read and clear the reset flags. A power-up also sets brown-out and pin flags,
 * and every reset the pin flag, so the order of tests matters. */
uint32_t ft_reset_cause(void)
{
    uint32_t csr = RCC->CSR;
    RCC->CSR |= RCC_CSR_RMVF;
    if ((csr & RCC_CSR_PORRSTF) != 0)
        return FT_RESET_POWER;
    if ((csr & RCC_CSR_BORRSTF) != 0)
        return FT_RESET_BROWNOUT;
    if ((csr & (RCC_CSR_IWDGRSTF | RCC_CSR_WWDGRSTF)) != 0)
        return FT_RESET_WATCHDOG;
    if ((csr & RCC_CSR_SFTRSTF) != 0)
        return FT_RESET_SOFTWARE;
    return (csr & RCC_CSR_PINRSTF) != 0 ? FT_RESET_PIN : FT_RESET_OTHER;
}

/* This family's voltage detector does not act on break inputs. */
void ft_supply_breaks(void)
{
}

/* This family's pins need no preparation. */
void ft_pins_prepare(void)
{
}
