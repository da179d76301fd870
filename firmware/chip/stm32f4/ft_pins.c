/* Pins: every pin that the board file gives a use, from the emitted table. */
#include "ft_board.h" /* FT_PINS */
#include "ft_parts.h"
#include "stm32f4_registers.h"

typedef enum { FT_INPUT, FT_OUTPUT, FT_ALTERNATE } ft_pin_mode; /* MODER */
typedef enum { FT_FLOAT, FT_UP, FT_DOWN } ft_pin_pull;          /* PUPDR */

typedef struct {
    uint8_t port, pin, mode, pull, function;
} ft_pin;

#define FT_PIN(port, pin, mode, pull, function) \
    { port, pin, mode, pull, function },
static const ft_pin ft_pin_table[] = { FT_PINS };
#undef FT_PIN

enum { FT_PIN_COUNT = sizeof ft_pin_table / sizeof ft_pin_table[0],
       FT_FAST_SPEED = 2 };

/* Replace a field of `width` bits at the pin's place. */
static void ft_field(volatile uint32_t *reg, uint32_t index, uint32_t width,
                     uint32_t value)
{
    uint32_t mask = ((1u << width) - 1u) << (index * width);
    *reg = (*reg & ~mask) | value << (index * width);
}

/* Set one pin up; outputs start low. */
static void ft_pin_start(const ft_pin *p)
{
    GPIO_TypeDef *gpio = GPIO(p->port);
    RCC->AHB1ENR |= 1u << p->port;
    (void)RCC->AHB1ENR; /* erratum: two cycles until the port listens */
    gpio->BSRR = 1u << (p->pin + 16u);
    ft_field(&gpio->PUPDR, p->pin, 2, p->pull);
    ft_field(&gpio->OSPEEDR, p->pin, 2, FT_FAST_SPEED);
    ft_field(&gpio->AFR[p->pin / 8u], p->pin % 8u, 4, p->function);
    ft_field(&gpio->MODER, p->pin, 2, p->mode);
}

void ft_pins_start(void)
{
    for (uint32_t i = 0; i < FT_PIN_COUNT; i++)
        ft_pin_start(&ft_pin_table[i]);
}

bool ft_pin_high(uint32_t port, uint32_t pin)
{
    return (GPIO(port)->IDR >> pin & 1u) != 0;
}
