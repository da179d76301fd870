/* Gate drivers DRV8301: what they are told over SPI before any switch moves.
 *
 * Their enable line also powers that interface and clears what they were
 * told, so it goes low long enough for a full reset and then high for good,
 * while the timers hold every switch off. */
#include "ft_board.h" /* FT_GATE_*, FT_ENABLE_* */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_GATE_SELECTS

enum { FT_READ = 1u << 15, FT_ADDRESS_Pos = 11, FT_DATA = 0x7FF,
       FT_CONTROL_1 = 2, FT_CONTROL_2 = 3, FT_TRIES = 3 };

typedef struct {
    uint8_t port, pin;
} ft_select;

#define FT_SELECT(port, pin) { port, pin },
static const ft_select ft_select_table[] = { FT_GATE_SELECTS };
#undef FT_SELECT
enum { FT_DRIVER_COUNT = sizeof ft_select_table / sizeof ft_select_table[0] };

/* Send 16 bits and return those that came back; false: they never did. */
static bool ft_exchange(const ft_select *to, uint32_t word, uint32_t *back)
{
    ft_pin_put(to->port, to->pin, false);
    ft_wait_us(1);
    SPI3->DR = word;
    bool good = ft_wait_for(&SPI3->SR, SPI_SR_RXNE, SPI_SR_RXNE);
    *back = SPI3->DR;
    good = ft_wait_for(&SPI3->SR, SPI_SR_BSY, 0) && good;
    ft_wait_us(1);
    ft_pin_put(to->port, to->pin, true);
    ft_wait_us(1);
    return good;
}

/* Write a control register; what a read returns comes with the frame after. */
static bool ft_control(const ft_select *to, uint32_t address, uint32_t value)
{
    uint32_t back = 0;
    for (uint32_t i = 0; i < FT_TRIES; i++) {
        if (ft_exchange(to, address << FT_ADDRESS_Pos | value, &back) &&
            ft_exchange(to, FT_READ | address << FT_ADDRESS_Pos, &back) &&
            ft_exchange(to, FT_READ | address << FT_ADDRESS_Pos, &back) &&
            (back & FT_DATA) == value)
            return true;
    }
    return false;
}

bool ft_gate_drivers_start(void)
{
    bool good = true;
    SPI3->CR1 = SPI_CR1_CPHA | SPI_CR1_MSTR | SPI_CR1_BR_DIV16 | SPI_CR1_SSI |
                SPI_CR1_SSM | SPI_CR1_DFF;
    SPI3->CR1 |= SPI_CR1_SPE;
    ft_pin_put(FT_ENABLE_PORT, FT_ENABLE_PIN, false);
    ft_wait_us(40); /* a full reset: more than 20 us */
    ft_pin_put(FT_ENABLE_PORT, FT_ENABLE_PIN, true);
    ft_wait_us(20000); /* they answer after 10 ms at most */
    for (uint32_t i = 0; i < FT_DRIVER_COUNT; i++) {
        good = ft_control(&ft_select_table[i], FT_CONTROL_1,
                          FT_GATE_CONTROL_1) && good;
        good = ft_control(&ft_select_table[i], FT_CONTROL_2,
                          FT_GATE_CONTROL_2) && good;
    }
    if (!good)
        ft_pin_put(FT_ENABLE_PORT, FT_ENABLE_PIN, false);
    return good;
}

#else /* drivers that need no telling */

bool ft_gate_drivers_start(void)
{
    return true;
}

#endif
