/* A half-duplex bus of Dynamixel X servos; see ft_dxl.h. */
#include "ft_dxl.h"

#if FT_WIRES > 0

#include <string.h> /* memcmp, memset */

enum { HEAD = 0xFF, THIRD = 0xFD, EVERYBODY = 0xFE };
enum { REBOOT = 0x08, STATUS = 0x55, SYNC_READ = 0x82, SYNC_WRITE = 0x83,
       FAST_READ = 0x8A }; /* instructions */
enum { LENGTH = 5, INSTRUCTION = 7 }; /* places in a packet */
enum { ALONE = 11, PART = 4 }; /* bytes of an answer and of a part, without the
                                * data */

#define OLDEST 46u            /* oldest firmware that answers a fast sync
                               * read */
#define TURN 4096u            /* counts */
#define SUPPLY_TICKS 128u     /* ticks between readings of the supply; a power
                               * of two */
#define MISSED (2u * FT_SILENT_TICKS) /* number of missing answers after which
                                       * the board no longer asks a servo */

/* ---- check sum --------------------------------------------------------- */

/* Return the check sum after one more byte. */
static uint32_t check(uint32_t sum, uint32_t byte)
{
    static const uint16_t table[16] = {
        0x0000, 0x8005, 0x800F, 0x000A, 0x801B, 0x001E, 0x0014, 0x8011,
        0x8033, 0x0036, 0x003C, 0x8039, 0x0028, 0x802D, 0x8027, 0x0022
    };

    sum = (sum << 4 & 0xFFFFu) ^ table[(sum >> 12 ^ byte >> 4) & 15u];
    return (sum << 4 & 0xFFFFu) ^ table[(sum >> 12 ^ byte) & 15u];
}

/* Return the check sum after `size` more bytes. */
static uint32_t checked(uint32_t sum, const uint8_t *bytes, uint32_t size)
{
    uint32_t i;

    for (i = 0; i < size; i++)
        sum = check(sum, bytes[i]);
    return sum;
}

