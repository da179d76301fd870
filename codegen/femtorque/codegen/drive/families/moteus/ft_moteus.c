/* moteus controllers; see ft_moteus.h. */
#include "ft_moteus.h"

#include "ft_model.h" /* FT_TICK_HZ */

#include <string.h> /* memset */

#define SOURCE 0x77u   /* the board's id; no tool has this number */
#define ANSWERS 0x8000u
#define PADDING 0x50u

/* Kinds of subframes for numbers of 8 bits. Add FINE for 16 bits, and twice
 * FINE for 32 bits. The lower two bits count registers. */
enum { WRITE = 0x00, READ = 0x10, REPLY = 0x20, FAILED = 0x31, FINE = 0x04 };
enum { STOPPED = 0, FAULT = 1, POSITION = 10, TIMEOUT = 11 }; /* modes */
enum { COMMAND = 32, STOP = 12, STATE = 16 }; /* bytes */

#define SPEED 0.00157079633f /* rad/s: a step of 0.00025 turns/s */
#define TORQUE 0.01f         /* N m: a step in 16 bits */
#define COARSE_TORQUE 0.5f   /* N m: a step in 8 bits */
#define WHOLE 127.0f         /* a share of 1 of the drive's own gains */
#define NONE 0x80u           /* no number: the drive takes its own */
#define UNLIMITED 0xFFu      /* negative */
#define NOWHERE 0x80000000u  /* no target: the position where the drive
                              * stands */
#define WATCHDOG ((FT_WATCHDOG_MS + 9u) / 10u)
#define HALF_TICK (0.5f / (float)FT_TICK_HZ) /* s */

/* Mode; position; temperature and fault. */
static const uint8_t reads[6] = { READ + 1, 0x00, READ + 2 * FINE + 1, 0x01,
                                  READ + 2, 0x0E };

/* Begin a frame of padding. size: a length of CAN FD. */
static void begin_frame(ft_frame *f, const ft_drive_config *c, uint32_t size)
{
    f->id = FT_FRAME_LONG | ANSWERS | SOURCE << 8 | c->id;
    f->size = size;
    memset(f->data, PADDING, sizeof f->data);
}

/* Put a number at a place, the lowest byte first. */
static void put(ft_frame *f, uint32_t at, uint32_t number, uint32_t size)
{
    uint32_t i;

    for (i = 0; i < size; i++)
        f->data[at + i] = (uint8_t)(number >> (8u * i));
}

/* Return the nearest whole number, clamped to -most .. most; 0 for NaN. */
static int32_t nearest(float value, float most)
{
    if (!(value >= -most && value <= most))
        return value > most ? (int32_t)most
                            : value < -most ? -(int32_t)most : 0;
    return (int32_t)(value < 0.0f ? value - 0.5f : value + 0.5f);
}

/* Return a gain as a share of the drive's own gain. */
static uint32_t share(float gain, float own)
{
    return (uint32_t)nearest(gain > 0.0f ? WHOLE * gain / own : 0.0f, WHOLE);
}

/* Return the torque limit in steps, rounded up from the range. Beyond 8 bits
 * the drive uses its own limit. */
static uint32_t largest(const ft_drive_config *c)
{
    const float steps = c->torque / c->gear / COARSE_TORQUE;

    return steps <= WHOLE ? (uint32_t)(steps + 0.999f) : NONE;
}

/* Return a torque in steps. The rounding error is carried to the next torque.
 * Torque beyond the range is not carried. */
static int32_t torque(const ft_drive_config *c, float wanted, float *carried)
{
    const float step = TORQUE * c->gear, whole = wanted + *carried;
    const float most = c->torque / step;
    const int32_t steps = nearest(whole / step,
                                  most < 32767.0f ? most : 32767.0f);
    const float left = whole - (float)steps * step;

    *carried = left <= step && left >= -step ? left : 0.0f;
    return steps;
}

/* Command position, velocity and torque with shares of the drive's gains, for
 * the watchdog's time. The drive moves its target with the velocity from the
 * command on. The command therefore has the position of half a tick before the
 * tick's middle. The drive's own motion planning is switched off. */
void ft_moteus_command(ft_frame *f, const ft_drive_config *c,
                       const ft_drive_target *t, float *carried)
{
    static const uint8_t heads[25] = {
        WRITE + 1, 0x00, POSITION, WRITE + 2 * FINE + 1, 0x20, 0, 0, 0, 0,
        WRITE + FINE + 2, 0x21, 0, 0, 0, 0,
        WRITE, 7, 0x23, 0, 0, 0, NONE, 0, UNLIMITED, UNLIMITED
    };

    const int32_t speed = nearest(t->velocity * c->gear / SPEED, 32767.0f);
    const float moves = (float)speed * (SPEED * HALF_TICK) / c->gear;

    begin_frame(f, c, COMMAND);
    memcpy(f->data, heads, sizeof heads);
    put(f, 5u, t->kp > 0.0f ? (uint32_t)nearest((t->position - moves) / c->step,
                                                c->position / c->step)
                            : NOWHERE, 4u);
    put(f, 11u, (uint32_t)speed, 2u);
    put(f, 13u, (uint32_t)torque(c, t->torque, carried), 2u);
    put(f, 18u, share(t->kp, c->kp), 1u);
    put(f, 19u, share(t->kd, c->kd), 1u);
    put(f, 20u, largest(c), 1u);
    put(f, 22u, WATCHDOG, 1u);
    memcpy(f->data + sizeof heads, reads, sizeof reads);
}

