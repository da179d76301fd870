/* What is said to each family of drives; see ft_dialect.h. */
#include "ft_dialect.h"

#if FT_BUS_DRIVES > 0

#include "ft_cheetah.h"   /* ft_cheetah_... */
#include "ft_damiao.h"    /* ft_damiao_... */
#include "ft_feetech.h"   /* ft_feetech_... */
#include "ft_field.h"     /* FT_FIELD_16 */
#include "ft_robstride.h" /* ft_robstride_... */

#include <string.h> /* memcpy */

/* What a step is about. PLACE: the position without a scale, which shows
 * whether that of the states is the file's. BYTE_OURS, OCTET, WORD: of a servo,
 * one byte that is ours to say, one and two that are not. */
typedef enum { POSITION, VELOCITY, TORQUE, MODE, WATCHDOG, FIRMWARE, PLACE,
               BYTE_OURS, OCTET, WORD } subject;

typedef struct {
    uint16_t number; /* the drive's */
    uint16_t about;  /* subject */
} step_row;

#define ALIKE 1e-4f   /* of a range */
#define NEAR 0.02f    /* rad, of a drive that may be moved by hand */
#define BYTE 0xFFu

#if FT_DRIVE_DAMIAO
#define DAMIAO_MIT 1u /* its mode that takes torques */

/* The host is told the answer to the last. */
static const step_row damiao[] = {
    { FT_DAMIAO_POSITION, POSITION },
    { FT_DAMIAO_VELOCITY, VELOCITY },
    { FT_DAMIAO_TORQUE, TORQUE },
    { FT_DAMIAO_MODE, MODE },
    { FT_DAMIAO_TIMEOUT, WATCHDOG },
    { FT_DAMIAO_FIRMWARE, FIRMWARE },
};
#endif

#if FT_DRIVE_ROBSTRIDE
static const step_row robstride[] = {
    { FT_ROBSTRIDE_MODE, MODE },
    { FT_ROBSTRIDE_POSITION, PLACE },
    { FT_ROBSTRIDE_TIMEOUT, WATCHDOG },
};
#endif

#if FT_DRIVE_FEETECH
#define WAKE_TICKS 3u
#define LOOK_TICKS 8u  /* between looks whether a motor is still on */
#define FEETECH_PWM 2u /* its mode that takes duties */

/* What is written after the lock is forgotten without power. The host is told
 * the answer to the last. */
static const step_row feetech[] = {
    { FT_FEETECH_LOCK, BYTE_OURS },
    { FT_FEETECH_MODEL, WORD },
    { FT_FEETECH_MODE, BYTE_OURS },
    { FT_FEETECH_DELAY, BYTE_OURS },
    { FT_FEETECH_LEAST, WORD },
    { FT_FEETECH_MOST, WORD },
    { FT_FEETECH_FACTOR, OCTET },
    { FT_FEETECH_OFFSET, WORD },
    { FT_FEETECH_LIMIT, WORD },
    { FT_FEETECH_FIRMWARE, WORD },
};
#endif

#if FT_DRIVE_MINI_CHEETAH
#define RELEASE_TICKS 8u /* between commands of nothing */
#endif

static const step_row none[] = { { 0, 0 } };

/* Of one family alone a drive need not be looked up. */
#define CHEETAHS (FT_DRIVE_CUBEMARS || FT_DRIVE_MINI_CHEETAH)
#define ALONE (FT_DRIVE_DAMIAO + FT_DRIVE_ROBSTRIDE + FT_DRIVE_CUBEMARS \
               + FT_DRIVE_MINI_CHEETAH + FT_DRIVE_FEETECH == 1)
