/* Dynamixel X servos; see ft_dynamixel.h. */
#include "ft_dynamixel.h"

#include "ft_dxl.h" /* FT_DXL_... */

#if FT_WIRES > 0

#include <string.h> /* memset */

#define FULL 885.0f      /* of a duty */
#define HALF 0.5f        /* of a step */
#define TURN 4096u       /* counts */
#define UNIT 0.0239808f  /* resolution of the velocity, rad/s: 0.229 rpm */
#define LOOK_TICKS 8u    /* ticks between checks that a motor is still on */
#define WAKE_TICKS 8u    /* ticks between attempts to wake a silent servo */
#define WAKES 64u        /* ticks of each round in which the board tries to wake
                          * a servo */

enum { SIZE = 5 };  /* bytes of a frame to a servo */
enum { GAIN = 84 }; /* register */

/* Begin a frame. */
static void begin_frame(ft_frame *f, const ft_drive_config *c, uint32_t meant,
                        uint32_t number, uint32_t size)
{
    f->id = FT_DXL_ID(c->id, meant, number, size);
    f->size = SIZE;
    memset(f->data, 0, sizeof f->data);
    f->data[FT_DXL_GOAL] = c->scale > 0.0f ? FT_DXL_CURRENT : FT_DXL_DUTY;
}

/* Return the goal in steps: a current for torque and damping, or a duty. */
static float steps_of(const ft_drive_config *c, const ft_drive_target *t)
{
    if (!(c->scale > 0.0f))
        return FULL * t->share;
    return c->scale * (t->torque + t->kd * (t->velocity - t->seen));
}

#if FT_SERVO_LOOP

/* Send a goal position. */
static void aim(ft_frame *f, const ft_drive_config *c,
                const ft_drive_target *t)
{
    begin_frame(f, c, FT_DXL_RUN, 0u, 0u);
    if (ft_goal_aim(f, c, t, &ft_dxl_loop))
        f->id |= FT_DXL_ID(0u, FT_DXL_AIM, 0u, 0u);
}

#endif

/* Send a goal, clamped to the servo's limit. The rounding error is added to the
 * next goal. */
void ft_dynamixel_command(ft_frame *f, const ft_drive_config *c,
                          const ft_drive_target *t, float *carried)
{
    const float most = c->scale > 0.0f ? c->share : FULL * c->share;
    const float asked = steps_of(c, t);
    float wanted = (asked == asked ? asked : 0.0f) + *carried, size;
    uint32_t steps;

#if FT_SERVO_LOOP
    aim(f, c, t);
    return;
#endif
    wanted = wanted > most ? most : wanted < -most ? -most : wanted;
    size = wanted < 0.0f ? -wanted : wanted;
    steps = (uint32_t)(size + HALF);
    size -= (float)steps;
    *carried = wanted < 0.0f ? -size : size;
    begin_frame(f, c, FT_DXL_RUN, 0u, 0u);
    steps = wanted < 0.0f ? 0u - steps : steps;
    f->data[0] = (uint8_t)steps;
    f->data[1] = (uint8_t)(steps >> 8);
}

/* Switch the motor on. The frame contains no goal. */
void ft_dynamixel_enable(ft_frame *f, const ft_drive_config *c)
{
    begin_frame(f, c, (uint32_t)FT_DXL_SWITCH | (uint32_t)FT_DXL_RUN, 0u, 0u);
}

/* Switch the motor off. clear: instead, reboot the servo, because only a reboot
 * clears errors. */
void ft_dynamixel_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    begin_frame(f, c, clear ? FT_DXL_REBOOT : FT_DXL_SWITCH, 0u, 0u);
}

void ft_dynamixel_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                      uint32_t size)
{
    begin_frame(f, c, 0u, number & 0xFFu, size);
}

void ft_dynamixel_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                        uint32_t size, uint32_t value)
{
    begin_frame(f, c, FT_DXL_SET, number & 0xFFu, size);
    f->data[0] = (uint8_t)value;
    f->data[1] = (uint8_t)(value >> 8);
    f->data[2] = (uint8_t)(value >> 16);
    f->data[3] = (uint8_t)(value >> 24);
}

/* Wake a silent servo. New servos delay each answer. With many servos the last
 * answers would collide with the next tick's packets. In some ticks the board
 * therefore asks the silent servo alone. In the remaining ticks the board asks
 * all servos, because the answer may only have been disturbed. */
void ft_dynamixel_wake(ft_frame *f, const ft_drive_config *c, uint32_t phase)
{
    if (phase % WAKE_TICKS == 0u && phase < WAKES)
        begin_frame(f, c, FT_DXL_LATE, 0u, 0u);
}

/* In some ticks, read the motor's switch and the errors instead of the state.
 * The state does not say whether the motor is on. After a power
 * loss a servo with a position loop has the maker's gain. Its motor may be on,
 * so read the gain in turn with the switch. */
void ft_dynamixel_look(ft_frame *f, uint32_t tick, bool enabled)
{
    if (tick % (enabled ? LOOK_TICKS : 2u) != 0u)
        return;
#if FT_SERVO_LOOP
    if (enabled && tick / LOOK_TICKS % 2u != 0u) {
        f->id |= FT_DXL_ID(0u, 0u, GAIN, 2u);
        return;
    }
#endif
    f->id |= FT_DXL_ID(0u, 0u, FT_DXL_TORQUE, FT_DXL_TORQUE_SIZE);
}

static uint32_t pair(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

/* Return a signed number of 16 bits. */
static float real(const uint8_t *data)
{
    const int32_t bits = (int32_t)pair(data);

    return (float)(bits < 0x8000 ? bits : bits - 0x10000);
}

/* Read a state from a frame: position, velocity, current, voltage, temperature.
 * The number of whole turns is not known after power-up, so the function drops
 * it. */
static ft_drive_heard state(const ft_frame *f, const ft_drive_config *c,
                            ft_drive_said *said)
{
    said->position = pair(f->data) % TURN;
    said->velocity = UNIT * real(f->data + 2) / c->gear;
    said->torque = FT_SERVO_LOOP == 0 && c->scale > 0.0f
                       ? real(f->data + 4) / c->scale : 0.0f;
    said->enabled = (f->id & FT_DXL_IS_ON) != 0u;
    said->error = (uint8_t)FT_DXL_MEANT(f->id);
    said->volts = f->data[6];
    said->warmth = f->data[7];
    return FT_HEARD_STATE;
}

ft_drive_heard ft_dynamixel_hear(const ft_frame *f, const ft_drive_config *c,
                                 ft_drive_said *said)
{
    const uint32_t number = FT_DXL_NUMBER(f->id);
    uint32_t i;

    if (FT_DXL_SERVO(f->id) != c->id)
        return FT_HEARD_NOTHING;
    if (number == (uint32_t)FT_DXL_STATE)
        return state(f, c, said);
    said->setting = number != 0u ? number : FT_DYNAMIXEL_MODEL;
    said->value = 0;
    for (i = 4; i-- > 0u;)
        said->value = said->value << 8 | (i < f->size ? f->data[i] : 0u);
    said->rests = number == (uint32_t)FT_DXL_TORQUE && f->data[0] == 0u;
    return FT_HEARD_SETTING;
}

#endif
