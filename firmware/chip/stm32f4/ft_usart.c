/* The link's USART and its DMA streams on the STM32F4. */
#include "ft_board.h" /* FT_LINK_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#if !FT_POLLED_PORT

#define FT_RX_STREAM (&FT_LINK_RX_DMA->S[FT_LINK_RX_STREAM])
#define FT_TX_STREAM (&FT_LINK_TX_DMA->S[FT_LINK_TX_STREAM])

/* Clear the flags of a stream, as its start requires. */
static void ft_clear_flags(DMA_TypeDef *dma, uint32_t stream)
{
    static const uint8_t place[4] = { 0, 6, 16, 22 };
    dma->IFCR[stream / 4u] = DMA_ALL_FLAGS << place[stream % 4u];
}

bool ft_usart_start(void)
{
    USART_TypeDef *u = FT_LINK_USART;
    u->BRR = ft_clock_good() ? FT_LINK_BRR : FT_LINK_BRR_HSI;
    u->CR3 = USART_CR3_DMAR | USART_CR3_DMAT | USART_CR3_EIE;
    u->CR1 = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE | USART_CR1_IDLEIE;
    return true;
}

void ft_receive_start(volatile uint8_t *buffer, uint32_t size)
{
    DMA_Stream_TypeDef *s = FT_RX_STREAM;
    ft_clear_flags(FT_LINK_RX_DMA, FT_LINK_RX_STREAM);
    s->PAR = (uint32_t)(uintptr_t)&FT_LINK_USART->DR;
    s->M0AR = (uint32_t)(uintptr_t)buffer;
    s->NDTR = size;
    s->CR = FT_LINK_RX_REQUEST << DMA_SxCR_CHSEL_Pos | DMA_SxCR_PL_HIGH |
            DMA_SxCR_MINC | DMA_SxCR_CIRC;
    s->CR |= DMA_SxCR_EN;
}

bool ft_receive_runs(void)
{
    return (FT_RX_STREAM->CR & DMA_SxCR_EN) != 0;
}

uint32_t ft_receive_left(void)
{
    return FT_RX_STREAM->NDTR;
}

bool ft_send_runs(void)
{
    return (FT_TX_STREAM->CR & DMA_SxCR_EN) != 0;
}

void ft_send_start(const volatile uint8_t *bytes, uint32_t size)
{
    DMA_Stream_TypeDef *s = FT_TX_STREAM;
    ft_clear_flags(FT_LINK_TX_DMA, FT_LINK_TX_STREAM);
    s->PAR = (uint32_t)(uintptr_t)&FT_LINK_USART->DR;
    s->M0AR = (uint32_t)(uintptr_t)bytes;
    s->NDTR = size;
    s->CR = FT_LINK_TX_REQUEST << DMA_SxCR_CHSEL_Pos | DMA_SxCR_MINC |
            DMA_SxCR_DIR_TO_PERIPHERAL;
    s->CR |= DMA_SxCR_EN;
}

/* Clear the line's flags by reading SR, then DR. A byte that has arrived is
 * left to the DMA, whose read of DR clears the flags too. A byte in the few
 * cycles between both reads is still lost. */
bool ft_line_flags_clear(void)
{
    uint32_t errors = USART_SR_PE | USART_SR_FE | USART_SR_NF | USART_SR_ORE;
    uint32_t left_to_dma = ft_receive_runs() ? USART_SR_RXNE : 0;
    uint32_t status = FT_LINK_USART->SR;
    if ((status & left_to_dma) == 0)
        (void)FT_LINK_USART->DR;
    return (status & errors) != 0;
}

#endif
