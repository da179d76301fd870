/* A host that is not heard any more: what follows of the theorems about each
 * part. */
#include "exhaust.h"

#include "ft_config.c"

/* Return the ticks that a jog takes to stand, at most: in each it is slower by
 * half of its ramp's step at least. */
static uint32_t stand(const ft_lab_config *c)
{
    const double half = 0.5 * (double)c->velocity_step;

    return (uint32_t)ceil((double)c->jog_velocity / half) + 1u;
}

/* Silence of the host ends in rest. From the tick in which the host was heard
 * last a motion rests after as many ticks as the figure says, whatever pace it
 * has when silence is noticed, and so does a jog, whatever its velocity. Both
 * rest before FT_HOST_LOST, after which an arm at rest goes to FAULT.
 * Assumes: silence_counted, for how long the host has been silent;
 * silence_stops, that then a motion and a jog are stopped, and all else rests
 * at once; motion_tick and pace_stops, that a motion that is stopped rests
 * within 3 FT_RAMP ticks; jog_slows, the same of a jog; silence_ends, that
 * FAULT follows; and that every tick comes.
 * Run: exhaust */
void prove_silence_rests(void)
{
    const uint32_t noticed = (uint32_t)FT_HOST_TIMEOUT + 1u;
    const uint32_t motion = noticed + 3u * FT_RAMP;
    uint32_t jog = 0, j;

    for (j = 0; j < FT_JOINTS; j++) {
        const uint32_t ticks = noticed + stand(&ft_lab_joint[j]);

        jog = ticks > jog ? ticks : jog;
    }
    CLAIM(motion < (uint32_t)FT_HOST_LOST);
    CLAIM(jog < (uint32_t)FT_HOST_LOST);
    NOTE("a motion rests after %u ticks at most, a jog after %u, FAULT after %u",
         motion, jog, (uint32_t)FT_HOST_LOST + 2u);
    END;
}
