/* Buses of drives behind adapters: see ft_chip.h. */
#include "ft_board.h" /* FT_CAN_COUNT, FT_CAN_ROWS */
#include "ft_families.h" /* ft_family_disable */
#include "ft_parts.h"

#include <errno.h>
#include <string.h>
#include <time.h>   /* nanosleep */
#include <unistd.h>

enum { FT_SETTLE_NS = 100000000 }; /* time for an adapter's set-up */

/* ---- one adapter --------------------------------------------------------- */

/* Count frames that were not sent. Errors other than a full queue mean that the
 * adapter is gone. */
void ft_adapter_failed(ft_adapter *a, uint32_t frames)
{
    a->health.stale = (uint16_t)(a->health.stale + frames);
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR || a->health.off)
        return;
    a->health.off = true;
    a->health.offs++;
}

/* Write the bytes that wait. */
static void ft_write_on(ft_adapter *a)
{
    ssize_t n = write(a->fd, a->out + a->from, a->to - a->from);
    if (n < 0)
        ft_adapter_failed(a, 0);
    else
        a->from += (uint32_t)n;
}

/* Send the rest of the last tick's bytes first, because a cut frame would be
 * lost. Drop the new frames if this rest does not go. */
void ft_adapter_send(ft_adapter *a, const ft_frame frames[], uint32_t count)
{
    if (a->from < a->to)
        ft_write_on(a);
    if (a->from < a->to) {
        a->health.stale = (uint16_t)(a->health.stale + count);
        return;
    }
    a->from = a->to = 0;
    for (uint32_t i = 0;
         i < count && a->to + FT_FRAME_TEXT <= sizeof a->out; i++)
        a->to += a->dialect->pack(a->out + a->to, &frames[i], a->can_fd);
    if (a->to != 0u)
        ft_write_on(a);
}

/* Take the frames out of the received bytes. */
static void ft_unpack(ft_adapter *a)
{
    const uint32_t room = sizeof a->kept / sizeof a->kept[0];
    uint32_t at = 0, done = 1;
    while (at < a->came && a->count < room && done != 0u) {
        ft_frame *f = &a->kept[a->count];
        f->size = FT_NO_FRAME;
        done = a->dialect->unpack(a->in + at, a->came - at, f);
        at += done;
        if (f->size != FT_NO_FRAME)
            a->count++;
    }
    a->came -= at;
    memmove(a->in, a->in + at, a->came);
    a->drained = a->count < room;
}

/* Read all bytes that have come, and take their frames. */
void ft_adapter_receive(ft_adapter *a)
{
    if (a->came == sizeof a->in) {
        a->health.overruns++;
        a->came = 0;
    }
    ssize_t n = read(a->fd, a->in + a->came, sizeof a->in - a->came);
    if (n < 0)
        ft_adapter_failed(a, 0);
    else
        a->came += (uint32_t)n;
    if (n > 0)
        a->health.off = false;
    ft_unpack(a);
}

static void ft_settle(void)
{
    const struct timespec pause = { 0, FT_SETTLE_NS };
    (void)nanosleep(&pause, NULL);
}

/* Set an adapter up, and ignore its answers. With a wrong set-up the drives
 * stay silent, and the board does not arm. */
static bool ft_set_up(ft_adapter *a, const char *where, uint32_t bitrate,
                      uint32_t data_bitrate)
{
    a->to = a->dialect->begin(a->out, bitrate, data_bitrate);
    if (a->to == 0u) {
        ft_say("this adapter does not have the bus' bit rates", where);
        return false;
    }
    ft_write_on(a);
    ft_settle();
    while (read(a->fd, a->in, sizeof a->in) > 0)
        continue;
    return a->from == a->to;
}

bool ft_adapter_open(ft_adapter *a, const char *name, const char *where,
                     uint32_t bitrate, uint32_t data_bitrate)
{
    static const ft_dialect *const known[] = { &ft_slcan, &ft_fdcanusb,
                                               &ft_damiao_usb,
                                               &ft_robstride_usb };
    const char *colon = strchr(where, ':');
    size_t size = colon == NULL ? 0u : (size_t)(colon - where);
    a->can_fd = data_bitrate != 0u;
    for (uint32_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]->name) == size &&
            strncmp(where, known[i]->name, size) == 0)
            a->dialect = known[i];
    }
    if (a->dialect == NULL)
        return ft_socketcan_open(a, name, where);
    a->fd = ft_serial_open(colon + 1, a->dialect->baud);
    if (a->fd < 0 || !ft_set_up(a, where, bitrate, data_bitrate))
        return false;
    ft_say(name, where);
    return true;
}

/* ---- all of them --------------------------------------------------------- */

#if FT_CAN_COUNT > 0

static ft_adapter ft_adapters[FT_CAN_COUNT];

#define FT_CAN(name, bitrate, data_bitrate) { name, bitrate, data_bitrate },
static const struct {
    const char *name;
    uint32_t bitrate, data_bitrate;
} ft_rows[] = { FT_CAN_ROWS };
#undef FT_CAN

bool ft_chip_buses_start(void)
{
    bool good = true;
    for (uint32_t i = 0; i < FT_CAN_COUNT; i++) {
        const char *where = ft_option(ft_rows[i].name);
        if (where == NULL) {
            ft_say("no adapter is named for the bus", ft_rows[i].name);
            good = false;
            continue;
        }
        good = ft_adapter_open(&ft_adapters[i], ft_rows[i].name, where,
                               ft_rows[i].bitrate, ft_rows[i].data_bitrate) &&
               good;
    }
    return good;
}

void ft_chip_bus_send(uint32_t bus, const ft_frame frames[], uint32_t count)
{
    ft_adapter *a = &ft_adapters[bus];
    a->drained = false;
    if (a->dialect == NULL)
        ft_socketcan_send(a, frames, count);
    else
        ft_adapter_send(a, frames, count);
}

/* Ask the system once in a tick, and again after a full batch of frames. */
bool ft_chip_bus_take(uint32_t bus, ft_frame *frame)
{
    ft_adapter *a = &ft_adapters[bus];
    if (a->next == a->count && !a->drained) {
        a->next = a->count = 0;
        if (a->dialect == NULL)
            ft_socketcan_receive(a);
        else
            ft_adapter_receive(a);
    }
    if (a->next == a->count)
        return false;
    *frame = a->kept[a->next++];
    return true;
}

void ft_chip_bus_health(uint32_t bus, ft_bus_health *h)
{
    *h = ft_adapters[bus].health;
}

uint32_t ft_bus_heard(uint32_t bus)
{
    uint32_t count = 0;
    ft_frame f;
    ft_adapters[bus].drained = false;
    while (ft_chip_bus_take(bus, &f))
        count++;
    return count;
}

/* End a frame that the first process may have begun, then send. */
void ft_buses_stop(void)
{
    ft_frame frames[FT_BUS_DRIVES];
    for (uint32_t bus = 0; bus < FT_CAN_COUNT; bus++) {
        ft_adapter *a = &ft_adapters[bus];
        uint32_t count = 0;
        for (uint32_t i = 0; i < FT_BUS_DRIVES; i++)
            if (ft_drive[i].bus == bus)
                ft_family_disable(i, &frames[count++], false);
        a->from = a->to = 0;
        if (a->dialect != NULL && write(a->fd, a->dialect->end,
                                        strlen(a->dialect->end)) < 0)
            ft_adapter_failed(a, 0);
        ft_chip_bus_send(bus, frames, count);
    }
}

#else

void ft_buses_stop(void)
{
}

uint32_t ft_bus_heard(uint32_t bus)
{
    return bus;
}

#endif
