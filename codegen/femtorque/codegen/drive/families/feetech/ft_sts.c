/* A half-duplex bus of Feetech's servos; see ft_sts.h. */
#include "ft_sts.h"

#if FT_WIRES > 0

#include <string.h> /* memcmp, memcpy */

enum { HEAD = 0xFF, EVERYBODY = 0xFE };
enum { SYNC_READ = 0x82, SYNC_WRITE = 0x83 };
enum { BEFORE = 5, AROUND = 6 }; /* bytes before the parameters; bytes of a
                                  * packet without parameters */

/* ---- out --------------------------------------------------------------- */

/* Return the check sum of a packet. size: bytes, including the check sum. */
static uint8_t check(const uint8_t *packet, uint32_t size)
{
    uint32_t sum = 0, i;

    for (i = 2; i + 1u < size; i++)
        sum += packet[i];
    return (uint8_t)~sum;
}

/* Begin a packet to all servos with this number of parameters. Return the
 * position of the third parameter. */
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

/* End a packet. */
static void end(ft_sts *w, const uint8_t *past)
{
    uint8_t *p = w->out + w->size;
    const uint32_t size = (uint32_t)(past - p) + 1u;

    p[size - 1u] = check(p, size);
    w->size += size;
}

/* Return true if a frame has at least one of the flags `what`. */
static bool means(const ft_frame *f, uint32_t what)
{
    return (FT_STS_MEANT(f->id) & what) != 0u;
}

/* Return the number of frames with at least one of the flags `what`. */
static uint32_t count_of(const ft_frame f[], uint32_t count, uint32_t what)
{
    uint32_t i, some = 0;

    for (i = 0; i < count; i++)
        some += means(&f[i], what) ? 1u : 0u;
    return some;
}

#if FT_SERVO_LOOP

/* Pack the goals of all running motors. */
static void pack_goals(ft_sts *w, const ft_frame f[], uint32_t count)
{
    const uint32_t some = count_of(f, count, FT_STS_RUN);
    uint8_t *p = begin(w, SYNC_WRITE, 2u + 3u * some, FT_STS_GOAL, 2u);
    uint32_t i;

    for (i = 0; i < count; i++) {
        const bool runs = means(&f[i], FT_STS_RUN);
        const uint32_t goal = ft_goal_take(&w->goal[i], &f[i],
                                           means(&f[i], FT_STS_AIM), runs);

        if (!runs)
            continue;
        *p++ = (uint8_t)FT_STS_SERVO(f[i].id);
        *p++ = (uint8_t)goal;
        *p++ = (uint8_t)(goal >> 8);
    }
    if (some != 0u)
        end(w, p);
}

#else

/* Pack all duties. A motor that does not run receives the duty 0. */
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

#endif

/* Pack the commands that switch motors on or off. Only servos with SWITCH are
 * in this packet, so a servo that lost power stays off. After a switch-off the
 * motor counts as off until the servo's next report on its switch. */
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

/* Return true if a frame writes the register that is read in this tick, and
 * does not switch a motor. A frame has only two data bytes, so it never writes
 * the 8 bytes of a state. */
static bool sets(const ft_sts *w, const ft_frame *f)
{
    return means(f, FT_STS_SET) && !means(f, FT_STS_SWITCH)
           && FT_STS_NUMBER(f->id) == w->number && w->width <= 2u;
}

/* Pack the writes of all servos whose frames write the register that is read in
 * this tick. */
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

/* Pack the question that all servos answer. */
static void pack_question(ft_sts *w, const ft_frame f[], uint32_t count)
{
    uint8_t *p = begin(w, SYNC_READ, 2u + count, w->number, w->width);
    uint32_t i;

    for (i = 0; i < count; i++)
        *p++ = (uint8_t)FT_STS_SERVO(f[i].id);
    end(w, p);
}

/* Choose the register that the board reads in this tick: the first register
 * that a frame names. In a quiet tick only frames with QUIET are considered. If
 * no frame names a register, choose the state. */
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
#if FT_SERVO_LOOP
    pack_goals(w, frames, servos);
#else
    pack_duties(w, frames, servos);
#endif
    if (count_of(frames, servos, FT_STS_SWITCH) != 0u && !quiet)
        pack_switches(w, frames, servos);
    pack_settings(w, frames, servos); /* only for servos whose motor is not
                                       * switched in this tick */
    if (!quiet)
        pack_question(w, frames, servos);
}

/* ---- in ---------------------------------------------------------------- */

/* Return the position of the first answer in `in`. The answers follow the echo
 * of the bytes that the board sent. If the echo is wrong, the board ignores all
 * bytes. If the bytes begin with an answer, the line returns no echo, and the
 * first answer is at 0. */
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

/* Return the size of the packet that begins here, or 0 if the bytes are no
 * packet. */
static uint32_t packet(const ft_sts *w, const uint8_t *p, uint32_t left)
{
    const uint32_t size = AROUND + (uint32_t)w->width;

    if (left < size || p[0] != HEAD || p[1] != HEAD || p[2] >= EVERYBODY
        || p[3] != w->width + 2u || p[size - 1u] != check(p, size))
        return 0;
    return size;
}

#if FT_SERVO_LOOP

enum { POSITION = 0, LOAD = 4 };   /* bytes of a state */
enum { SIGN = 0x8000, BACK = 0x400 }; /* of a position, of a load */

/* The oscilloscope table of kscalelabs/sysid, feetech/sts3215-12v. The overload
 * protection acts above 80 % of the supply. */
const ft_loop ft_sts_loop = { 1000.0f, 0.0095f, 0.78f, 0.0f };

static int32_t signed_word(const uint8_t *p, int32_t sign)
{
    const int32_t bits = p[0] | (int32_t)p[1] << 8, size = bits & (sign - 1);

    return (bits & sign) != 0 ? -size : size;
}

/* Return the flag of an answer for a servo whose load is wrong. */
static uint32_t watch(ft_sts *w, const uint8_t *p)
{
    const uint8_t *state = p + BEFORE;
    uint32_t i;

    for (i = 0; i < w->servos && w->number == FT_STS_STATE; i++)
        if (w->servo[i] == p[2])
            return ft_goal_strains(
                       &w->goal[i], &ft_sts_loop,
                       (uint32_t)signed_word(state + POSITION, SIGN),
                       signed_word(state + LOAD, BACK), w->on[i])
                       ? FT_STS_STRAINED : 0u;
    return 0u;
}

#endif

/* Return true if the servo's motor is on. If the question was about the switch,
 * store the answer. */
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
    uint32_t errors = 0;

#if FT_SERVO_LOOP
    errors = watch(w, p);
#endif
    f->id = FT_STS_ID(p[2], p[4] | errors, w->number, w->width)
            | (note(w, p) ? FT_STS_IS_ON : 0u);
    f->size = w->width;
    memcpy(f->data, p + BEFORE, w->width);
}

/* Process a packet at position `at`. Return the packet's size, or 1 for a byte
 * that belongs to no packet. */
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
