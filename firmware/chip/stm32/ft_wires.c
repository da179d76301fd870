/* Wires: half-duplex serial buses of servos, by DMA. The tick hands bytes over
 * and reads received bytes, without interrupts between ticks. */
#include "ft_board.h" /* FT_WIRE_COUNT, FT_WIRE_OUT, FT_WIRE_IN */
#include "ft_chip.h"
#include "ft_parts.h"

#include <string.h>

typedef struct {
    uint8_t out[FT_WIRE_OUT];
    volatile uint8_t in[FT_WIRE_IN]; /* ring buffer, size a power of two */
    uint32_t taken;                  /* bytes up to here are already read */
    uint16_t stale, overruns;
    uint8_t errors;
} ft_wire;

static ft_wire ft_wires[FT_WIRE_COUNT];

bool ft_chip_wires_start(void)
{
    for (uint32_t i = 0; i < FT_WIRE_COUNT; i++) {
        ft_half_duplex_start(i);
        ft_half_duplex_listen(i, ft_wires[i].in, FT_WIRE_IN);
    }
    return true;
}

void ft_chip_servo_supply(bool on)
{
#ifdef FT_CUTOFF_PORT
    ft_pin_put(FT_CUTOFF_PORT, FT_CUTOFF_PIN, on);
#else
    (void)on;
#endif
}

/* If bytes are still being sent, let the transfer finish, since a truncated
 * packet would be lost. Drop the new bytes. A transfer of 0 bytes would never
 * complete. */
void ft_chip_wire_send(uint32_t wire, const uint8_t *bytes, uint32_t size)
{
    ft_wire *w = &ft_wires[wire];
    if (size == 0u)
        return;
    if (size > FT_WIRE_OUT || ft_half_duplex_sends(wire)) {
        w->stale++;
        return;
    }
    memcpy(w->out, bytes, size);
    __asm__ volatile("" ::: "memory"); /* the bytes must be in memory before the
                                        * DMA reads them */
    ft_half_duplex_send(wire, w->out, size);
}

/* Take the received bytes. Restart the reception if an error has ended it. */
uint32_t ft_chip_wire_take(uint32_t wire, uint8_t *bytes, uint32_t most)
{
    ft_wire *w = &ft_wires[wire];
    uint32_t count = 0;
    if (ft_half_duplex_errors(wire) && w->errors < UINT8_MAX)
        w->errors++;
    if (!ft_half_duplex_listens(wire)) {
        w->overruns++;
        w->taken = 0;
        ft_half_duplex_listen(wire, w->in, FT_WIRE_IN);
        return 0;
    }
    uint32_t end = FT_WIRE_IN - ft_half_duplex_left(wire);
    for (; w->taken != end % FT_WIRE_IN; count++) {
        if (count < most)
            bytes[count] = w->in[w->taken];
        w->taken = (w->taken + 1u) % FT_WIRE_IN;
    }
    if (count > most)
        w->overruns++;
    return count < most ? count : most;
}

void ft_chip_wire_health(uint32_t wire, ft_bus_health *h)
{
    const ft_wire *w = &ft_wires[wire];
    memset(h, 0, sizeof *h);
    h->receiving = w->errors;
    h->stale = w->stale;
    h->overruns = w->overruns;
}
