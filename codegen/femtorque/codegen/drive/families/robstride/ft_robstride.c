/* RobStride's drives; see ft_robstride.h. */
#include "ft_robstride.h"

#include "ft_field.h" /* ft_field_encode, ft_field_carry */

#include <string.h> /* memset */

#define HOST 0xFDu /* the sender's id, equal to the id that the maker's tools
                    * use */

/* Types of frames, in the upper five bits of the id. */
enum { OPERATE = 0x01, STATE = 0x02, ENABLE = 0x03, STOP = 0x04, READ = 0x11,
       WRITE = 0x12 };

#define RUNS 2u         /* the mode value of a running drive */
#define FAULTS 0x3Fu    /* a mask of six bits */
#define FAILED 0xFFu    /* error bits in an answer's id; 0: success */

/* Begin a frame of eight zero bytes. */
static void begin_frame(ft_frame *f, const ft_drive_config *c, uint32_t kind,
                        uint32_t beside)
{
    f->id = FT_FRAME_LONG | kind << 24 | beside << 8 | c->id;
    f->size = 8u;
    memset(f->data, 0, sizeof f->data);
}

/* Write a field of 16 bits, the upper byte first. */
static void put_number(ft_frame *f, uint32_t at, uint32_t number)
{
    f->data[at] = (uint8_t)(number >> 8);
    f->data[at + 1u] = (uint8_t)number;
}

static uint32_t get(const ft_frame *f, uint32_t at)
{
    return (uint32_t)f->data[at] << 8 | f->data[at + 1u];
}

/* Pack a command with torque, position, velocity and gains. The id holds the
 * torque. */
void ft_robstride_command(ft_frame *f, const ft_drive_config *c,
                          const ft_drive_target *t, float *carried)
{
    const ft_field_range places = ft_field_about(c->position, FT_FIELD_16);
    const ft_field_range velocities = ft_field_about(c->velocity, FT_FIELD_16);
    const ft_field_range stiff = ft_field_upto(c->kp, FT_FIELD_16);
    const ft_field_range damped = ft_field_upto(c->kd, FT_FIELD_16);
    const ft_field_range torques = ft_field_about(c->torque, FT_FIELD_16);

    begin_frame(f, c, OPERATE, ft_field_carry(&torques, t->torque, carried));
    put_number(f, 0u, ft_field_encode(&places, t->position));
    put_number(f, 2u, ft_field_encode(&velocities, t->velocity));
    put_number(f, 4u, ft_field_encode(&stiff, t->kp));
    put_number(f, 6u, ft_field_encode(&damped, t->kd));
}

void ft_robstride_enable(ft_frame *f, const ft_drive_config *c)
{
    begin_frame(f, c, ENABLE, HOST);
}

/* Disable the drive. clear: also clear its errors. */
void ft_robstride_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    begin_frame(f, c, STOP, HOST);
    f->data[0] = clear ? 1u : 0u;
}

/* Ask for a parameter. Every parameter occupies four bytes of a frame. */
void ft_robstride_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                      uint32_t size)
{
    (void)size;
    begin_frame(f, c, READ, HOST);
    f->data[0] = (uint8_t)number;
    f->data[1] = (uint8_t)(number >> 8);
}

void ft_robstride_write(ft_frame *f, const ft_drive_config *c,
                        uint32_t number, uint32_t size, uint32_t value)
{
    uint32_t i;

    (void)size;
    begin_frame(f, c, WRITE, HOST);
    f->data[0] = (uint8_t)number;
    f->data[1] = (uint8_t)(number >> 8);
    for (i = 0; i < 4u; i++)
        f->data[4u + i] = (uint8_t)(value >> (8u * i));
}

/* Read a parameter's value from a frame. If the id says that the drive could
 * not read the parameter, the value is UINT32_MAX: NaN as a float, which
 * matches no setting. */
static ft_drive_heard value_of(const ft_frame *f, ft_drive_said *said)
{
    said->setting = (uint32_t)f->data[1] << 8 | f->data[0];
    said->value = (uint32_t)f->data[4] | (uint32_t)f->data[5] << 8
                  | (uint32_t)f->data[6] << 16 | (uint32_t)f->data[7] << 24;
    if ((f->id >> 16 & FAILED) != 0u)
        said->value = UINT32_MAX;
    return FT_HEARD_SETTING;
}

/* Read a state from a frame. The id contains modes and errors. */
static ft_drive_heard state(const ft_frame *f, const ft_drive_config *c,
                            ft_drive_said *said)
{
    const ft_field_range velocities = ft_field_about(c->velocity, FT_FIELD_16);
    const ft_field_range torques = ft_field_about(c->torque, FT_FIELD_16);

    said->position = get(f, 0u);
    said->velocity = ft_field_decode(&velocities, get(f, 2u));
    said->torque = ft_field_decode(&torques, get(f, 4u));
    said->enabled = (f->id >> 22 & 3u) == RUNS;
    said->error = (uint8_t)(f->id >> 16 & FAULTS);
    said->warmth = (uint8_t)(get(f, 6u) / 10u);
    return FT_HEARD_STATE;
}

/* Read a frame from this drive. The function does not check the receiver of a
 * state, because a command cannot name its sender. */
ft_drive_heard ft_robstride_hear(const ft_frame *f, const ft_drive_config *c,
                                 ft_drive_said *said)
{
    const uint32_t kind = f->id >> 24 & 0x1Fu;
    const bool its = (f->id & FT_FRAME_LONG) != 0u && f->size == 8u
                     && (f->id >> 8 & 0xFFu) == c->id;

    if (its && kind == STATE)
        return state(f, c, said);
    return its && kind == READ && (f->id & 0xFFu) == HOST
               ? value_of(f, said) : FT_HEARD_NOTHING;
}
