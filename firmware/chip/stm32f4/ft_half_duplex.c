/* Half-duplex USARTs of the STM32F4, with DMA. One pin sends and receives, and
 * is released in between. The receiver gets the sent bytes too. */
#include "ft_board.h" /* FT_WIRE_ROWS */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

typedef struct {
    DMA_TypeDef *dma;
    uint32_t stream, request;
} ft_side;

typedef struct {
    USART_TypeDef *usart;
    uint32_t how; /* bits of CR3 */
    uint32_t divider, divider_hsi;
    ft_side tx, rx;
} ft_line;

#define FT_ONE_PIN USART_CR3_HDSEL
#define FT_WIRE(usart, how, brr, hsi, tx, tx_stream, tx_request, rx, \
                rx_stream, rx_request) \
    { usart, how, brr, hsi, { tx, tx_stream, tx_request }, \
      { rx, rx_stream, rx_request } },
static const ft_line ft_lines[] = { FT_WIRE_ROWS };
#undef FT_WIRE

static DMA_Stream_TypeDef *ft_stream(const ft_side *s)
{
    return &s->dma->S[s->stream];
}

/* Clear a stream's flags, which must precede its start, and set it up. */
static void ft_stream_start(const ft_side *s, volatile uint32_t *data,
                            uint32_t memory, uint32_t size, uint32_t how)
{
    static const uint8_t place[4] = { 0, 6, 16, 22 };
    DMA_Stream_TypeDef *stream = ft_stream(s);
    s->dma->IFCR[s->stream / 4u] = DMA_ALL_FLAGS << place[s->stream % 4u];
    stream->PAR = (uint32_t)(uintptr_t)data;
    stream->M0AR = memory;
    stream->NDTR = size;
    stream->CR = s->request << DMA_SxCR_CHSEL_Pos | DMA_SxCR_MINC | how;
    stream->CR |= DMA_SxCR_EN;
}

void ft_half_duplex_start(uint32_t wire)
{
    const ft_line *l = &ft_lines[wire];
    USART_TypeDef *u = l->usart;
    u->BRR = ft_clock_good() ? l->divider : l->divider_hsi;
    u->CR3 = l->how | USART_CR3_DMAR | USART_CR3_DMAT;
    u->CR1 = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE;
}

void ft_half_duplex_listen(uint32_t wire, volatile uint8_t *buffer,
                           uint32_t size)
{
    const ft_line *l = &ft_lines[wire];
    ft_stream_start(&l->rx, &l->usart->DR, (uint32_t)(uintptr_t)buffer, size,
                    DMA_SxCR_PL_HIGH | DMA_SxCR_CIRC);
}

bool ft_half_duplex_listens(uint32_t wire)
{
    return (ft_stream(&ft_lines[wire].rx)->CR & DMA_SxCR_EN) != 0;
}

uint32_t ft_half_duplex_left(uint32_t wire)
{
    return ft_stream(&ft_lines[wire].rx)->NDTR;
}

bool ft_half_duplex_sends(uint32_t wire)
{
    return (ft_stream(&ft_lines[wire].tx)->CR & DMA_SxCR_EN) != 0;
}

void ft_half_duplex_send(uint32_t wire, const uint8_t *bytes, uint32_t size)
{
    const ft_line *l = &ft_lines[wire];
    ft_stream_start(&l->tx, &l->usart->DR, (uint32_t)(uintptr_t)bytes, size,
                    DMA_SxCR_DIR_TO_PERIPHERAL);
}

/* Clear the error flags by reading SR, then DR. If a byte has just arrived,
 * leave the byte to the DMA. The DMA's read of DR also clears the flags. */
bool ft_half_duplex_errors(uint32_t wire)
{
    USART_TypeDef *u = ft_lines[wire].usart;
    uint32_t status = u->SR;
    if ((status & USART_SR_RXNE) == 0)
        (void)u->DR;
    return (status & (USART_SR_FE | USART_SR_NF | USART_SR_ORE)) != 0;
}