#define IS(i, name) \
    (ALONE ? FT_DRIVE_##name != 0 \
           : ft_drive[i].family == (uint32_t)FT_FAMILY_##name)
#define IS_DAMIAO(i) IS(i, DAMIAO)
#define IS_ROBSTRIDE(i) IS(i, ROBSTRIDE)
#define IS_CUBEMARS(i) IS(i, CUBEMARS)
#define IS_FEETECH(i) IS(i, FEETECH)
#define IS_CHEETAH(i) (IS_CUBEMARS(i) || IS(i, MINI_CHEETAH))

static ft_drive_address address(uint32_t i)
{
    const ft_drive_address a = { ft_drive[i].id, ft_drive[i].reply };

    return a;
}

static ft_drive_ranges ranges(uint32_t i)
{
    const ft_drive_config *c = &ft_drive[i];
    const ft_drive_ranges r = { c->position, c->velocity, c->torque, c->kp,
                                c->kd };

    return r;
}

/* ---- what they tell ------------------------------------------------------ */

bool ft_dialect_tells(uint32_t i)
{
    (void)i;
    return !IS_CHEETAH(i);
}

bool ft_dialect_tells_velocity(uint32_t i)
{
    (void)i;
    return IS_DAMIAO(i) || IS_FEETECH(i);
}

/* ---- commands ---------------------------------------------------------- */

void ft_dialect_enable(uint32_t i, ft_frame *f)
{
    const ft_drive_address a = address(i);

#if FT_DRIVE_DAMIAO
    if (IS_DAMIAO(i))
        ft_damiao_special(f, &a, FT_DAMIAO_ENABLE);
#endif
#if FT_DRIVE_ROBSTRIDE
    if (IS_ROBSTRIDE(i))
        ft_robstride_enable(f, &a);
#endif
#if CHEETAHS
    if (IS_CHEETAH(i))
        ft_cheetah_special(f, &a, FT_CHEETAH_ENTER);
#endif
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        ft_feetech_switch(f, &a, true);
#endif
}

/* Disable, or clear errors, of a drive that is disabled. The mini-cheetah's
 * and CubeMars' know nothing but leaving their mode for both. */
void ft_dialect_disable(uint32_t i, bool clear, ft_frame *f)
{
    const ft_drive_address a = address(i);

    (void)clear;
#if FT_DRIVE_DAMIAO
    if (IS_DAMIAO(i))
        ft_damiao_special(f, &a, (uint8_t)(clear ? FT_DAMIAO_CLEAR
                                                 : FT_DAMIAO_DISABLE));
#endif
#if FT_DRIVE_ROBSTRIDE
    if (IS_ROBSTRIDE(i))
        ft_robstride_stop(f, &a, clear);
#endif
#if CHEETAHS
    if (IS_CHEETAH(i))
        ft_cheetah_special(f, &a, FT_CHEETAH_EXIT);
#endif
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        ft_feetech_switch(f, &a, false);
#endif
}

void ft_dialect_command(uint32_t i, const ft_drive_target *t, float *carried,
                        ft_frame *f)
{
    const ft_drive_address a = address(i);
    const ft_drive_ranges r = ranges(i);

    (void)r;
#if FT_DRIVE_DAMIAO
    if (IS_DAMIAO(i))
        ft_damiao_command(f, &a, &r, t, carried);
#endif
#if FT_DRIVE_ROBSTRIDE
    if (IS_ROBSTRIDE(i))
        ft_robstride_command(f, &a, &r, t, carried);
#endif
#if CHEETAHS
    if (IS_CHEETAH(i))
        ft_cheetah_command(f, &a, &r, t, carried);
#endif
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        ft_feetech_run(f, &a, t->share, ft_servo[i].limit, carried);
#endif
}

ft_drive_heard ft_dialect_hear(uint32_t i, const ft_frame *f,
                               ft_drive_said *said)
{
    const ft_drive_address a = address(i);
    const ft_drive_ranges r = ranges(i);
    ft_drive_heard heard = FT_HEARD_NOTHING;

    (void)r;
#if FT_DRIVE_DAMIAO
    if (IS_DAMIAO(i))
        heard = ft_damiao_hear(f, &a, &r, said);
#endif
#if FT_DRIVE_ROBSTRIDE
    if (IS_ROBSTRIDE(i))
        heard = ft_robstride_hear(f, &a, &r, said);
#endif
#if CHEETAHS
    if (IS_CHEETAH(i))
        heard = ft_cheetah_hear(f, &a, &r, IS_CUBEMARS(i), said);
#endif
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        heard = ft_feetech_hear(f, &a, said);
#endif
    return heard;
}

/* ---- settings ---------------------------------------------------------- */

/* Return a family's steps, and how many. */
static const step_row *steps(uint32_t i, uint32_t *count)
{
    (void)i;
#if FT_DRIVE_DAMIAO
    if (IS_DAMIAO(i)) {
        *count = (uint32_t)(sizeof damiao / sizeof damiao[0]);
        return damiao;
    }
#endif
#if FT_DRIVE_ROBSTRIDE
    if (IS_ROBSTRIDE(i)) {
        *count = (uint32_t)(sizeof robstride / sizeof robstride[0]);
        return robstride;
    }
#endif
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i)) {
        *count = (uint32_t)(sizeof feetech / sizeof feetech[0]);
        return feetech;
    }