/* Return the number of two bytes, the lower byte first. */
static uint32_t two(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

/* ---- out --------------------------------------------------------------- */

/* Append a byte. After three bytes that look like the beginning of a packet,
 * append a fourth byte, as the protocol demands. */
static void put(ft_dxl *w, uint32_t begin, uint32_t byte)
{
    uint8_t *p = w->out + w->size;

    *p = (uint8_t)byte;
    w->size++;
    if (w->size - begin <= INSTRUCTION + 2u || byte != (uint32_t)THIRD
        || p[-1] != HEAD || p[-2] != HEAD)
        return;
    p[1] = THIRD;
    w->size++;
}

static void put_two(ft_dxl *w, uint32_t begin, uint32_t number)
{
    put(w, begin, number & 0xFFu);
    put(w, begin, number >> 8);
}

/* Begin a packet. Return the position of the packet in `out`. */
static uint32_t begin_packet(ft_dxl *w, uint32_t id, uint32_t instruction)
{
    const uint32_t begin = w->size;
    uint8_t *p = w->out + begin;

    p[0] = p[1] = HEAD;
    p[2] = THIRD;
    p[3] = 0;
    p[4] = (uint8_t)id;
    p[INSTRUCTION] = (uint8_t)instruction;
    w->size += INSTRUCTION + 1u;
    return begin;
}

/* Begin a packet to all servos that concerns one register. */
static uint32_t begin_all(ft_dxl *w, uint32_t instruction, uint32_t number,
                          uint32_t width)
{
    const uint32_t begin = begin_packet(w, EVERYBODY, instruction);

    put_two(w, begin, number);
    put_two(w, begin, width);
    return begin;
}

/* End a packet. */
static void end(ft_dxl *w, uint32_t begin)
{
    uint8_t *p = w->out + begin;
    const uint32_t size = w->size - begin;
    uint32_t sum;

    p[LENGTH] = (uint8_t)(size - LENGTH);
    p[LENGTH + 1] = 0; /* shorter than 256 */
    sum = checked(0u, p, size);
    p[size] = (uint8_t)sum;
    p[size + 1u] = (uint8_t)(sum >> 8);
    w->size += 2u;
}

/* Return true if a frame has at least one of the flags `what`. */
static bool means(const ft_frame *f, uint32_t what)
{
    return (FT_DXL_MEANT(f->id) & what) != 0u;
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
static void pack_positions(ft_dxl *w, const ft_frame f[], uint32_t count)
{
    const uint32_t some = count_of(f, count, FT_DXL_RUN), was = w->size;
    const uint32_t begin = begin_all(w, SYNC_WRITE, FT_DXL_POSITION, 4u);
    uint32_t i;

    for (i = 0; i < count; i++) {
        const bool runs = means(&f[i], FT_DXL_RUN);
        const uint32_t goal = ft_goal_take(&w->servo[i].goal, &f[i],
                                           means(&f[i], FT_DXL_AIM), runs);

        if (!runs)
            continue;
        put(w, begin, w->servo[i].id);
        put_two(w, begin, goal);
        put_two(w, begin, 0u);
    }
    if (some != 0u)
        end(w, begin);
    else
        w->size = was;
}

#else

/* Pack the goals of all servos for one register. A motor that does not run
 * receives the goal 0. */
static void pack_goals(ft_dxl *w, const ft_frame f[], uint32_t count,
                       uint32_t number)
{
    uint32_t i, some = 0, begin;

    for (i = 0; i < count; i++)
        some += f[i].data[FT_DXL_GOAL] == number ? 1u : 0u;
    if (some == 0u)
        return;
    begin = begin_all(w, SYNC_WRITE, number, 2u);
    for (i = 0; i < count; i++) {
        if (f[i].data[FT_DXL_GOAL] != number)
            continue;
        put(w, begin, w->servo[i].id);
        put_two(w, begin, means(&f[i], FT_DXL_RUN) ? two(f[i].data) : 0u);
    }
    end(w, begin);
}

#endif

/* Pack the commands that switch motors on or off. Only servos with SWITCH are
 * in this packet, so a servo that lost power stays off. After a switch-off the
 * motor counts as off until the servo's next report on its switch. */
static void pack_switches(ft_dxl *w, const ft_frame f[], uint32_t count)
{
    const uint32_t begin = begin_all(w, SYNC_WRITE, FT_DXL_TORQUE, 1u);
    uint32_t i;

    for (i = 0; i < count; i++) {
        const bool runs = means(&f[i], FT_DXL_RUN);

        if (!means(&f[i], FT_DXL_SWITCH))
            continue;
        put(w, begin, w->servo[i].id);
        put(w, begin, runs ? 1u : 0u);
        w->servo[i].on = w->servo[i].on && runs;
    }
    end(w, begin);
}

/* Write one register of all servos whose frames have the flag `what`. wide:
 * bytes of the register. clears: write 0 instead of the frame's value. */
static void pack_register(ft_dxl *w, const ft_frame f[], uint32_t count,
                          uint32_t what, uint32_t wide, bool clears)
{
    const uint32_t begin = begin_all(w, SYNC_WRITE, w->number, wide);
    uint32_t i, k;

    for (i = 0; i < count; i++) {
        if (!means(&f[i], what) || FT_DXL_NUMBER(f[i].id) != w->number)
            continue;
        put(w, begin, w->servo[i].id);
        for (k = 0; k < wide; k++)
            put(w, begin, clears ? 0u : f[i].data[k]);
    }
    end(w, begin);
}

/* If a frame writes the register that the board reads in this tick, pack this
 * write. An expired watchdog register accepts only 0, so the board first writes
 * 0. */
static void pack_settings(ft_dxl *w, const ft_frame f[], uint32_t count)
{
    uint32_t i, some = 0;

    for (i = 0; i < count; i++)
        some += means(&f[i], FT_DXL_SET)
                        && FT_DXL_NUMBER(f[i].id) == w->number ? 1u : 0u;
    if (some == 0u || w->width > 4u)
        return;
    if (w->number == (uint8_t)FT_DXL_WATCHDOG)
        pack_register(w, f, count, FT_DXL_SET, w->width, true);
    pack_register(w, f, count, FT_DXL_SET, w->width, false);
}

/* Reboot one servo. */
static void pack_reboot(ft_dxl *w, uint32_t i)
{
    end(w, begin_packet(w, w->servo[i].id, REBOOT));
    memset(&w->servo[i], 0, sizeof w->servo[i]);
}

/* Pack the question to the servos that are asked in this tick. */
static void pack_question(ft_dxl *w)
{
    uint32_t i, begin;

    if (w->asked == 0u)
        return;
    begin = begin_all(w, w->fast ? FAST_READ : SYNC_READ, w->number, w->width);
    for (i = 0; i < w->servos; i++)
        if (w->servo[i].asked)
            put(w, begin, w->servo[i].id);
    end(w, begin);
}

/* Write a one-byte register of all servos with LATE. known: only of servos that
 * have reported a delay other than 0. */
static void pack_late(ft_dxl *w, const ft_frame f[], uint32_t count,
                      uint32_t number, uint32_t value, bool known)
{
    const uint32_t begin = begin_all(w, SYNC_WRITE, number, 1u);
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (!means(&f[i], FT_DXL_LATE) || (known && !w->servo[i].late))
            continue;
        put(w, begin, w->servo[i].id);
        put(w, begin, value);
        w->servo[i].late = false;
    }
    end(w, begin);
}

/* Return true if a servo with LATE has reported a delay. */
static bool any_late(const ft_dxl *w, const ft_frame f[], uint32_t count)
{
    bool any = false;
    uint32_t i;

    for (i = 0; i < count; i++)
        any = any || (means(&f[i], FT_DXL_LATE) && w->servo[i].late);
    return any;
}

/* Ask a servo in this tick. */
static void let(ft_dxl *w, uint32_t i)
{
    w->servo[i].asked = true;
    w->asked++;
}

/* Make servos with LATE answer questions without a delay. Servos store the
 * delay permanently, so the board writes it only to a servo that has reported a
 * delay other than 0. If no servo has, the board asks one servo per tick, first
 * for its delay and then for its firmware version. */
static void wake(ft_dxl *w, const ft_frame f[], uint32_t count)
{
    uint32_t i;

    if (any_late(w, f, count)) {
        pack_late(w, f, count, FT_DXL_DELAY, 0u, true);
        return;
    }
    for (i = 0; i < count && w->asked == 0u; i++) {
        w->next = w->next + 1u < count ? w->next + 1u : 0u;
        if (means(&f[w->next], FT_DXL_LATE))
            let(w, w->next);
    }
    w->fast = false;
    w->number = w->servo[w->next].prompt ? FT_DXL_FIRMWARE : FT_DXL_DELAY;
    w->width = 1;
    pack_late(w, f, count, FT_DXL_LEVEL, 1u, false);
    pack_question(w);
}

/* Choose the register that the board reads in this tick. The first register
 * that the frame of an asked servo names, or that a frame writes, is chosen. If
 * no frame names a register, choose the error register, the supply or the
 * state. */
static void choose(ft_dxl *w, const ft_frame frames[])
{
    uint32_t i;

    w->number = FT_DXL_STATE;
    w->width = FT_DXL_STATE_SIZE;
    for (i = 0; i < w->servos; i++) {
        const uint32_t size = FT_DXL_SIZE(frames[i].id);

        if ((!w->servo[i].asked && !means(&frames[i], FT_DXL_SET))
            || size == 0u || size > (uint32_t)FT_DXL_TORQUE_SIZE)
            continue;
        w->number = (uint8_t)FT_DXL_NUMBER(frames[i].id);
        w->width = (uint8_t)size;
        return;
    }
    if (w->puzzled) {
        w->number = FT_DXL_TORQUE;
        w->width = FT_DXL_TORQUE_SIZE;
        w->puzzled = false;
    } else if (w->fast && w->ticks % SUPPLY_TICKS == 0u) {
        w->number = FT_DXL_SUPPLY;
        w->width = FT_DXL_SUPPLY_SIZE;
    }
}

/* Choose the servos that the board asks in this tick. */
static void share(ft_dxl *w)
{
    const uint32_t half = (w->servos + 1u) / 2u;
    uint32_t i;

    w->fast = true;
    for (i = 0; i < w->servos; i++)
        w->fast = w->fast && !(w->servo[i].takes_part && w->servo[i].old);
    for (i = 0; i < w->servos; i++)
        if (w->servo[i].takes_part
            && (w->fast || (i < half) == ((w->ticks & 2u) == 0u)))
            let(w, i);
}

/* Append switches, settings and the question after the goals. */
static void pack_rest(ft_dxl *w, const ft_frame frames[], uint32_t servos)
{
    share(w);
    choose(w, frames);
    if (count_of(frames, servos, FT_DXL_SWITCH) != 0u)
        pack_switches(w, frames, servos);
    pack_settings(w, frames, servos);
    pack_question(w);
}

void ft_dxl_pack(ft_dxl *w, const ft_frame frames[], uint32_t count)
{
    const uint32_t servos = count < FT_WIRE_MOST ? count : FT_WIRE_MOST;
    uint32_t i;

    w->size = 0;
    w->servos = servos;
    w->ticks++;
    w->asked = 0;
    for (i = 0; i < servos; i++) {
        w->servo[i].id = (uint8_t)FT_DXL_SERVO(frames[i].id);
        w->servo[i].asked = false;
    }
#if FT_SERVO_LOOP
    pack_positions(w, frames, servos);
#else
    pack_goals(w, frames, servos, FT_DXL_CURRENT);
    pack_goals(w, frames, servos, FT_DXL_DUTY);
#endif
    if (count_of(frames, servos, FT_DXL_REBOOT) != 0u) {
        for (i = 0; i < servos; i++)
            if (means(&frames[i], FT_DXL_REBOOT))
                pack_reboot(w, i);
    } else if (count_of(frames, servos, FT_DXL_LATE) != 0u)
        wake(w, frames, servos);
    else
        pack_rest(w, frames, servos);
}

/* ---- in ---------------------------------------------------------------- */

/* Return true if a packet with an answer begins here. */
static bool begins(const uint8_t *p)
{
    return p[0] == HEAD && p[1] == HEAD && p[2] == THIRD && p[3] == 0u
           && p[INSTRUCTION] == STATUS;
}

/* Return the position of the first answer in `in`. The answers follow the echo
 * of the bytes that the board sent. If the echo is wrong, the board ignores all
 * bytes. If the bytes begin with an answer, the line returns no echo, and the
 * first answer is at 0. */
static uint32_t behind(ft_dxl *w, uint32_t came)
{
    if (came >= w->size && memcmp(w->in, w->out, w->size) == 0)
        return w->size;
    if (came >= (uint32_t)ALONE && begins(w->in))
        return 0;
    w->echoes++;
    return came;
}

/* Return a signed 32-bit number, clamped to a signed 16-bit number. */
static uint32_t narrow(uint32_t bits)
{
    if (bits + 0x8000u <= 0xFFFFu)
        return bits & 0xFFFFu;
    return (bits & 0x80000000u) != 0u ? 0x8000u : 0x7FFFu;
}

/* Store a state in 8 bytes: position, velocity and current with 16 bits each,
 * then supply voltage and temperature. */
static void keep_state(const ft_dxl_servo *s, ft_frame *f,
                       const uint8_t *state)
{
    const uint8_t *data = state + FT_DXL_LOAD_SIZE;
    const uint32_t velocity = narrow(two(data + 2) | two(data + 4) << 16);

    f->size = 8;
    f->data[0] = data[6];
    f->data[1] = data[7];
    f->data[2] = (uint8_t)velocity;
    f->data[3] = (uint8_t)(velocity >> 8);
    f->data[4] = data[0];
    f->data[5] = data[1];
    f->data[6] = s->volts;
    f->data[7] = s->warmth;
}

/* Store the data of an answer that the board needs to operate the bus. */
static void note(const ft_dxl *w, ft_dxl_servo *s, const uint8_t *data)
{
    const uint32_t volts = two(data);

    s->missed = 0;
    switch (w->number) {
    case FT_DXL_TORQUE:
        if (w->width != (uint8_t)FT_DXL_TORQUE_SIZE)
            break;
        s->on = data[0] == 1u;
        s->error = data[FT_DXL_ERROR - FT_DXL_TORQUE];
        break;
    case FT_DXL_SUPPLY:
        if (w->width != (uint8_t)FT_DXL_SUPPLY_SIZE)
            break;
        s->volts = (uint8_t)(volts < UINT8_MAX ? volts : UINT8_MAX);
        s->warmth = data[2];
        break;
    case FT_DXL_FIRMWARE:
        s->old = data[0] < OLDEST;
        s->takes_part = s->takes_part || s->prompt;
        break;
    case FT_DXL_DELAY:
        s->late = data[0] != 0u;
        s->prompt = !s->late;
        break;
    default: break;
    }
}

/* Note whether an answer has the alert bit. If the alert bit is new, the board
 * reads the servo's error register. */
static void heed(ft_dxl *w, ft_dxl_servo *s, uint32_t error)
{
    const uint8_t alert = (uint8_t)(error & FT_DXL_ALERT);

    if (alert != 0u && s->alert == 0u && s->error == 0u)
        w->puzzled = true;
    if (alert == 0u)
        s->error = 0;
    s->alert = alert;
}

#if FT_SERVO_LOOP

/* The gain of a loop was 128 in the manual, and 141 to 147 in measurements. */
const ft_loop ft_dxl_loop = { 885.0f, 0.0f, 1.0f, 0.25f };

/* Return the flag of an answer for a servo whose load is wrong. */
static uint32_t watch(ft_dxl_servo *s, const uint8_t *state)
{
    const uint32_t at = two(state + 8) % TURN, load = two(state);
    const int32_t signed_load = (int32_t)(load ^ 0x8000u) - 0x8000;

    return ft_goal_strains(&s->goal, &ft_dxl_loop, at, signed_load, s->on)
               ? FT_DXL_STRAINED : 0u;
}

#endif

/* Store the answer of a servo that was asked. The bus stores at most one answer
 * per servo. data: `width` bytes, at least two. */
static void keep(ft_dxl *w, uint32_t id, uint32_t error, const uint8_t *data)
{
    ft_frame *f = &w->answer[w->answers];
    ft_dxl_servo *s = w->servo;
    uint32_t i;

    for (i = 0; i < w->servos && !(s->asked && s->id == id); i++)
        s++;
    if (i == w->servos)
        return;
    s->asked = false;
    note(w, s, data);
    heed(w, s, error);
    w->answers++;
    f->size = w->width < 8u ? w->width : 8u;
    for (i = 0; i < 8u; i++)
        f->data[i] = i < f->size ? data[i] : 0u;
    if (w->number == (uint8_t)FT_DXL_STATE
        && w->width == (uint8_t)FT_DXL_STATE_SIZE)
        keep_state(s, f, data);
    error = s->error != 0u ? s->error : s->alert;
#if FT_SERVO_LOOP
    if (w->number == (uint8_t)FT_DXL_STATE)
        error |= watch(s, data);
#endif
    f->id = FT_DXL_ID(s->id, error, w->number,
                      f->size)
            | (s->on ? FT_DXL_IS_ON : 0u);
}

/* Process the parts of the common answer to a fast sync read. Return the number
 * of bytes up to the last correct part, or 0 if the first part is wrong. */
static uint32_t take_parts(ft_dxl *w, const uint8_t *p, uint32_t left)
{
    uint32_t sum = checked(0u, p, INSTRUCTION + 1u), at = INSTRUCTION + 1u, k;
    const uint32_t size = (uint32_t)PART + w->width;

    for (k = 0; k < w->asked && left - at >= size; k++) {
        sum = checked(sum, p + at, size - 2u);
        if (sum != two(p + at + size - 2u))
            break;
        sum = checked(sum, p + at + size - 2u, 2u);
        keep(w, p[at + 1u], p[at], p + at + 2u);
        at += size;
    }
    return k != 0u ? at : 0u;
}

/* Process the answer of one servo, without its stuffed bytes. Return the
 * answer's size, or 0 if the bytes are no answer. */
static uint32_t take_one(ft_dxl *w, const uint8_t *p, uint32_t left)
{
    const uint32_t size = two(p + LENGTH) + INSTRUCTION;
    uint8_t data[FT_DXL_STATE_SIZE] = { 0 };
    uint32_t i, k = 0;

    if (size < (uint32_t)ALONE || size > left
        || checked(0u, p, size - 2u) != two(p + size - 2u))
        return 0;
    for (i = INSTRUCTION + 2u; i + 2u < size; i++) {
        if (p[i] == THIRD && p[i - 1u] == THIRD && p[i - 2u] == HEAD
            && p[i - 3u] == HEAD)
            continue;
        if (k < (uint32_t)FT_DXL_STATE_SIZE)
            data[k] = p[i];
        k++;
    }
    if (k == w->width)
        keep(w, p[4], p[INSTRUCTION + 1u], data);
    return size;
}

/* Process a packet at position `at`. Return the packet's size, or 1 for a byte
 * that belongs to no packet. */
static uint32_t take(ft_dxl *w, uint32_t at, uint32_t came)
{
    const uint8_t *p = w->in + at;
    const uint32_t left = came - at;
    uint32_t size = 0;

    if (left >= (uint32_t)ALONE && begins(p))
        size = w->fast && p[4] == EVERYBODY ? take_parts(w, p, left)
                                            : take_one(w, p, left);
    if (size == 0u) {
        w->damaged++;
        return 1;
    }
    return size;
}

/* Add one missing answer to the count of each servo that is asked. An answer
 * resets this count to 0. After too many missing answers the board no longer
 * asks a servo normally, because another servo may have replaced it. */
static void miss(ft_dxl *w)
{
    uint32_t i;

    for (i = 0; i < w->servos; i++) {
        ft_dxl_servo *s = &w->servo[i];

        if (!s->asked)
            continue;
        if (s->missed < MISSED)
            s->missed++;
        else
            s->takes_part = s->prompt = s->on = false;
    }
}

void ft_dxl_came(ft_dxl *w, uint32_t came)
{
    uint32_t at = behind(w, came);

    w->answers = w->read = 0;
    miss(w);
    while (at < came && w->answers < w->asked)
        at += take(w, at, came);
}

bool ft_dxl_next(ft_dxl *w, ft_frame *f)
{
    if (w->read == w->answers)
        return false;
    *f = w->answer[w->read++];
    return true;
}

#endif
