/* moteus controllers; see ft_moteus.h. */
#include "ft_moteus.h"

#include "ft_model.h" /* FT_TICK_HZ */

#include <string.h> /* memset */

#define SOURCE 0x77u   /* the board's id; no tool has this number */
#define ANSWERS 0x8000u
#define PADDING 0x50u

/* Types of subframes with 8-bit numbers. Add FINE for 16 bits, and twice FINE
 * for 32 bits. The lower two bits are the number of registers. */
enum { WRITE = 0x00, READ = 0x10, REPLY = 0x20, FAILED = 0x31, FINE = 0x04 };
enum { STOPPED = 0, FAULT = 1, POSITION = 10, TIMEOUT = 11 }; /* modes */
enum { COMMAND = 32, STOP = 12, STATE = 16 }; /* bytes */

#define SPEED 0.00157079633f /* resolution 0.00025 turns/s, in rad/s */
#define TORQUE 0.01f         /* resolution in 16 bits, N m */
#define COARSE_TORQUE 0.5f   /* resolution in 8 bits, N m */
#define WHOLE 127.0f         /* the number for 100 % of the drive's configured
                              * gain */
#define NONE 0x80u           /* NaN in 8 bits: the drive uses its configured
                              * value */
#define UNLIMITED 0xFFu      /* negative */
#define NOWHERE 0x80000000u  /* no target position: the drive uses its present
                              * position */
#define WATCHDOG ((FT_WATCHDOG_MS + 9u) / 10u)
#define HALF_TICK (0.5f / (float)FT_TICK_HZ) /* s */

/* Mode; position; temperature and fault. */
static const uint8_t reads[6] = { READ + 1, 0x00, READ + 2 * FINE + 1, 0x01,
                                  READ + 2, 0x0E };

/* Begin a frame that is filled with padding. size: a length that CAN FD
 * allows. */
static void begin_frame(ft_frame *f, const ft_drive_config *c, uint32_t size)
{
    f->id = FT_FRAME_LONG | ANSWERS | SOURCE << 8 | c->id;
    f->size = size;
    memset(f->data, PADDING, sizeof f->data);
}

/* Write a number at a position, the lowest byte first. */
static void put(ft_frame *f, uint32_t at, uint32_t number, uint32_t size)
{
    uint32_t i;

    for (i = 0; i < size; i++)
        f->data[at + i] = (uint8_t)(number >> (8u * i));
}

/* Return the value rounded to an integer and clamped to -most .. most; 0 for
 * NaN. */
static int32_t nearest(float value, float most)
{
    if (!(value >= -most && value <= most))
        return value > most ? (int32_t)most
                            : value < -most ? -(int32_t)most : 0;
    return (int32_t)(value < 0.0f ? value - 0.5f : value + 0.5f);
}

/* Return a gain as a fraction of the drive's configured gain. */
static uint32_t share(float gain, float own)
{
    return (uint32_t)nearest(gain > 0.0f ? WHOLE * gain / own : 0.0f, WHOLE);
}

/* Return the torque limit in steps: the drive's torque range, rounded up. If
 * the limit does not fit 8 bits, the drive uses its configured limit. */
static uint32_t largest(const ft_drive_config *c)
{
    const float steps = c->torque / c->gear / COARSE_TORQUE;

    return steps <= WHOLE ? (uint32_t)(steps + 0.999f) : NONE;
}

/* Return a torque in steps. The rounding error is added to the next torque.
 * Torque outside the drive's range is not added to it. */
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

/* Command position, velocity, torque and gain factors. The command holds for
 * the watchdog's time. From the command on, the drive advances its target with
 * the commanded velocity. The board therefore sends the target of half a tick
 * before the tick's middle. The command disables the drive's trajectory
 * planning. */
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

/* Start a stopped drive with a zero-torque command. A drive that has a fault or
 * a watchdog time-out ignores this command. */
void ft_moteus_enable(ft_frame *f, const ft_drive_config *c)
{
    static const ft_drive_target nothing = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
                                             0.0f, 0.0f, 0.0f, 0.0f };
    float carried = 0.0f;

    ft_moteus_command(f, c, &nothing, &carried);
}

/* Stop a drive. The stop command also clears the drive's faults. */
void ft_moteus_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    (void)clear;
    begin_frame(f, c, STOP);
    f->data[0] = WRITE + 1;
    f->data[1] = 0x00;
    f->data[2] = STOPPED;
    memcpy(f->data + 3, reads, sizeof reads);
}

/* Return the position after the register's number. number: the byte at position
 * 1. Register numbers up to 127 have one byte, larger numbers have two
 * bytes. */
static uint32_t behind(uint32_t number)
{
    if (number < 0x80u)
        return 2u;
    return 3u;
}

/* Begin a frame that concerns one register. size: bytes of the register. more:
 * number of bytes after the register's number. Return the position of the byte
 * after this number. */
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

/* Return an unsigned number whose lowest byte comes first. */
static uint32_t get(const ft_frame *f, uint32_t at, uint32_t size)
{
    uint32_t i, number = 0;

    for (i = 0; i < size; i++)
        number |= (uint32_t)f->data[at + i] << (8u * i);
    return number;
}

/* Return the error number for a mode and a fault code. In every mode but the
 * fault mode, a code is no error: the drive only reports that a limit is
 * active. */
static uint8_t error(uint32_t mode, uint8_t code)
{
    if (mode == (uint32_t)FAULT)
        return code != 0u ? code : FAULT;
    return mode == (uint32_t)TIMEOUT ? TIMEOUT : 0u;
}

/* Read a state from a frame. The board ignores a state without a position,
 * because NaN decodes as a position far away. */
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

/* Read the value of one register from a frame. If the drive cannot read the
 * register, the value is UINT32_MAX, which matches no setting. */
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

/* Read a frame that this drive sent to the board. */
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
