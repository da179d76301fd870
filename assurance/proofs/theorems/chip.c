/* The buffers of the link, chip/stm32/ft_port_dma.c, and the measurements,
 * ft_sense.c.
 *
 * The drivers of the chip families are stubs. The stubs report any number of
 * remaining bytes and any converter count. */
#include "proof.h"

#include "ft_board.h"
#include "ft_chip.h"
#include "ft_parts.h"

void ft_interrupt_enable(uint32_t number, uint32_t priority)
{
    CLAIM(number < FT_VECTOR_COUNT && priority < 16u);
}

/* ---- the link ----------------------------------------------------------- */

#ifdef PROOF_PORT
#undef FT_LINK_SEND_SIZE
#define FT_LINK_SEND_SIZE 16u
#include "ft_port_dma.c"

bool ft_usart_start(void) { return nondet_bool(); }
bool ft_receive_runs(void) { return nondet_bool(); }
uint32_t ft_receive_left(void) { return nondet_u32(); }
bool ft_send_runs(void) { return nondet_bool(); }
bool ft_line_flags_clear(void) { return nondet_bool(); }

void ft_receive_start(volatile uint8_t *buffer, uint32_t size)
{
    CLAIM(__CPROVER_w_ok(buffer, size));
}

void ft_send_start(const volatile uint8_t *bytes, uint32_t size)
{
    CLAIM(bytes >= ft_to_send && size >= 1u);
    CLAIM((uint32_t)(bytes - ft_to_send) + size <= FT_LINK_SEND_SIZE);
}

static bool well(void)
{
    return ft_read < FT_RECEIVE_SIZE && ft_queued - ft_done <= FT_LINK_SEND_SIZE
           && ft_handed - ft_done <= ft_queued - ft_done;
}

/* The DMA controller may report any progress. The board copies received bytes
 * out of the buffer, and never more bytes than the caller has space for. The
 * board passes bytes for transmission on in pieces within the buffer, and never
 * more bytes than were queued. Bytes for which the buffer has no space are
 * refused. The theorem holds for any total count of bytes.
 * Assumes: at most 4 bytes at a time, and a send buffer of 16 bytes. Longer
 * pieces and buffers use the same loops.
 * Run: unwind=8 define=PROOF_PORT mechanisms=f405rg-4:voltage */
void prove_link_buffers(void)
{
    uint8_t bytes[4];
    const size_t size = nondet_size();

    ft_read = nondet_u32();
    ft_queued = nondet_u32();
    ft_handed = nondet_u32();
    ft_done = nondet_u32();
    GIVEN(well() && size <= sizeof bytes);
    switch (nondet_u8() % 3u) {
    case 0:
        CLAIM(ft_chip_receive(bytes, size) <= size);
        break;
    case 1:
        (void)ft_chip_send(bytes, size);
        break;
    default:
        (void)ft_port_chip_start();
        ft_port_interrupt();
        (void)ft_chip_line_errors();
    }
    CLAIM(well());
    END;
}
#endif

/* ---- measurements ------------------------------------------------------- */

#ifdef PROOF_SENSE
#include "ft_sense.c"

bool ft_converter_start(const uint8_t channels[], uint32_t count)
{
    CLAIM(__CPROVER_r_ok(channels, count));
    return nondet_bool();
}

void ft_converter_go(void) { }
bool ft_converter_await(void) { return nondet_bool(); }
bool ft_converter_done(void) { return nondet_bool(); }

uint32_t ft_converter_counts(uint32_t i)
{
    CLAIM(i < FT_SENSE_COUNT);
    return nondet_u32();
}

/* For any counts of the converter the bus voltage is neither NaN nor negative.
 * A temperature is NaN, or between -300 and 1000 degrees Celsius.
 * Run: unwind=8 floats define=PROOF_SENSE mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage,odrive-v3.6:voltage */
void prove_sensed(void)
{
    float volts, celsius;

    ft_bus_counts[0] = nondet_u32();
    ft_bus_counts[1] = nondet_u32();
    if (nondet_bool())
        (void)ft_sense_start();
    volts = ft_chip_bus_voltage();
    celsius = ft_chip_temperature();
    CLAIM(volts >= 0.0f && ft_bus_ratio() >= 0.0f);
    CLAIM(celsius != celsius || (celsius > -300.0f && celsius < 1000.0f));
    END;
}
#endif
