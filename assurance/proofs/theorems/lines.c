/* Serial lines with DMA, for any register values. The link to the host uses the
 * chip family's ft_usart.c. Half-duplex buses of servos use the chip family's
 * ft_half_duplex.c and the buffers of chip/stm32/ft_wires.c. */
#include "proof.h"

#include "peripherals.h"

#include <string.h>

#ifdef CAN1 /* streams of the STM32F4 */
#define STREAM(dma, number) (&(dma)->S[number])
#define LEFT NDTR
#define MEMORY M0AR
#define CONTROL CR
#define ENABLED DMA_SxCR_EN
#else /* channels of the STM32G4 */
#define STREAM(dma, number) (&(dma)->C[number])
#define LEFT CNDTR
#define MEMORY CMAR
#define CONTROL CCR
#define ENABLED DMA_CCR_EN
#endif

/* ---- the link ----------------------------------------------------------- */

#ifdef PROOF_LINK
#include "ft_usart.c"

#define RX STREAM(FT_LINK_RX_DMA, FT_LINK_RX_STREAM)
#define TX STREAM(FT_LINK_TX_DMA, FT_LINK_TX_STREAM)

/* For any register values, DMA gets the memory address and size that the caller
 * passes, and is enabled afterwards. Errors of the line are cleared without a
 * loop that waits.
 * Run: unwind=2 registers define=PROOF_LINK mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage,odrive-v3.6:voltage */
void prove_line_link(void)
{
    static volatile uint8_t memory[16];
    const uint32_t size = nondet_u32();

    GIVEN(size <= 0xFFFFu);
    (void)ft_usart_start();
    ft_receive_start(memory, size);
    CLAIM(RX->LEFT == size && RX->MEMORY == (uint32_t)(uintptr_t)memory);
    CLAIM((RX->CONTROL & ENABLED) != 0u);
    ft_send_start(memory, size);
    CLAIM(TX->LEFT == size && TX->MEMORY == (uint32_t)(uintptr_t)memory);
    CLAIM((TX->CONTROL & ENABLED) != 0u);
    (void)ft_receive_runs();
    (void)ft_receive_left();
    (void)ft_send_runs();
    (void)ft_line_flags_clear();
    END;
}
#endif

/* ---- buses of servos ---------------------------------------------------- */

#ifdef PROOF_WIRES
#undef FT_WIRE_IN
#undef FT_WIRE_OUT
#define FT_WIRE_IN 16u
#define FT_WIRE_OUT 8u

/* A replacement for memcpy that copies byte by byte. */
static void copied(void *to, const void *from, size_t size)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    uint32_t i;

    CLAIM(size <= FT_WIRE_OUT);
    for (i = 0; i < size; i++)
        t[i] = f[i];
}

#define memcpy copied

#include "ft_half_duplex.c"
#include "ft_wires.c"

#define RX_OF(wire) STREAM(ft_lines[wire].rx.dma, ft_lines[wire].rx.PLACE)
#define TX_OF(wire) STREAM(ft_lines[wire].tx.dma, ft_lines[wire].tx.PLACE)
#ifdef CAN1
#define PLACE stream
#else
#define PLACE channel
#endif

#ifdef FT_CUTOFF_PORT
static uint32_t put;
static bool level;

void ft_pin_put(uint32_t port, uint32_t pin, bool high)
{
    CLAIM(port == FT_CUTOFF_PORT && pin == FT_CUTOFF_PIN);
    put++;
    level = high;
}

/* Only the pin that the board file names switches the servos' supply. This pin
 * gets the requested level.
 * Run: define=PROOF_WIRES mechanisms=sts:f405rg-6 */
void prove_line_supply(void)
{
    const bool on = nondet_bool();

    ft_chip_servo_supply(on);
    CLAIM(put == 1u && level == on);
    END;
}
#endif