#endif
    *count = 0u;
    return none;
}

uint32_t ft_dialect_steps(uint32_t i)
{
    uint32_t count;

    (void)steps(i, &count);
    return count;
}

uint32_t ft_dialect_again(uint32_t i)
{
    const step_row *row;
    uint32_t count, step = 0;

    for (row = steps(i, &count); step < count; step++)
        if (row[step].about == (uint16_t)PLACE)
            break;
    return step;
}

uint32_t ft_dialect_forgets(uint32_t i)
{
    const uint32_t count = ft_dialect_steps(i);
    uint32_t step;

    for (step = 0; step < count; step++)
        if (ft_dialect_writes(i, step))
            break;
    return step;
}

/* Ask for a setting. */
void ft_dialect_ask(uint32_t i, uint32_t step, ft_frame *f)
{
    const ft_drive_address a = address(i);
    uint32_t count;
    const step_row *row = steps(i, &count) + step;

    (void)a;
    (void)row;
    (void)f;
#if FT_DRIVE_DAMIAO
    if (IS_DAMIAO(i))
        ft_damiao_read(f, &a, (uint8_t)row->number);
#endif
#if FT_DRIVE_ROBSTRIDE
    if (IS_ROBSTRIDE(i))
        ft_robstride_read(f, &a, row->number);
#endif
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        ft_feetech_ask(f, &a, row->number,
                       row->about == (uint16_t)WORD ? 2u : 1u);
#endif
}

#if FT_DRIVE_FEETECH

/* Return what a servo's register must be; of the limits of its position the
 * one that it may be at most, and at least. */
static uint32_t of_servo(uint32_t i, uint32_t number)
{
    const ft_servo_config *c = &ft_servo[i];

    switch (number) {
    case FT_FEETECH_LOCK: return 1u;
    case FT_FEETECH_FACTOR: return 1u;
    case FT_FEETECH_MODEL: return c->model;
    case FT_FEETECH_MODE: return FEETECH_PWM;
    case FT_FEETECH_LEAST: return c->least;
    case FT_FEETECH_MOST: return c->most;
    case FT_FEETECH_OFFSET: return c->offset;
    case FT_FEETECH_LIMIT: return c->steps;
    case FT_FEETECH_FIRMWARE: return c->firmware;
    default: return 0u; /* its delay */
    }
}

/* Return whether a servo's register is as it must be. No limit is right, and
 * any firmware where the file names none. */
static bool servo_right(uint32_t i, uint32_t number, uint32_t value)
{
    const uint32_t wanted = of_servo(i, number);

    if (number == (uint32_t)FT_FEETECH_LEAST)
        return value <= wanted;
    if (number == (uint32_t)FT_FEETECH_MOST)
        return value == 0u || value >= wanted;
    if (number == (uint32_t)FT_FEETECH_FIRMWARE && wanted == 0u)
        return true;
    return value == wanted;
}

#endif

/* Return whether a setting is the file's to say: the time without a command
 * after which the drive stops by itself; of a servo how it works until its
 * power is gone. */
bool ft_dialect_writes(uint32_t i, uint32_t step)
{
    uint32_t count;
    const uint16_t about = steps(i, &count)[step].about;

    return about == (uint16_t)WATCHDOG || about == (uint16_t)BYTE_OURS;
}

void ft_dialect_write(uint32_t i, uint32_t step, ft_frame *f)
{
    const ft_drive_address a = address(i);
    uint32_t count, value = ft_drive[i].watchdog;
    const step_row *row = steps(i, &count) + step;

    (void)a;
    (void)row;
    (void)f;
    (void)value;
#if FT_DRIVE_DAMIAO
    if (IS_DAMIAO(i))
        ft_damiao_write(f, &a, (uint8_t)row->number, value);
#endif
#if FT_DRIVE_ROBSTRIDE
    if (IS_ROBSTRIDE(i))
        ft_robstride_write(f, &a, row->number, value);
#endif
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        ft_feetech_set(f, &a, row->number, 1u, of_servo(i, row->number));
#endif
}

/* Return whether two numbers are so near. */
static bool within(float a, float b, float most)
{
    return a - b <= most && b - a <= most;
}

/* Return whether a range is the file's, in the drive's own unit. */
static bool alike(uint32_t bits, float wanted)
{
    float told;

    memcpy(&told, &bits, sizeof told);
    return within(told, wanted, ALIKE * wanted);
}

