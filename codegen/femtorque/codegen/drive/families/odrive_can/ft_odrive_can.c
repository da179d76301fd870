/* ODrive's drives by CANSimple; see ft_odrive_can.h. */
#include "ft_odrive_can.h"

#include <string.h> /* memcpy, memset */

/* Numbers of messages, in the lower five bits of an id. The upper bits are the
 * drive's number. */
enum { GET_VERSION = 0x00, HEARTBEAT = 0x01, SET_STATE = 0x07,
       GET_ESTIMATES = 0x09, SET_MODE = 0x0B, SET_TORQUE = 0x0E,
       CLEAR_ERRORS = 0x18 };
#define MESSAGE 0x1Fu

enum { IDLE = 1, CLOSED_LOOP = 8 };            /* states of an axis */
enum { TORQUE_CONTROL = 1, PASSTHROUGH = 1 };  /* control and input modes */

#define VERSION 0x100u   /* number of the setting for the firmware version */
#define PROTOCOL 2u      /* the version of CANSimple */
#define ANOTHER 1u       /* a version number that matches no setting */
#define TURN 1048576.0f  /* counts of one turn of the output */
#define MOST_TURNS 2047.0f
#define RADIANS 6.28318531f /* of a turn */

/* Begin a message of eight zero bytes. */
static void begin_frame(ft_frame *f, uint32_t id, uint32_t message)
{
    f->id = id << 5 | message;
    f->size = 8u;
    memset(f->data, 0, sizeof f->data);
}

/* Write a number below 256 into a field of four bytes. */
static void put(ft_frame *f, uint32_t at, uint8_t number)
{
    f->data[at] = number;
}

static uint32_t get(const ft_frame *f, uint32_t at)
{
    return (uint32_t)f->data[at] | (uint32_t)f->data[at + 1u] << 8
           | (uint32_t)f->data[at + 2u] << 16
           | (uint32_t)f->data[at + 3u] << 24;
}

static float get_float(const ft_frame *f, uint32_t at)
{
    const uint32_t bits = get(f, at);
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Pack a torque, N m at the drive's output. */
static void put_torque(ft_frame *f, uint32_t id, float torque)
{
    uint32_t bits, i;

    begin_frame(f, id, SET_TORQUE);
    f->size = 4u;
    memcpy(&bits, &torque, sizeof bits);
    for (i = 0; i < 4u; i++)
        f->data[i] = (uint8_t)(bits >> (8u * i));
}

static void put_mode(ft_frame *f, uint32_t id)
{
    begin_frame(f, id, SET_MODE);
    put(f, 0u, TORQUE_CONTROL);
    put(f, 4u, PASSTHROUGH);
}

/* Command a torque, clamped to the drive's range. NaN gives 0. The drive closes
 * no loop. The board adds damping, computed with the velocity that the drive
 * reported last. */
void ft_odrive_can_command(ft_frame *f, const ft_drive_config *c,
                           const ft_drive_target *t, float *carried)
{
    const float wanted = t->torque + t->kd * (t->velocity - t->seen);
    const float most = c->torque;
    float torque = wanted;

    (void)carried; /* float32 has no rounding error to carry */
    if (!(wanted >= -most && wanted <= most))
        torque = wanted > most ? most : wanted < -most ? -most : 0.0f;
    put_torque(f, c->id, torque / c->gear);
}

void ft_odrive_can_enable(ft_frame *f, const ft_drive_config *c)
{
    begin_frame(f, c->id, SET_STATE);
    put(f, 0u, CLOSED_LOOP);
}

/* Disable the drive. clear: instead of this, clear its errors. A drive with an
 * error is idle already. */
void ft_odrive_can_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    begin_frame(f, c->id, clear ? CLEAR_ERRORS : SET_STATE);
    if (!clear)
        put(f, 0u, IDLE);
}

