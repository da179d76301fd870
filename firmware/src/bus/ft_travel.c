/* Checks velocities against positions; see ft_travel.h. */
#include "ft_travel.h"

#include "ft_field.h" /* FT_FIELD_12 */
#include "ft_model.h" /* FT_TICK_HZ */

#define FAR 0.5f     /* angle after which the comparison is evaluated, rad */
#define LONG (2u * (uint32_t)FT_TICK_HZ) /* ticks of an abandoned comparison */
#define SOON ((uint32_t)FT_TICK_HZ / 4u) /* the same, while nothing moves */
#define STILL 0.05f  /* largest displacement without motion, rad */
#define SHARE 0.1f   /* allowed relative difference */
#define LAG 0.02f    /* largest delay of reported velocities, s */
#define MOST 16.0f   /* largest factor relative to the file's range */

static float size(float x)
{
    return x < 0.0f ? -x : x;
}

void ft_travel_forget(ft_travel *t)
{
    t->begun = false;
    t->wrong = false;
}

/* Begin a comparison. */
static void begin(ft_travel *t, uint32_t position, float velocity)
{
    t->begun = true;
    t->ticks = 0;
    t->position = position;
    t->first = velocity;
    t->velocity = velocity;
    t->went = 0.0f;
    t->away = 0.0f;
}

/* Return the allowed difference of the displacements: LAG times the change of
 * the velocity, plus half a field step of truncation times the duration. */
static float allowed(const ft_travel *t, float range)
{
    const float trailing = LAG * size(t->velocity - t->first);
    const float truncated = range / (float)FT_FIELD_12 * (float)t->ticks
                            / (float)FT_TICK_HZ;

    return SHARE * size(t->away) + trailing + truncated;
}

/* Return the velocity range for which the two displacements would agree. */
static float seeming(const ft_travel *t, float range)
{
    if (size(t->away) >= MOST * size(t->went))
        return MOST * range;
    return size(range * t->away / t->went);
}

/* Evaluate the comparison, since the joint has moved far enough. */
static void judge(ft_travel *t, float range)
{
    t->wrong = size(t->went - t->away) > allowed(t, range);
    t->range = seeming(t, range);
    t->begun = false;
}

/* Return the ticks after which a comparison is abandoned: few while nothing
 * moves, so that the next one contains the start of a motion. */
static uint32_t patience(const ft_travel *t)
{
    return size(t->away) < STILL ? SOON : LONG;
}

void ft_travel_tick(ft_travel *t, bool answered, uint32_t position,
                    float velocity, float step, float range)
{
    if (!t->begun) {
        if (answered)
            begin(t, position, velocity);
        return;
    }
    if (answered) {
        t->went += 0.5f * (t->velocity + velocity) / (float)FT_TICK_HZ;
        t->away += step * (float)(int32_t)(position - t->position);
        t->velocity = velocity;
        t->position = position;
    } else
        t->went += t->velocity / (float)FT_TICK_HZ;
    if (++t->ticks > patience(t))
        t->begun = false;
    else if (answered && size(t->away) > FAR)
        judge(t, range);
}