/* Return whether a position without a scale is the same place. */
static bool there(uint32_t bits, float place)
{
    float told;

    memcpy(&told, &bits, sizeof told);
    return within(told, place, NEAR);
}

#if FT_DRIVE_DAMIAO

/* Return whether a drive's firmware is the file's, which may name none. */
static bool as_pinned(uint32_t i, uint32_t version)
{
    const ft_damiao_config *c = &ft_damiao[i];

    return ((version ^ c->firmware) & c->matters) == 0u;
}

#endif

/* Return whether a setting is as it must be. */
static bool right(uint32_t i, uint32_t about, uint32_t value, float place)
{
    const ft_drive_config *c = &ft_drive[i];

    switch (about) {
    case POSITION: return alike(value, c->position * c->gear);
    case VELOCITY: return alike(value, c->velocity * c->gear);
    case TORQUE: return alike(value, c->torque / c->gear);
#if FT_DRIVE_DAMIAO
    case MODE: return (value & BYTE) == (IS_DAMIAO(i) ? DAMIAO_MIT : 0u);
    case FIRMWARE: return as_pinned(i, value);
#else
    case MODE: return (value & BYTE) == 0u;
#endif
    case WATCHDOG: return value == c->watchdog;
    default: return there(value, place * c->gear);
    }
}

/* Judge an answer to the question of a step. */
ft_answer ft_dialect_judge(uint32_t i, uint32_t step,
                           const ft_drive_said *said, float place)
{
    uint32_t count;
    const step_row *row = steps(i, &count) + step;

    if (step >= count || said->setting != row->number)
        return FT_ANSWER_OTHER;
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        return servo_right(i, row->number, said->value) ? FT_ANSWER_RIGHT
                                                        : FT_ANSWER_WRONG;
#endif
    return right(i, row->about, said->value, place) ? FT_ANSWER_RIGHT
                                                    : FT_ANSWER_WRONG;
}

/* ---- places ------------------------------------------------------------ */

#if FT_DRIVE_FEETECH

/* Return counts within half a turn. */
static int32_t wrapped(uint32_t counts)
{
    const uint32_t half = FT_FEETECH_TURN / 2u;

    return (int32_t)((counts + half) % FT_FEETECH_TURN) - (int32_t)half;
}

#endif

int32_t ft_dialect_halves(uint32_t i, uint32_t position)
{
    (void)i;
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        return 2 * wrapped(position - ft_servo[i].zero);
#endif
    return 2 * (int32_t)position - (int32_t)FT_FIELD_16 - ft_drive[i].zero;
}

int32_t ft_dialect_went(uint32_t i, int32_t from, uint32_t to)
{
    (void)i;
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i))
        return wrapped(to - (uint32_t)from);
#endif
    return (int32_t)to - from;
}

/* Servos come with a delay before each answer, of which the last ones' fall
 * into the next tick's packets. The wire is left quiet for a tick, in the next
 * ones they are told to forget what they are told without power, and to
 * answer at once. */
void ft_dialect_wake(uint32_t i, uint32_t phase, ft_frame *f)
{
    (void)i;
    (void)phase;
    (void)f;
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i) && phase < WAKE_TICKS) {
        const ft_drive_address a = address(i);

        if (phase == 1u)
            ft_feetech_set(f, &a, FT_FEETECH_LOCK, 1u, 1u);
        if (phase == 2u)
            ft_feetech_set(f, &a, FT_FEETECH_DELAY, 1u, 0u);
        ft_feetech_quiet(f);
    }
#endif
}

/* The mini-cheetah's early firmware stops commutating without commands, and
 * leaves its mode only with little current, which it measures while it
 * commutates. */
void ft_dialect_release(uint32_t i, uint32_t tick, ft_frame *f)
{
    (void)i;
    (void)tick;
    (void)f;
#if FT_DRIVE_MINI_CHEETAH
    if (IS(i, MINI_CHEETAH) && tick % RELEASE_TICKS == 0u) {
        const ft_drive_target nothing = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };
        float carried = 0.0f;

        ft_dialect_command(i, &nothing, &carried, f);
    }
#endif
}

/* Servos tell with their state what ails them, but not whether they are on. */
void ft_dialect_look(uint32_t i, uint32_t tick, bool enabled, ft_frame *f)
{
    (void)i;
    (void)tick;
    (void)enabled;
    (void)f;
#if FT_DRIVE_FEETECH
    if (IS_FEETECH(i) && tick % (enabled ? LOOK_TICKS : 2u) == 0u)
        ft_feetech_guard(f);
#endif
}

#endif
