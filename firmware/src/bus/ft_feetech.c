/* Feetech's servos; see ft_feetech.h. */
#include "ft_feetech.h"

#include "ft_sts.h" /* FT_STS_... */

#if FT_WIRES > 0

#include <string.h> /* memset */

#define FULL 1000.0f       /* of a duty */
#define BACKWARDS 0x400u   /* of a duty: bit 10 */
#define NEGATIVE 0x8000u   /* of a position */
#define HALF 0.5f          /* of a step */

enum { SIZE = 4 }; /* bytes of a frame to a servo */

/* Begin a frame. */
static void begin(ft_frame *f, const ft_drive_address *a, uint32_t meant,
                  uint32_t number, uint32_t size)
{
    f->id = FT_STS_ID(a->id, meant, number, size);
    f->size = SIZE;
    memset(f->data, 0, sizeof f->data);
}

/* Carry what rounding leaves over to the next duty. */
void ft_feetech_run(ft_frame *f, const ft_drive_address *a, float share,
                    float most, float *carried)
{
    float wanted = (share == share ? share : 0.0f) + *carried, size;
    uint32_t steps;

    wanted = wanted > most ? most : wanted < -most ? -most : wanted;
    size = wanted < 0.0f ? -wanted : wanted;
    steps = (uint32_t)(size * FULL + HALF);
    size -= (float)steps / FULL;
    *carried = wanted < 0.0f ? -size : size;
    begin(f, a, FT_STS_RUN, 0u, 0u);
    steps |= wanted < 0.0f && steps != 0u ? BACKWARDS : 0u;
    f->data[0] = (uint8_t)steps;
    f->data[1] = (uint8_t)(steps >> 8);
}

/* Without a duty. */
void ft_feetech_switch(ft_frame *f, const ft_drive_address *a, bool on)
{
    begin(f, a, (uint32_t)FT_STS_SWITCH | (on ? (uint32_t)FT_STS_RUN : 0u),
          0u, 0u);
}

void ft_feetech_ask(ft_frame *f, const ft_drive_address *a, uint32_t number,
                    uint32_t size)
{
    begin(f, a, 0u, number & 0xFFu, size);
}

void ft_feetech_set(ft_frame *f, const ft_drive_address *a, uint32_t number,
                    uint32_t size, uint32_t value)
{
    begin(f, a, FT_STS_SET, number, size);
    f->data[2] = (uint8_t)value;
    f->data[3] = (uint8_t)(value >> 8);
}

void ft_feetech_quiet(ft_frame *f)
{
    f->id |= FT_STS_ID(0u, FT_STS_QUIET, 0u, 0u);
}

void ft_feetech_guard(ft_frame *f)
{
    f->id |= FT_STS_ID(0u, 0u, FT_STS_TORQUE, 1u);
}

static uint32_t two(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

/* Take in a state: position, speed, load, voltage, temperature. Positions
 * beyond a turn, which a servo can be set to tell, are taken within it. */
static ft_drive_heard state(const ft_frame *f, ft_drive_said *said)
{
    const uint32_t told = two(f->data), counts = told & ~NEGATIVE;

    said->position = ((told & NEGATIVE) != 0u ? 0u - counts : counts)
                     % FT_FEETECH_TURN;
    said->torque = 0.0f;
    said->velocity = 0.0f;
    said->enabled = (f->id & FT_STS_IS_ON) != 0u;
    said->error = (uint8_t)FT_STS_MEANT(f->id);
    said->volts = f->data[6];
    said->warmth = f->data[7];
    return FT_HEARD_STATE;
}

ft_drive_heard ft_feetech_hear(const ft_frame *f, const ft_drive_address *a,
                               ft_drive_said *said)
{
    if (FT_STS_SERVO(f->id) != a->id)
        return FT_HEARD_NOTHING;
    if (FT_STS_NUMBER(f->id) == (uint32_t)FT_STS_STATE)
        return state(f, said);
    said->setting = FT_STS_NUMBER(f->id);
    if (said->setting == 0u)
        said->setting = FT_FEETECH_FIRMWARE;
    said->value = f->size > 1u ? two(f->data) : f->data[0];
    return FT_HEARD_SETTING;
}

#endif
