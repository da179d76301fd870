/* Drives by their rows; see ft_dialect.h. */
#include "ft_dialect.h"

#if FT_BUS_DRIVES > 0

#include "ft_families.h" /* ft_family_... */

#include <string.h> /* memcpy */

#define ALIKE 1e-4f   /* of a range */
#define NEAR 0.02f    /* rad, of a drive that may be moved by hand */

/* ---- reports ----------------------------------------------------------- */

bool ft_dialect_tells(uint32_t i)
{
    return ft_family_tells(i);
}

bool ft_dialect_velocity_known(uint32_t i)
{
    return ft_family_velocity_known(i);
}

bool ft_dialect_polled(uint32_t i)
{
    return ft_family_polled(i);
}

/* ---- commands ---------------------------------------------------------- */

void ft_dialect_enable(uint32_t i, ft_frame *f)
{
    ft_family_enable(i, f, &ft_drive[i]);
}

void ft_dialect_disable(uint32_t i, bool clear, ft_frame *f)
{
    ft_family_disable(i, f, &ft_drive[i], clear);
}

void ft_dialect_command(uint32_t i, const ft_drive_target *t, float *carried,
                        ft_frame *f)
{
    ft_family_command(i, f, &ft_drive[i], t, carried);
}

void ft_dialect_poll(uint32_t i, ft_frame *f)
{
    ft_family_poll(i, f, &ft_drive[i]);
}

ft_drive_heard ft_dialect_hear(uint32_t i, const ft_frame *f,
                               ft_drive_said *said)
{
    return ft_family_hear(i, f, &ft_drive[i], said);
}

/* ---- settings ---------------------------------------------------------- */

uint32_t ft_dialect_steps(uint32_t i)
{
    return FT_SETTINGS > 0 ? ft_drive[i].steps : 0u;
}

uint32_t ft_dialect_again(uint32_t i)
{
    return FT_SETTINGS > 0 ? ft_drive[i].again : 0u;
}

uint32_t ft_dialect_forgets(uint32_t i)
{
    return FT_SETTINGS > 0 ? ft_drive[i].forgets : 0u;
}

#if FT_SETTINGS > 0

/* Return the row of a drive's setting. */
static const ft_setting_config *row_of(uint32_t i, uint32_t step)
{
    return &ft_setting[ft_drive[i].settings + step];
}

void ft_dialect_ask(uint32_t i, uint32_t step, ft_frame *f)
{
    const ft_setting_config *s = row_of(i, step);

    ft_family_ask(i, f, &ft_drive[i], s->number, s->size);
}

bool ft_dialect_writes(uint32_t i, uint32_t step)
{
    return row_of(i, step)->writes != 0u;
}

void ft_dialect_write(uint32_t i, uint32_t step, ft_frame *f)
{
    const ft_setting_config *s = row_of(i, step);

    ft_family_write(i, f, &ft_drive[i], s->number, s->size, s->value);
}

static float as_float(uint32_t bits)
{
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Return whether two numbers differ by no more than that. */
static bool within(float a, float b, float most)
{
    return a - b <= most && b - a <= most;
}

/* Return whether a setting is right. place: of the joint by the drive's own
 * states, rad. */
static bool right(const ft_setting_config *s, uint32_t value, float place)
{
    switch (s->rule) {
    case FT_RULE_ALIKE: /* of a range, in the drive's own unit */
        return within(as_float(value), as_float(s->value),
                      ALIKE * as_float(s->value));
    case FT_RULE_PLACE: return within(as_float(value), place, NEAR);
    case FT_RULE_AT_MOST: return value <= s->value;
    case FT_RULE_AT_LEAST: return value == 0u || value >= s->value;
    default: return ((value ^ s->value) & s->mask) == 0u;
    }
}

/* Judge an answer to the question of a step. */
ft_answer ft_dialect_judge(uint32_t i, uint32_t step,
                           const ft_drive_said *said, float place)
{
    if (step >= ft_dialect_steps(i)
        || said->setting != row_of(i, step)->number)
        return FT_ANSWER_OTHER;
    return right(row_of(i, step), said->value, place * ft_drive[i].gear)
               ? FT_ANSWER_RIGHT : FT_ANSWER_WRONG;
}

#else

/* No drive has settings: this is never called. */
void ft_dialect_ask(uint32_t i, uint32_t step, ft_frame *f)
{
    (void)i;
    (void)step;
    (void)f;
}

bool ft_dialect_writes(uint32_t i, uint32_t step)
{
    (void)i;
    (void)step;
    return false;
}

void ft_dialect_write(uint32_t i, uint32_t step, ft_frame *f)
{
    (void)i;
    (void)step;
    (void)f;
}

ft_answer ft_dialect_judge(uint32_t i, uint32_t step,
                           const ft_drive_said *said, float place)
{
    (void)i;
    (void)step;
    (void)said;
    (void)place;
    return FT_ANSWER_OTHER;
}

#endif

/* ---- places ------------------------------------------------------------ */

/* Return counts within half a turn. */
static int32_t wrapped(int32_t counts, int32_t turn)
{
    const int32_t rest = counts % turn;

    if (rest >= turn - turn / 2)
        return rest - turn;
    return rest < -(turn / 2) ? rest + turn : rest;
}

float ft_dialect_place(uint32_t i, int32_t position)
{
    const ft_drive_config *c = &ft_drive[i];

    return (float)position * c->step
           - (ft_family_counts(i) ? 0.0f : c->position);
}

int64_t ft_dialect_halves(uint32_t i, uint32_t position)
{
    const ft_drive_config *c = &ft_drive[i];

    if (ft_family_wraps(i))
        return 2 * (int64_t)wrapped((int32_t)position - c->zero / 2, c->wraps);
    return 2 * (int64_t)(int32_t)position - (int64_t)c->top - c->zero;
}

int32_t ft_dialect_went(uint32_t i, int32_t from, uint32_t to)
{
    const int32_t went = (int32_t)(to - (uint32_t)from);

    return ft_family_wraps(i) ? wrapped(went, ft_drive[i].wraps) : went;
}

/* ---- beside the usual --------------------------------------------------- */

void ft_dialect_wake(uint32_t i, uint32_t phase, ft_frame *f)
{
    ft_family_wake(i, f, &ft_drive[i], phase);
}

void ft_dialect_release(uint32_t i, uint32_t tick, ft_frame *f)
{
    ft_family_release(i, f, &ft_drive[i], tick);
}

void ft_dialect_look(uint32_t i, uint32_t tick, bool enabled, ft_frame *f)
{
    ft_family_look(i, f, tick, enabled);
}

#endif