/* Start a stopped drive by a command of no torque. A drive in a fault or a
 * time-out ignores this command. */
void ft_moteus_enable(ft_frame *f, const ft_drive_config *c)
{
    static const ft_drive_target nothing = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
                                             0.0f, 0.0f };
    float carried = 0.0f;

    ft_moteus_command(f, c, &nothing, &carried);
}

/* Stop a drive, which clears its faults too. */
void ft_moteus_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    (void)clear;
    begin_frame(f, c, STOP);
    f->data[0] = WRITE + 1;
    f->data[1] = 0x00;
    f->data[2] = STOPPED;
    memcpy(f->data + 3, reads, sizeof reads);
}

/* Return the place behind the register's number. number: the byte at place 1.
 * Register numbers up to 127 have one byte, larger numbers have two bytes. */
static uint32_t behind(uint32_t number)
{
    if (number < 0x80u)
        return 2u;
    return 3u;
}

/* Begin a frame about one register. size: bytes of the register. more: bytes
 * behind the register's number. Return the place behind this number. */
static uint32_t about(ft_frame *f, const ft_drive_config *c, uint32_t kind,
                      uint32_t number, uint32_t size, uint32_t more)
{
    const uint32_t fine = size == 4u ? 2u * FINE : size == 2u ? FINE : 0u;
    const uint32_t at = behind(number);

    begin_frame(f, c, at + more);
    f->data[0] = (uint8_t)(kind + fine + 1u);
    f->data[1] = (uint8_t)(at == 2u ? number : (number & 0x7Fu) | 0x80u);
    if (at == 3u)
        f->data[2] = (uint8_t)(number >> 7);
    return at;
}

void ft_moteus_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                   uint32_t size)
{
    (void)about(f, c, READ, number, size, 0u);
}

void ft_moteus_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                     uint32_t size, uint32_t value)
{
    put(f, about(f, c, WRITE, number, size, size), value, size);
}

/* Return a number, the lowest byte first. */
static uint32_t get(const ft_frame *f, uint32_t at, uint32_t size)
{
    uint32_t i, number = 0;

    for (i = 0; i < size; i++)
        number |= (uint32_t)f->data[at + i] << (8u * i);
    return number;
}

/* Return the error of a mode. Outside the fault mode a code is no error: the
 * drive only reports a limit. */
static uint8_t error(uint32_t mode, uint8_t code)
{
    if (mode == (uint32_t)FAULT)
        return code != 0u ? code : FAULT;
    return mode == (uint32_t)TIMEOUT ? TIMEOUT : 0u;
}

/* Take in a state. A state without a position is ignored, since its number
 * would mean a position far away. */
static ft_drive_heard state(const ft_frame *f, ft_drive_said *said)
{
    const uint8_t *d = f->data;

    if (d[0] != REPLY + 1 || d[1] != 0x00u || d[3] != REPLY + 2 * FINE + 1
        || d[4] != 0x01u || d[9] != REPLY + 2 || d[10] != 0x0Eu
        || get(f, 5u, 4u) == NOWHERE)
        return FT_HEARD_NOTHING;
    said->position = get(f, 5u, 4u);
    said->velocity = 0.0f;
    said->torque = 0.0f;
    said->enabled = d[2] == POSITION;
    said->error = error(d[2], d[12]);
    said->warmth = d[11] < 0x80u ? d[11] : 0u;
    return FT_HEARD_STATE;
}

/* Take in the value of one register. If the drive cannot read the register, the
 * value is one that no setting may have. */
static ft_drive_heard setting(const ft_frame *f, ft_drive_said *said)
{
    const uint32_t kind = f->data[0], fine = (kind >> 2) & 3u;
    const uint32_t at = behind(f->data[1]);
    const bool failed = kind == (uint32_t)FAILED;
    const uint32_t size = failed ? 1u : 1u << fine;

    if ((!failed && (kind & 0xF3u) != REPLY + 1u) || fine == 3u
        || f->size != at + size)
        return FT_HEARD_NOTHING;
    said->setting = at == 2u ? f->data[1]
                             : (f->data[1] & 0x7Fu) | (uint32_t)f->data[2] << 7;
    said->value = failed ? UINT32_MAX : get(f, at, size);
    return FT_HEARD_SETTING;
}

/* Take in a frame from this drive to the board. */
ft_drive_heard ft_moteus_hear(const ft_frame *f, const ft_drive_config *c,
                              ft_drive_said *said)
{
    if ((f->id & ~FT_FRAME_LONG) != (c->id << 8 | SOURCE))
        return FT_HEARD_NOTHING;
    if (f->size == STATE)
        return state(f, said);
    return f->size >= 3u && f->size <= 7u ? setting(f, said)
                                          : FT_HEARD_NOTHING;
}
