/* The link by DMA. A circular stream writes received bytes into a buffer, from
 * which the main loop reads. A second stream sends the queued bytes piece by
 * piece. The main loop serves both streams. The main loop sleeps until the next
 * tick, or until the line has been idle for one character. A frame is therefore
 * answered as soon as it ends, even during a long tick.
 *
 * If line noise or an overrun destroys a byte, the frame's check sum is wrong.
 * The interrupt counts the error and clears the error flag, so that the next
 * error is also detected. If the main loop falls behind by a whole buffer (20
 * ms at 1 Mbaud), the check sums of frames also fail. */
#include "ft_board.h" /* FT_LINK_* */
#include "ft_chip.h"
#include "ft_parts.h"

#if !FT_POLLED_PORT

enum { FT_RECEIVE_SIZE = 2048 }; /* a power of two */

/* Written by DMA, hence volatile, in memory that the DMA can access. */
__attribute__((section(".dma")))
static volatile uint8_t ft_received[FT_RECEIVE_SIZE];
__attribute__((section(".dma")))
static volatile uint8_t ft_to_send[FT_LINK_SEND_SIZE];

static uint32_t ft_read;   /* index of the next byte to read */
static uint32_t ft_queued; /* bytes queued so far, wraps */
static uint32_t ft_handed; /* bytes handed to the DMA so far */
static uint32_t ft_done;   /* of these, sent */
static volatile uint32_t ft_errors; /* of the line, wraps */

/* Restart the reception at the beginning of the buffer. */
static void ft_receive_anew(void)
{
    ft_receive_start(ft_received, FT_RECEIVE_SIZE);
    ft_read = 0;
}

bool ft_port_chip_start(void)
{
    if (!ft_usart_start())
        return false;
    ft_receive_anew();
    ft_interrupt_enable(FT_LINK_INTERRUPT, FT_PRIORITY_PORT);
    return ft_receive_runs();
}

/* Send the next contiguous piece once the last piece is sent. */
static void ft_send_on(void)
{
    if (ft_send_runs())
        return;
    ft_done = ft_handed;
    uint32_t size = ft_queued - ft_done;
    if (size == 0)
        return;
    uint32_t from = ft_done % FT_LINK_SEND_SIZE;
    if (size > FT_LINK_SEND_SIZE - from)
        size = FT_LINK_SEND_SIZE - from;
    ft_handed += size;
    __asm__ volatile("dmb" ::: "memory");
    ft_send_start(&ft_to_send[from], size);
}

/* Handle an idle line, which wakes the main loop, or a byte with an error. */
void ft_port_interrupt(void)
{
    if (ft_line_flags_clear())
        ft_errors++;
}

size_t ft_chip_receive(uint8_t *bytes, size_t room)
{
    ft_send_on();
    if (!ft_receive_runs()) /* a bus error has stopped the stream */
        ft_receive_anew();
    uint32_t write = (FT_RECEIVE_SIZE - ft_receive_left()) % FT_RECEIVE_SIZE;
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

uint32_t ft_chip_line_errors(void)
{
    return ft_errors;
}

/* Sleep until the next tick or the end of a received frame. Ticks that wait for
 * the host's plant may be rare. With a plant at the host, the watchdog
 * therefore supervises only the main loop. */
void ft_chip_wait(void)
{
    if (FT_PIL)
        ft_chip_feed_watchdog();
    __asm__ volatile("wfi" ::: "memory");
}

#endif