/* While the drive is off, repeat the torque mode and a torque of 0. */
void ft_odrive_can_release(ft_frame *f, const ft_drive_config *c,
                           uint32_t tick)
{
    if (tick % 4u == 1u)
        put_mode(f, c->id);
    if (tick % 4u == 3u)
        put_torque(f, c->id, 0.0f);
}

/* While the drive is being enabled, repeat the torque mode and a torque of 0.
 * Each request for closed-loop control may restart it, so only every fourth
 * frame is a request. */
void ft_odrive_can_look(ft_frame *f, uint32_t tick, bool enabled)
{
    const uint32_t id = f->id >> 5;

    if (enabled || (f->id & MESSAGE) != SET_STATE || tick % 4u == 0u)
        return;
    if (tick % 2u != 0u)
        put_mode(f, id);
    else
        put_torque(f, id, 0.0f);
}

/* Request a message with a remote frame that has the message's id. */
static void request(ft_frame *f, uint32_t id, uint32_t message)
{
    begin_frame(f, id, message);
    f->id |= FT_FRAME_REMOTE;
}

void ft_odrive_can_poll(ft_frame *f, const ft_drive_config *c)
{
    request(f, c->id, GET_ESTIMATES);
}

void ft_odrive_can_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                       uint32_t size)
{
    (void)size;
    request(f, c->id, number & MESSAGE);
}

/* Read the setting instead, because the board writes no settings of this
 * drive. */
void ft_odrive_can_write(ft_frame *f, const ft_drive_config *c,
                         uint32_t number, uint32_t size, uint32_t value)
{
    (void)value;
    ft_odrive_can_ask(f, c, number, size);
}

/* Read position and velocity from a frame. The function ignores NaN and values
 * out of range. */
static ft_drive_heard estimates(const ft_frame *f, const ft_drive_config *c,
                                ft_drive_said *said)
{
    const float turns = get_float(f, 0u), speed = get_float(f, 4u);

    if (!(turns > -MOST_TURNS && turns < MOST_TURNS)
        || !(speed - speed == 0.0f))
        return FT_HEARD_NOTHING;
    said->position = (uint32_t)(int32_t)(turns * TURN
                                         + (turns < 0.0f ? -0.5f : 0.5f));
    said->velocity = speed * RADIANS / c->gear;
    said->torque = 0.0f;
    said->warmth = 0u;
    return FT_HEARD_STATE;
}

/* Return the number of the lowest set bit, counted from 1; 0 if no bit is
 * set. */
static uint8_t lowest(uint32_t bits)
{
    uint32_t n;

    for (n = 0; n < 32u; n++)
        if ((bits >> n & 1u) != 0u)
            return (uint8_t)(n + 1u);
    return 0u;
}

static ft_drive_heard heartbeat(const ft_frame *f, ft_drive_said *said)
{
    said->error = lowest(get(f, 0u));
    said->enabled = f->data[4] == (uint8_t)CLOSED_LOOP;
    return FT_HEARD_BEAT;
}

/* Read the version of the firmware from a frame. */
static ft_drive_heard version(const ft_frame *f, ft_drive_said *said)
{
    const uint8_t *d = f->data;
    const uint32_t number = (uint32_t)d[4] << 16 | (uint32_t)d[5] << 8 | d[6];

    said->setting = VERSION;
    said->value = d[0] == PROTOCOL && number != 0u ? number : ANOTHER;
    return FT_HEARD_SETTING;
}

/* Read a frame from this drive. */
ft_drive_heard ft_odrive_can_hear(const ft_frame *f, const ft_drive_config *c,
                                  ft_drive_said *said)
{
    if (f->id >> 5 != c->id || f->size != 8u)
        return FT_HEARD_NOTHING;
    switch (f->id & MESSAGE) {
    case GET_ESTIMATES: return estimates(f, c, said);
    case HEARTBEAT: return heartbeat(f, said);
    case GET_VERSION: return version(f, said);
    default: return FT_HEARD_NOTHING;
    }
}
