/* Half-duplex wires of servos behind USB adapters: see ft_chip.h.
 *
 * On a chip's pin the board's own bytes come back before the answers. Most
 * adapters do not pass these bytes back, so this file puts them there.
 *
 * An answer may come after the tick that waits for it. Then every later tick
 * would take an old answer for a new one. The remedy is a pause: the board
 * sends nothing for one tick, and the next tick throws all bytes away. A pause
 * follows when the outputs go on, after a tick with too many answers, and after
 * a tick without answers while the outputs are on. While the outputs are off,
 * servos that are not set up may be silent. */
#include "ft_board.h" /* FT_WIRE_COUNT, FT_WIRE_ROWS, FT_WIRE_OUT, FT_WIRE_IN */
#include "ft_parts.h"

#if FT_WIRE_COUNT > 0

#include "ft_families.h" /* ft_family_disable, ft_wire_pack */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FT_WIRE_PORT(name, bitrate, answers) { name, bitrate, answers },
static const struct {
    const char *name;
    uint32_t bitrate, answers; /* bytes that all servos answer */
} ft_rows[] = { FT_WIRE_ROWS };
#undef FT_WIRE_PORT

typedef struct {
    int fd;
    uint8_t sent[FT_WIRE_OUT];
    uint32_t size;  /* bytes of the last packets */
    bool pauses;    /* the next packets are not sent */
    bool on;        /* the outputs were on in the last tick */
    ft_bus_health health;
} ft_wire_port;

static ft_wire_port ft_ports[FT_WIRE_COUNT];

static bool ft_open(ft_wire_port *w, const char *name, uint32_t bitrate)
{
    const char *where = ft_option(name);
    if (where == NULL) {
        ft_say("no adapter is named for the wire", name);
        return false;
    }
    w->fd = ft_descriptor(where);
    if (w->fd >= 0)
        return fcntl(w->fd, F_SETFL, O_NONBLOCK) == 0;
    w->fd = ft_serial_open(where, bitrate);
    if (w->fd >= 0)
        ft_say(name, where);
    return w->fd >= 0;
}

bool ft_chip_wires_start(void)
{
    bool good = true;
    for (uint32_t i = 0; i < FT_WIRE_COUNT; i++)
        good = ft_open(&ft_ports[i], ft_rows[i].name, ft_rows[i].bitrate) &&
               good;
    return good;
}

/* Count an error of an adapter that is gone. */
static void ft_failed(ft_wire_port *w)
{
    if (errno != EAGAIN && errno != EINTR && w->health.receiving < UINT8_MAX)
        w->health.receiving++;
}

void ft_chip_wire_send(uint32_t wire, const uint8_t *bytes, uint32_t size)
{
    ft_wire_port *w = &ft_ports[wire];
    w->size = size < FT_WIRE_OUT ? size : FT_WIRE_OUT;
    memcpy(w->sent, bytes, w->size);
    if (w->pauses) {
        w->health.stale++;
        return;
    }
    if (write(w->fd, w->sent, w->size) != (ssize_t)w->size) {
        ft_failed(w);
        w->pauses = true; /* servos drop a packet that is cut */
    }
}

/* Read all bytes that have come, at most `most`. Return their number. */
static uint32_t ft_read(ft_wire_port *w, uint8_t *in, uint32_t most)
{
    uint32_t came = 0;
    while (came < most) {
        ssize_t n = read(w->fd, in + came, most - came);
        if (n < 0)
            ft_failed(w);
        if (n <= 0)
            break;
        came += (uint32_t)n;
    }
    if (came == most)
        w->health.overruns++;
    return came;
}

/* Return whether the answers may belong to another tick's question. */
static bool ft_out_of_step(ft_wire_port *w, uint32_t answers, uint32_t all)
{
    bool on = ft_chip_outputs_enabled(), begins = on && !w->on;
    w->on = on;
    return begins || (on && answers == 0u) || answers > all;
}

/* Return the bytes that were sent, then the answers. */
uint32_t ft_chip_wire_take(uint32_t wire, uint8_t *bytes, uint32_t most)
{
    ft_wire_port *w = &ft_ports[wire];
    uint8_t in[FT_WIRE_IN];
    uint32_t came = ft_read(w, in, sizeof in), size = w->size;
    uint32_t echo = came >= size && memcmp(in, w->sent, size) == 0 ? size : 0u;
    uint32_t answers = came - echo;
    if (w->pauses) {
        w->pauses = false;
        answers = 0;
    } else {
        w->pauses = ft_out_of_step(w, answers, ft_rows[wire].answers);
    }
    if (w->pauses || size + answers > most)
        answers = 0;
    if (size > most)
        return 0;
    memcpy(bytes, w->sent, size);
    memcpy(bytes + size, in + echo, answers);
    return size + answers;
}

void ft_chip_wire_health(uint32_t wire, ft_bus_health *h)
{
    *h = ft_ports[wire].health;
}

void ft_wires_stop(void)
{
    static ft_wire packets;
    ft_frame frames[FT_BUS_DRIVES];
    for (uint32_t wire = 0; wire < FT_WIRE_COUNT; wire++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < FT_BUS_DRIVES; i++)
            if (ft_drive[i].bus == FT_CAN_COUNT + wire)
                ft_family_disable(i, &frames[count++], false);
        ft_wire_pack(&packets, frames, count);
        ft_ports[wire].pauses = false;
        ft_chip_wire_send(wire, packets.out, packets.size);
    }
}

/* All answers have the same length. */
uint32_t ft_wire_heard(uint32_t wire, uint32_t servos)
{
    static uint32_t came;
    uint8_t in[FT_WIRE_IN];
    const uint32_t each = ft_rows[wire].answers / servos;
    came += ft_read(&ft_ports[wire], in, sizeof in);
    uint32_t whole = came / each;
    came -= whole * each;
    return whole;
}

#else

void ft_wires_stop(void)
{
}

uint32_t ft_wire_heard(uint32_t wire, uint32_t servos)
{
    return wire + servos;
}

#endif