#ifdef CAN1
#define HOW USART_CR3_HDSEL /* no direction output for a transceiver */
#define GUARD 0u
#else
#define HOW (USART_CR3_HDSEL | USART_CR3_DEM)
#define GUARD (31u << USART_CR1_DEAT_Pos | 31u << USART_CR1_DEDT_Pos)
#endif

/* Return whether a USART releases its pin by hardware, or enables a transceiver
 * from one bit before to one bit after its bytes. */
static bool lets_go(const ft_line *l)
{
    const uint32_t how = l->usart->CR3 & HOW, guard = l->usart->CR1 & GUARD;

    return how == l->how
           && guard == (how == USART_CR3_HDSEL ? 0u : GUARD / 31u * 16u);
}

static bool well(const ft_wire *w)
{
    return w->taken < FT_WIRE_IN;
}

/* For any progress that DMA reports, different at each read, received bytes are
 * copied out of the buffer once and in order, up to the reported position. The
 * number of received bytes is at most the size of the DMA buffer and of the
 * caller's buffer. A reception that has ended is started again. DMA gets the
 * number of bytes to send. A size of 0 starts no transfer. Bytes are counted
 * and discarded if they do not fit into the buffer or the previous bytes are
 * still being sent. A USART releases its pin after it has sent, or enables a
 * transceiver from one bit before to one bit after its bytes.
 * Assumes: a receive buffer of 16 bytes and a send buffer of 8 bytes. The size
 * of the receive buffer matters only as a power of two. The size of the send
 * buffer does not matter.
 * Run: unwind=18 registers define=PROOF_WIRES mechanisms=so101_sts,sts:nucleo-g474re-6,sts:nucleo-g474-can */
void prove_line_wires(void)
{
    uint8_t bytes[FT_WIRE_IN + 4u] = { 0 }, out[FT_WIRE_OUT + 4u];
    const uint32_t most = below(sizeof bytes + 1u), at = below(sizeof bytes);
    ft_wire *w = &ft_wires[0], was;
    ft_bus_health h;
    uint32_t count, enabled;
    bool left_out;

    CLAIM((FT_WIRE_IN & (FT_WIRE_IN - 1u)) == 0u);
    ANYTHING(ft_wires);
    ANYTHING(out);
    GIVEN(well(w));
    was = *w;
    switch (nondet_u8() % 3u) {
    case 0:
        (void)ft_chip_wires_start();
        CLAIM(RX_OF(0)->LEFT == FT_WIRE_IN);
        CLAIM((RX_OF(0)->CONTROL & ENABLED) != 0u);
        CLAIM(RX_OF(0)->MEMORY == (uint32_t)(uintptr_t)w->in);
        CLAIM(lets_go(&ft_lines[0]));
        break;
    case 1:
        enabled = TX_OF(0)->CONTROL & ENABLED;
        ft_chip_wire_send(0, out, most);
        CLAIM(most != 0u || (TX_OF(0)->CONTROL & ENABLED) == enabled);
        left_out = w->stale != was.stale || most == 0u;
        CLAIM(left_out || (most <= FT_WIRE_OUT && TX_OF(0)->LEFT == most));
        CLAIM(left_out || TX_OF(0)->MEMORY == (uint32_t)(uintptr_t)w->out);
        CLAIM(left_out || at >= most || w->out[at] == out[at]);
        break;
    default:
        count = ft_chip_wire_take(0, bytes, most);
        CLAIM(count <= most && count < FT_WIRE_IN);
        CLAIM(at >= count
              || bytes[at] == was.in[(was.taken + at) % FT_WIRE_IN]);
        CLAIM(at < count || bytes[at] == 0u);
        CLAIM(w->overruns != was.overruns
              || w->taken == (was.taken + count) % FT_WIRE_IN);
    }
    CLAIM(well(w));
    ft_chip_wire_health(0, &h);
    CLAIM(h.stale == w->stale && h.overruns == w->overruns);
    END;
}
#endif
