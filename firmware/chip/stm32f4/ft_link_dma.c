/* The link by DMA: a circular stream receives without end into a buffer that
 * is read behind it; a second stream sends what is queued, piece by piece.
 * No interrupt is used: both ends are looked at from the main loop.
 *
 * A byte lost to line noise or overrun shows as a bad frame; only the flag
 * must be cleared, or the next one would go unseen. Should the reader fall
 * behind by a whole buffer (20 ms at 1 Mbaud), frames fail their check too. */
#include "ft_board.h" /* FT_LINK_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "stm32f4_registers.h"

#if !FT_POLLED_LINK

enum { FT_RECEIVE_SIZE = 2048 }; /* a power of two */

#define FT_RX_STREAM (&FT_LINK_DMA->S[FT_LINK_RX_STREAM])
#define FT_TX_STREAM (&FT_LINK_DMA->S[FT_LINK_TX_STREAM])

/* Written by the DMA, hence volatile. */
static volatile uint8_t ft_received[FT_RECEIVE_SIZE];
static volatile uint8_t ft_to_send[FT_LINK_SEND_SIZE];

static uint32_t ft_read;   /* index of the next byte to read */
static uint32_t ft_queued; /* bytes ever queued, wraps */
static uint32_t ft_handed; /* of these, handed to the DMA */
static uint32_t ft_done;   /* of these, sent */

/* Clear the flags of a stream, which must precede its start. */
static void ft_clear_flags(uint32_t stream)
{
    static const uint8_t place[4] = { 0, 6, 16, 22 };
    FT_LINK_DMA->IFCR[stream / 4u] = DMA_ALL_FLAGS << place[stream % 4u];
}

/* Receive into the whole buffer, round and round. */
static void ft_receive_start(void)
{
    DMA_Stream_TypeDef *s = FT_RX_STREAM;
    ft_clear_flags(FT_LINK_RX_STREAM);
    s->PAR = (uint32_t)(uintptr_t)&FT_LINK_USART->DR;
    s->M0AR = (uint32_t)(uintptr_t)ft_received;
    s->NDTR = FT_RECEIVE_SIZE;
    s->CR = FT_LINK_RX_CHANNEL << DMA_SxCR_CHSEL_Pos | DMA_SxCR_PL_HIGH |
            DMA_SxCR_MINC | DMA_SxCR_CIRC;
    s->CR |= DMA_SxCR_EN;
    ft_read = 0;
}

bool ft_usart_start(void)
{
    USART_TypeDef *u = FT_LINK_USART;
    u->BRR = ft_clock_good() ? FT_LINK_BRR : FT_LINK_BRR_HSI;
    u->CR3 = USART_CR3_DMAR | USART_CR3_DMAT;
    u->CR1 = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE;
    ft_receive_start();
    return (FT_RX_STREAM->CR & DMA_SxCR_EN) != 0;
}

/* Send the next contiguous piece once the last one has left. */
static void ft_send_on(void)
{
    DMA_Stream_TypeDef *s = FT_TX_STREAM;
    if ((s->CR & DMA_SxCR_EN) != 0)
        return;
    ft_done = ft_handed;
    uint32_t size = ft_queued - ft_done;
    if (size == 0)
        return;
    uint32_t from = ft_done % FT_LINK_SEND_SIZE;
    if (size > FT_LINK_SEND_SIZE - from)
        size = FT_LINK_SEND_SIZE - from;
    ft_clear_flags(FT_LINK_TX_STREAM);
    s->PAR = (uint32_t)(uintptr_t)&FT_LINK_USART->DR;
    s->M0AR = (uint32_t)(uintptr_t)&ft_to_send[from];
    s->NDTR = size;
    s->CR = FT_LINK_TX_CHANNEL << DMA_SxCR_CHSEL_Pos | DMA_SxCR_MINC |
            DMA_SxCR_DIR_TO_PERIPHERAL;
    ft_handed += size;
    __asm__ volatile("dmb" ::: "memory");
    s->CR |= DMA_SxCR_EN;
}

/* Clear line errors; restart a stream that a bus error stopped. */
static void ft_receive_mend(void)
{
    uint32_t errors = USART_SR_PE | USART_SR_FE | USART_SR_NF | USART_SR_ORE;
    if ((FT_LINK_USART->SR & errors) != 0)
        (void)FT_LINK_USART->DR; /* SR, then DR: clears them */
    if ((FT_RX_STREAM->CR & DMA_SxCR_EN) == 0)
        ft_receive_start();
}

size_t ft_chip_receive(uint8_t *bytes, size_t room)
{
    ft_send_on();
    ft_receive_mend();
    uint32_t write = (FT_RECEIVE_SIZE - FT_RX_STREAM->NDTR) % FT_RECEIVE_SIZE;
    size_t taken = 0;
    while (taken < room && ft_read != write) {
        bytes[taken++] = ft_received[ft_read];
        ft_read = (ft_read + 1u) % FT_RECEIVE_SIZE;
    }
    return taken;
}

bool ft_chip_send(const uint8_t *bytes, size_t size)
{
    ft_send_on();
    if (size > FT_LINK_SEND_SIZE - (ft_queued - ft_done))
        return false;
    for (size_t i = 0; i < size; i++)
        ft_to_send[ft_queued++ % FT_LINK_SEND_SIZE] = bytes[i];
    ft_send_on();
    return true;
}

/* Sleep until the next tick. Ticks that wait for the host's plant may be far
 * between: then the watchdog watches the main loop alone. */
void ft_chip_wait(void)
{
    if (FT_PIL)
        ft_chip_feed_watchdog();
    __asm__ volatile("wfi" ::: "memory");
}

#endif
