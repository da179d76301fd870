/* Feetech's servos; see ft_feetech.h. */
#include "ft_feetech.h"

#include "ft_sts.h" /* FT_STS_... */

#if FT_WIRES > 0

#include <string.h> /* memset */

#define FULL 1000.0f       /* of a duty */
#define BACKWARDS 0x400u   /* of a duty: bit 10 */
#define NEGATIVE 0x8000u   /* of a position */
#define HALF 0.5f          /* of a step */
#define TURN 4096u         /* counts */
#define WAKE_TICKS 3u
#define LOOK_TICKS 8u      /* ticks between checks that a motor is still on */

enum { DELAY = 7, GAINS = 21, LOCK = 55 }; /* registers */

enum { SIZE = 4 }; /* bytes of a frame to a servo */

/* Begin a frame. */
static void begin_frame(ft_frame *f, const ft_drive_config *c, uint32_t meant,
                        uint32_t number, uint32_t size)
{
    f->id = FT_STS_ID(c->id, meant, number, size);
    f->size = SIZE;
    memset(f->data, 0, sizeof f->data);
}

#if FT_SERVO_LOOP

/* Send a goal. */
static void aim(ft_frame *f, const ft_drive_config *c,
                const ft_drive_target *t)
{
    begin_frame(f, c, FT_STS_RUN, 0u, 0u);
    if (ft_goal_aim(f, c, t, &ft_sts_loop))
        f->id |= FT_STS_ID(0u, FT_STS_AIM, 0u, 0u);
}

#endif

/* Send a duty, clamped to the servo's duty limit. The rounding error is added
 * to the next duty. */
void ft_feetech_command(ft_frame *f, const ft_drive_config *c,
                        const ft_drive_target *t, float *carried)
{
    const float share = t->share, most = c->share;
    float wanted = (share == share ? share : 0.0f) + *carried, size;
    uint32_t steps;

#if FT_SERVO_LOOP
    aim(f, c, t);
    return;
#endif
    wanted = wanted > most ? most : wanted < -most ? -most : wanted;
    size = wanted < 0.0f ? -wanted : wanted;
    steps = (uint32_t)(size * FULL + HALF);
    size -= (float)steps / FULL;
    *carried = wanted < 0.0f ? -size : size;
    begin_frame(f, c, FT_STS_RUN, 0u, 0u);
    steps |= wanted < 0.0f && steps != 0u ? BACKWARDS : 0u;
    f->data[0] = (uint8_t)steps;
    f->data[1] = (uint8_t)(steps >> 8);
}

/* Switch the motor on with a duty of zero. */
void ft_feetech_enable(ft_frame *f, const ft_drive_config *c)
{
    begin_frame(f, c, (uint32_t)FT_STS_SWITCH | (uint32_t)FT_STS_RUN, 0u, 0u);
}

/* Switch the motor off. This also clears errors. */
void ft_feetech_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    (void)clear;
    begin_frame(f, c, FT_STS_SWITCH, 0u, 0u);
}

void ft_feetech_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                    uint32_t size)
{
    begin_frame(f, c, 0u, number & 0xFFu, size);
}

void ft_feetech_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                      uint32_t size, uint32_t value)
{
    begin_frame(f, c, FT_STS_SET, number, size);
    f->data[2] = (uint8_t)value;
    f->data[3] = (uint8_t)(value >> 8);
}

/* Wake a silent servo. New servos delay each answer, so the last answers would
 * collide with the next tick's packets. In the first tick the board asks
 * nothing. The second tick sets the lock, so that a power loss erases later
 * settings. The third tick sets the return delay to 0. */
void ft_feetech_wake(ft_frame *f, const ft_drive_config *c, uint32_t phase)
{
    if (phase >= WAKE_TICKS)
        return;
    if (phase == 1u)
        ft_feetech_write(f, c, LOCK, 1u, 1u);
    if (phase == 2u)
        ft_feetech_write(f, c, DELAY, 1u, 0u);
    f->id |= FT_STS_ID(0u, FT_STS_QUIET, 0u, 0u);
}

/* In some ticks, read the motor's switch instead of the state. The state does
 * not say whether the motor is on. After a power loss a servo with a position
 * loop has its stored gains. Its motor may be on, so read the gains in turn
 * with the switch. */
void ft_feetech_look(ft_frame *f, uint32_t tick, bool enabled)
{
    if (tick % (enabled ? LOOK_TICKS : 2u) != 0u)
        return;
#if FT_SERVO_LOOP
    if (enabled && tick / LOOK_TICKS % 2u != 0u) {
        f->id |= FT_STS_ID(0u, 0u, GAINS, 2u);
        return;
    }
#endif
    f->id |= FT_STS_ID(0u, 0u, FT_STS_TORQUE, 1u);
}

static uint32_t two(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

/* Read a state from a frame: position, speed, load, voltage, temperature. A
 * servo can be configured to report several turns, so the function reduces the
 * position to one turn. */
static ft_drive_heard state(const ft_frame *f, ft_drive_said *said)
{
    const uint32_t told = two(f->data), counts = told & ~NEGATIVE;

    said->position = ((told & NEGATIVE) != 0u ? 0u - counts : counts)
                     % TURN;
    said->torque = 0.0f;
    said->velocity = 0.0f;
    said->enabled = (f->id & FT_STS_IS_ON) != 0u;
    said->error = (uint8_t)FT_STS_MEANT(f->id);
    said->volts = f->data[6];
    said->warmth = f->data[7];
    return FT_HEARD_STATE;
}

ft_drive_heard ft_feetech_hear(const ft_frame *f, const ft_drive_config *c,
                               ft_drive_said *said)
{
    if (FT_STS_SERVO(f->id) != c->id)
        return FT_HEARD_NOTHING;
    if (FT_STS_NUMBER(f->id) == (uint32_t)FT_STS_STATE)
        return state(f, said);
    said->setting = FT_STS_NUMBER(f->id);
    if (said->setting == 0u)
        said->setting = FT_FEETECH_FIRMWARE;
    said->value = f->size > 1u ? two(f->data) : f->data[0];
    said->rests = FT_STS_NUMBER(f->id) == (uint32_t)FT_STS_TORQUE
                  && said->value == 0u;
    return FT_HEARD_SETTING;
}

#endif
