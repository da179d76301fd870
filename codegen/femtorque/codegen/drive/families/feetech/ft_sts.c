/* A wire of Feetech's servos; see ft_sts.h. */
#include "ft_sts.h"

#if FT_WIRES > 0

#include <string.h> /* memcmp, memcpy */

enum { HEAD = 0xFF, EVERYBODY = 0xFE };
enum { SYNC_READ = 0x82, SYNC_WRITE = 0x83 };
enum { BEFORE = 5, AROUND = 6 }; /* bytes before the parameters; and after */

/* ---- out --------------------------------------------------------------- */

/* Return the check sum of a packet of so many bytes, itself the last. */
static uint8_t check(const uint8_t *packet, uint32_t size)
{
    uint32_t sum = 0, i;

    for (i = 2; i + 1u < size; i++)
        sum += packet[i];
    return (uint8_t)~sum;
}

/* Begin a packet to all servos, of so many parameters. Return where the next
 * ones of them go. */
static uint8_t *begin(ft_sts *w, uint8_t instruction, uint32_t parameters,
                      uint32_t number, uint32_t width)
{
    uint8_t *p = w->out + w->size;

    p[0] = p[1] = HEAD;
    p[2] = EVERYBODY;
    p[3] = (uint8_t)(parameters + 2u);
    p[4] = instruction;
    p[5] = (uint8_t)number;
    p[6] = (uint8_t)width;
    return p + BEFORE + 2;
}

/* End it. */
static void end(ft_sts *w, const uint8_t *past)
{
    uint8_t *p = w->out + w->size;
    const uint32_t size = (uint32_t)(past - p) + 1u;

    p[size - 1u] = check(p, size);
    w->size += size;
}

/* Return whether a frame has such a meaning. */
static bool means(const ft_frame *f, uint32_t what)
{
    return (FT_STS_MEANT(f->id) & what) != 0u;
}

/* All duties; of a motor that is not to run: nothing. */
static void pack_duties(ft_sts *w, const ft_frame f[], uint32_t count)
{
    uint8_t *p = begin(w, SYNC_WRITE, 2u + 3u * count, FT_STS_DUTY, 2u);
    uint32_t i;

    for (i = 0; i < count; i++) {
        const bool runs = means(&f[i], FT_STS_RUN);

        *p++ = (uint8_t)FT_STS_SERVO(f[i].id);
        *p++ = runs ? f[i].data[0] : 0u;
        *p++ = runs ? f[i].data[1] : 0u;
    }
    end(w, p);
}

/* Return how many frames have such a meaning. */
static uint32_t count_of(const ft_frame f[], uint32_t count, uint32_t what)
{
    uint32_t i, some = 0;

    for (i = 0; i < count; i++)
        some += means(&f[i], what) ? 1u : 0u;
    return some;
}

/* Which motors are on, of those that are to be told: another one that has been
 * without power stays off. One that was switched off is off whatever it
 * says. */
static void pack_switches(ft_sts *w, const ft_frame f[], uint32_t count)
{
    const uint32_t some = count_of(f, count, FT_STS_SWITCH);
    uint8_t *p = begin(w, SYNC_WRITE, 2u + 2u * some, FT_STS_TORQUE, 1u);
    uint32_t i;

    for (i = 0; i < count; i++) {
        const bool runs = means(&f[i], FT_STS_RUN);

        if (!means(&f[i], FT_STS_SWITCH))
            continue;
        *p++ = (uint8_t)FT_STS_SERVO(f[i].id);
        *p++ = runs ? 1u : 0u;
        w->on[i] = w->on[i] && runs;
    }
    end(w, p);
}

/* Return whether a frame is to set the register that all are asked for, and
 * switches nothing: never a state, of which a frame has no room for the
 * bytes. */
static bool sets(const ft_sts *w, const ft_frame *f)
{
    return means(f, FT_STS_SET) && !means(f, FT_STS_SWITCH)
           && FT_STS_NUMBER(f->id) == w->number && w->width <= 2u;
}

/* A register of those servos that are to have it set. */
static void pack_settings(ft_sts *w, const ft_frame f[], uint32_t count)
{
    const uint32_t width = w->width;
    uint32_t i, some = 0;
    uint8_t *p;

    for (i = 0; i < count; i++)
        some += sets(w, &f[i]) ? 1u : 0u;
    if (some == 0u)
        return;
    p = begin(w, SYNC_WRITE, 2u + (1u + width) * some, w->number, width);
    for (i = 0; i < count; i++) {
        if (!sets(w, &f[i]))
            continue;
        *p++ = (uint8_t)FT_STS_SERVO(f[i].id);
        memcpy(p, f[i].data + 2, width);
        p += width;
    }
    end(w, p);
}

