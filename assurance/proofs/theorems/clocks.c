/* The clock of both chip families: chip/stm32/ft_clock_start.c, ft_crystal.c,
 * ft_supply.c and the family's ft_clock.c.
 *
 * Each read of a register may return any value. A wait may succeed or time
 * out. */
#define OWN_WAITS
#define OWN_CLOCK
#define OWN_INTERRUPTS
#include "proof.h"

#include "peripherals.h"

ft_keepsake ft_kept;

static bool in_vain;   /* an awaited event did not occur */
static uint32_t later; /* number of enabled interrupts */

#ifdef CAN1
#define ON_HSI 0u
#else
#define ON_HSI RCC_CFGR_SWS_HSI
#endif

/* Check that a wait is permitted, and record a wait that timed out. The failure
 * of HSI has no effect. */
bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value)
{
    const bool hsi = (reg == &RCC->CR && mask == RCC_CR_HSIRDY)
                     || (reg == &RCC->CFGR && value == ON_HSI);
    const bool came = nondet_bool();

    CLAIM(__CPROVER_r_ok((const uint32_t *)reg, sizeof *reg));
    CLAIM(mask != 0u && (value & ~mask) == 0u);
    in_vain = in_vain || (!came && !hsi);
    return came;
}

void ft_interrupt_enable(uint32_t number, uint32_t priority)
{
    CLAIM(number < FT_VECTOR_COUNT && priority < 16u);
    later++;
}

/* Values that a timer captures, one after another. */
static uint32_t caught[6], catches;

#undef FT_LSI_TIMER_CCR
#define FT_LSI_TIMER_CCR (caught[catches++])

#include "ft_crystal.c"
#include "ft_supply.c"

#include "ft_clock_start.c"

#define volatile /* of a loop counter */
#include "ft_clock.c"
#undef volatile

/* For any register values the start of the clock ends. The start reports a good
 * clock only if no wait has timed out. The processor then runs on the PLL, and
 * the voltage detector may interrupt. After an error the processor runs on HSI,
 * with the crystal, the PLL and the clock security system off.
 * Run: unwind=42 registers mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage */
void prove_clock_start(void)
{
    uint32_t errors;

    ANYTHING(caught);
    errors = ft_clock_start();
    CLAIM(errors == FT_CHIP_GOOD || errors == FT_CHIP_SUPPLY
          || errors == FT_CHIP_CLOCK || errors == FT_CHIP_CRYSTAL);
    CLAIM(ft_clock_good() == (errors == FT_CHIP_GOOD));
    if (errors == FT_CHIP_GOOD) {
        CLAIM(!in_vain && later == 1u
              && caught[2] != caught[1] && caught[5] != caught[4]);
        CLAIM((RCC->CFGR & RCC_CFGR_SW_PLL) == RCC_CFGR_SW_PLL);
        CLAIM((EXTI_IMR & EXTI_LINE_PVD) != 0u);
    } else {
        CLAIM(RCC->CFGR == ON_HSI >> 2);
        CLAIM((RCC->CR & (RCC_CR_HSEON | RCC_CR_CSSON | RCC_CR_PLLON))
              == 0u);
        CLAIM(errors != FT_CHIP_SUPPLY || later == 0u);
    }
    END;
}

/* Queries about the clock, the last reset and the supply are free of run-time
 * errors. The reported cause of a reset is one of the causes in ft_chip.h, and
 * is then cleared.
 * Run: unwind=42 registers mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage */
void prove_clock_asked(void)
{
    CLAIM(ft_reset_cause() <= FT_RESET_OTHER);
    CLAIM((RCC->CSR & RCC_CSR_RMVF) != 0u);
    (void)ft_clock_stopped();
    (void)ft_chip_supply_good();
    (void)ft_supply_sagged();
    ft_supply_breaks();
    ft_pins_prepare();
    END;
}
