/* The link's USART or LPUART and its DMA channels on the STM32G4. */
#include "ft_board.h" /* FT_LINK_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#define FT_RX_CHANNEL (&FT_LINK_RX_DMA->C[FT_LINK_RX_STREAM])
#define FT_TX_CHANNEL (&FT_LINK_TX_DMA->C[FT_LINK_TX_STREAM])

/* Connect a DMA request to a channel, and clear the channel's flags. */
static void ft_channel_prepare(DMA_TypeDef *dma, uint32_t channel,
                               uint32_t request)
{
    DMAMUX1->CCR[(dma == DMA2 ? 8u : 0u) + channel] = request;
    dma->IFCR = DMA_ALL_FLAGS << (4u * channel);
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
    DMA_Channel_TypeDef *c = FT_RX_CHANNEL;
    ft_channel_prepare(FT_LINK_RX_DMA, FT_LINK_RX_STREAM, FT_LINK_RX_REQUEST);
    c->CPAR = (uint32_t)(uintptr_t)&FT_LINK_USART->RDR;
    c->CMAR = (uint32_t)(uintptr_t)buffer;
    c->CNDTR = size;
    c->CCR = DMA_CCR_PL_HIGH | DMA_CCR_MINC | DMA_CCR_CIRC;
    c->CCR |= DMA_CCR_EN;
}

/* Only a DMA error switches a channel off. */
bool ft_receive_runs(void)
{
    return (FT_RX_CHANNEL->CCR & DMA_CCR_EN) != 0;
}

uint32_t ft_receive_left(void)
{
    return FT_RX_CHANNEL->CNDTR;
}

/* Unlike an F4 stream, a channel stays enabled after its last byte. */
bool ft_send_runs(void)
{
    return FT_TX_CHANNEL->CNDTR != 0 &&
           (FT_TX_CHANNEL->CCR & DMA_CCR_EN) != 0;
}

void ft_send_start(const volatile uint8_t *bytes, uint32_t size)
{
    DMA_Channel_TypeDef *c = FT_TX_CHANNEL;
    c->CCR = DMA_CCR_MINC | DMA_CCR_DIR_TO_PERIPHERAL;
    ft_channel_prepare(FT_LINK_TX_DMA, FT_LINK_TX_STREAM, FT_LINK_TX_REQUEST);
    c->CPAR = (uint32_t)(uintptr_t)&FT_LINK_USART->TDR;
    c->CMAR = (uint32_t)(uintptr_t)bytes;
    c->CNDTR = size;
    c->CCR |= DMA_CCR_EN;
}

bool ft_line_flags_clear(void)
{
    uint32_t errors = USART_ISR_PE | USART_ISR_FE | USART_ISR_NE |
                      USART_ISR_ORE;
    uint32_t status = FT_LINK_USART->ISR;
    FT_LINK_USART->ICR = errors | USART_ISR_IDLE;
    return (status & errors) != 0;
}