/* The question to all. */
static void pack_question(ft_sts *w, const ft_frame f[], uint32_t count)
{
    uint8_t *p = begin(w, SYNC_READ, 2u + count, w->number, w->width);
    uint32_t i;

    for (i = 0; i < count; i++)
        *p++ = (uint8_t)FT_STS_SERVO(f[i].id);
    end(w, p);
}

/* Find the register that is asked for or set: the first that a frame names, in
 * a quiet tick a quiet one; without any, the state. */
static void choose(ft_sts *w, const ft_frame f[], uint32_t count, bool quiet)
{
    uint32_t i;

    w->number = FT_STS_STATE;
    w->width = FT_STS_STATE_SIZE;
    for (i = 0; i < count; i++) {
        const uint32_t size = FT_STS_SIZE(f[i].id);

        if (size == 0u || size > 2u || (quiet && !means(&f[i], FT_STS_QUIET)))
            continue;
        w->number = (uint8_t)FT_STS_NUMBER(f[i].id);
        w->width = (uint8_t)size;
        return;
    }
}

void ft_sts_pack(ft_sts *w, const ft_frame frames[], uint32_t count)
{
    const uint32_t servos = count < FT_WIRE_MOST ? count : FT_WIRE_MOST;
    const bool quiet = count_of(frames, servos, FT_STS_QUIET) != 0u;
    uint32_t i;

    w->size = 0;
    w->servos = servos;
    for (i = 0; i < servos; i++)
        w->servo[i] = (uint8_t)FT_STS_SERVO(frames[i].id);
    choose(w, frames, servos, quiet);
    pack_duties(w, frames, servos);
    if (count_of(frames, servos, FT_STS_SWITCH) != 0u && !quiet)
        pack_switches(w, frames, servos);
    pack_settings(w, frames, servos); /* of others, which are set up later */
    if (!quiet)
        pack_question(w, frames, servos);
}

/* ---- in ---------------------------------------------------------------- */

/* Return where answers begin: behind the bytes that were sent. If other bytes
 * came back none is believed, unless they are answers alone: then the board's
 * own bytes do not come back at all. */
static uint32_t behind(ft_sts *w, uint32_t came)
{
    const bool answers = came > 2u && w->in[0] == HEAD && w->in[1] == HEAD
                         && w->in[2] < EVERYBODY;

    if (came >= w->size && memcmp(w->in, w->out, w->size) == 0)
        return w->size;
    if (answers)
        return 0;
    w->echoes++;
    return came;
}

/* Return the bytes of the packet that begins here, or 0: none does. */
static uint32_t packet(const ft_sts *w, const uint8_t *p, uint32_t left)
{
    const uint32_t size = AROUND + (uint32_t)w->width;

    if (left < size || p[0] != HEAD || p[1] != HEAD || p[2] >= EVERYBODY
        || p[3] != w->width + 2u || p[size - 1u] != check(p, size))
        return 0;
    return size;
}

/* Keep whether a motor is on, where that was asked; return it. */
static bool note(ft_sts *w, const uint8_t *p)
{
    uint32_t i;

    for (i = 0; i < w->servos; i++) {
        if (w->servo[i] != p[2])
            continue;
        if (w->number == FT_STS_TORQUE)
            w->on[i] = p[BEFORE] == 1u;
        return w->on[i];
    }
    return false;
}

/* Keep one answer. */
static void keep(ft_sts *w, const uint8_t *p)
{
    ft_frame *f = &w->answer[w->answers++];

    f->id = FT_STS_ID(p[2], p[4], w->number, w->width)
            | (note(w, p) ? FT_STS_IS_ON : 0u);
    f->size = w->width;
    memcpy(f->data, p + BEFORE, w->width);
}

/* Take in what begins at a place. Return how many bytes it has. */
static uint32_t take(ft_sts *w, uint32_t at, uint32_t came)
{
    const uint32_t size = packet(w, w->in + at, came - at);

    if (size == 0u) {
        w->damaged++;
        return 1;
    }
    keep(w, w->in + at);
    return size;
}

void ft_sts_came(ft_sts *w, uint32_t came)
{
    uint32_t at = behind(w, came);

    w->answers = w->read = 0;
    while (at < came && w->answers < FT_WIRE_MOST)
        at += take(w, at, came);
}

bool ft_sts_next(ft_sts *w, ft_frame *f)
{
    if (w->read == w->answers)
        return false;
    *f = w->answer[w->read++];
    return true;
}

#endif
