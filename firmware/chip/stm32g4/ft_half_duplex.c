/* Half-duplex USARTs of the STM32G4, with DMA channels. Without a transceiver,
 * one pin sends and receives, and is released in between. With a transceiver,
 * sender and receiver each have a pin, and the USART drives a third pin while
 * it sends. The receiver also gets the sent bytes. */
#include "ft_board.h" /* FT_WIRE_ROWS */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

typedef struct {
    DMA_TypeDef *dma;
    uint32_t channel, request;
} ft_side;

typedef struct {
    USART_TypeDef *usart;
    uint32_t how; /* bits of CR3 */
    uint32_t divider, divider_hsi;
    ft_side tx, rx;
} ft_line;

#define FT_ONE_PIN USART_CR3_HDSEL
#define FT_TRANSCEIVER USART_CR3_DEM
#define FT_WIRE(usart, how, brr, hsi, tx, tx_stream, tx_request, rx, \
                rx_stream, rx_request) \
    { usart, how, brr, hsi, { tx, tx_stream, tx_request }, \
      { rx, rx_stream, rx_request } },
static const ft_line ft_lines[] = { FT_WIRE_ROWS };
#undef FT_WIRE

static DMA_Channel_TypeDef *ft_channel(const ft_side *s)
{
    return &s->dma->C[s->channel];
}

/* Switch the channel off before it is set up. */
static void ft_channel_start(const ft_side *s, volatile uint32_t *data,
                             uint32_t memory, uint32_t size, uint32_t how)
{
    DMA_Channel_TypeDef *c = ft_channel(s);
    c->CCR = how;
    DMAMUX1->CCR[(s->dma == DMA2 ? 8u : 0u) + s->channel] = s->request;
    s->dma->IFCR = DMA_ALL_FLAGS << (4u * s->channel);
    c->CPAR = (uint32_t)(uintptr_t)data;
    c->CMAR = memory;
    c->CNDTR = size;
    c->CCR = how | DMA_CCR_EN;
}

/* The transceiver's driver is on from one bit before the first start bit to one
 * bit after the last stop bit. Unit: sixteenths of a bit. */
#define FT_GUARD \
    (16u << USART_CR1_DEAT_Pos | 16u << USART_CR1_DEDT_Pos)

/* The transceiver must be selected before the USART is enabled. */
void ft_half_duplex_start(uint32_t wire)
{
    const ft_line *l = &ft_lines[wire];
    const uint32_t guard = l->how == USART_CR3_DEM ? FT_GUARD : 0u;
    USART_TypeDef *u = l->usart;
    u->BRR = ft_clock_good() ? l->divider : l->divider_hsi;
    u->CR3 = l->how | USART_CR3_DMAR | USART_CR3_DMAT;
    u->CR1 = guard;
    u->CR1 = guard | USART_CR1_UE | USART_CR1_TE | USART_CR1_RE;
}

void ft_half_duplex_listen(uint32_t wire, volatile uint8_t *buffer,
                           uint32_t size)
{
    const ft_line *l = &ft_lines[wire];
    ft_channel_start(&l->rx, &l->usart->RDR, (uint32_t)(uintptr_t)buffer,
                     size, DMA_CCR_PL_HIGH | DMA_CCR_MINC | DMA_CCR_CIRC);
}

bool ft_half_duplex_listens(uint32_t wire)
{
    return (ft_channel(&ft_lines[wire].rx)->CCR & DMA_CCR_EN) != 0;
}

uint32_t ft_half_duplex_left(uint32_t wire)
{
    return ft_channel(&ft_lines[wire].rx)->CNDTR;
}

/* A channel stays enabled after it has moved its last byte. */
bool ft_half_duplex_sends(uint32_t wire)
{
    const DMA_Channel_TypeDef *c = ft_channel(&ft_lines[wire].tx);
    return c->CNDTR != 0 && (c->CCR & DMA_CCR_EN) != 0;
}

void ft_half_duplex_send(uint32_t wire, const uint8_t *bytes, uint32_t size)
{
    const ft_line *l = &ft_lines[wire];
    ft_channel_start(&l->tx, &l->usart->TDR, (uint32_t)(uintptr_t)bytes, size,
                     DMA_CCR_MINC | DMA_CCR_DIR_TO_PERIPHERAL);
}

bool ft_half_duplex_errors(uint32_t wire)
{
    USART_TypeDef *u = ft_lines[wire].usart;
    uint32_t errors = USART_ISR_FE | USART_ISR_NE | USART_ISR_ORE;
    uint32_t status = u->ISR;
    u->ICR = errors;
    return (status & errors) != 0;
}
