/* The LED shows the state: a pattern of 16 steps of an eighth of a second each,
 * repeated. If the main loop stops, the LED stops too. */
#include "ft_board.h" /* FT_LED_* */
#include "ft_chip.h"
#include "ft_parts.h"

#ifdef FT_LED_PIN

static const uint16_t ft_patterns[FT_LED_STATES] = { FT_LED_PATTERNS };

void ft_chip_show(uint32_t state, uint32_t tick)
{
    static bool lit; /* the pin starts with the level of a dark LED */
    uint32_t step = tick / FT_LED_TICKS % 16u;
    bool now = state < FT_LED_STATES && (ft_patterns[state] >> step & 1u) != 0;
    if (now == lit)
        return;
    lit = now;
    ft_pin_put(FT_LED_PORT, FT_LED_PIN, lit == (FT_LED_ON != 0));
}

#else

void ft_chip_show(uint32_t state, uint32_t tick)
{
    (void)state;
    (void)tick;
}

#endif
