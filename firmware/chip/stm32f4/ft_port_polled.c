/* The link without DMA, for emulators (FT_POLLED_PORT). */
#include "ft_board.h" /* FT_LINK_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#if FT_POLLED_PORT

bool ft_port_chip_start(void)
{
    USART_TypeDef *u = FT_LINK_USART;
    u->BRR = ft_clock_good() ? FT_LINK_BRR : FT_LINK_BRR_HSI;
    u->CR1 = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE;
    return true;
}

size_t ft_chip_receive(uint8_t *bytes, size_t room)
{
    size_t taken = 0;
    while (taken < room && (FT_LINK_USART->SR & USART_SR_RXNE) != 0)
        bytes[taken++] = (uint8_t)FT_LINK_USART->DR;
    return taken;
}

/* Wait for the line. The wait has the same limit as in ft_wait_for(). */
bool ft_chip_send(const uint8_t *bytes, size_t size)
{
    USART_TypeDef *u = FT_LINK_USART;
    for (size_t i = 0; i < size; i++) {
        if (!ft_wait_for(&u->SR, USART_SR_TXE, USART_SR_TXE))
            return false;
        u->DR = bytes[i];
    }
    return true;
}

uint32_t ft_chip_line_errors(void)
{
    return 0;
}

/* The polled link never enables this interrupt. */
void ft_port_interrupt(void)
{
}

/* Do not sleep: only polling detects the next byte. */
void ft_chip_wait(void)
{
    __asm__ volatile("" ::: "memory"); /* a tick may have run meanwhile */
}

#endif
