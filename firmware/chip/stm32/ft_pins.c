/* Sets up every pin that the board file uses, from the emitted table. */
#include "ft_board.h" /* FT_PINS */
#include "ft_parts.h"
#include "ft_registers.h"

/* MODER. Values with a bit above MODER mark an output that starts high, or an
 * alternate function with an open drain. */
typedef enum { FT_INPUT, FT_OUTPUT, FT_ALTERNATE, FT_ANALOGUE,
               FT_OUTPUT_HIGH = 5, FT_OPEN_DRAIN = 6 } ft_pin_mode;
typedef enum { FT_FLOAT, FT_UP, FT_DOWN } ft_pin_pull; /* PUPDR */

typedef struct {
    uint8_t port, pin, mode, pull, function;
} ft_pin;

#define FT_PIN(port, pin, mode, pull, function) \
    { port, pin, mode, pull, function },
static const ft_pin ft_pin_table[] = { FT_PINS };
#undef FT_PIN

enum { FT_PIN_COUNT = sizeof ft_pin_table / sizeof ft_pin_table[0],
       FT_SLOW_SPEED = 0, FT_FAST_SPEED = 2 };

/* Set an output to a level. */
void ft_pin_put(uint32_t port, uint32_t pin, bool high)
{
    GPIO(port)->BSRR = 1u << (high ? pin : pin + 16u);
}

/* Set one pin up. Each output starts at its level. Outputs switch slowly: PC13
 * to PC15 allow no more than 2 MHz, and no output needs more. */
static void ft_pin_start(const ft_pin *p)
{
    GPIO_TypeDef *gpio = GPIO(p->port);
    FT_PORT_ENR |= 1u << p->port;
    (void)FT_PORT_ENR; /* erratum: the port needs two cycles */
    ft_pin_put(p->port, p->pin, p->mode == FT_OUTPUT_HIGH);
    ft_field(&gpio->PUPDR, p->pin, 2, p->pull);
    ft_field(&gpio->OTYPER, p->pin, 1, p->mode == FT_OPEN_DRAIN);
    ft_field(&gpio->OSPEEDR, p->pin, 2,
             p->mode == FT_ALTERNATE ? FT_FAST_SPEED : FT_SLOW_SPEED);
    ft_field(&gpio->AFR[p->pin / 8u], p->pin % 8u, 4, p->function);
    ft_field(&gpio->MODER, p->pin, 2, p->mode & 3u);
}

void ft_pins_start(void)
{
    ft_pins_prepare();
    for (uint32_t i = 0; i < FT_PIN_COUNT; i++)
        ft_pin_start(&ft_pin_table[i]);
}

bool ft_pin_high(uint32_t port, uint32_t pin)
{
    return (GPIO(port)->IDR >> pin & 1u) != 0;
}
