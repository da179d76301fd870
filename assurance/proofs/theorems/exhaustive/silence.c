/* The effect of a silent host. The proof combines the theorems about each
 * module. */
#include "exhaust.h"

#include "ft_config.c"

/* Return the maximum number of ticks until a jog has stopped. In each tick a
 * jog slows down by at least half of its ramp's step. */
static uint32_t stand(const ft_lab_config *c)
{
    const double half = 0.5 * (double)c->velocity_step;

    return (uint32_t)ceil((double)c->jog_velocity / half) + 1u;
}

/* If the host falls silent, every motion comes to rest. The figures are the
 * numbers of ticks from the last message of the host until a motion is at rest,
 * for any pace, and until a jog is at rest, for any velocity. A motion and a
 * jog come to rest before FT_HOST_LOST ticks. After this time an arm at rest
 * goes to FAULT, HELD or ESTOP.
 * Assumes: silence_counted, for the ticks of silence; silence_stops, which
 * stops a motion and a jog, and stops all other modes immediately; motion_tick
 * and pace_stops, for a motion that is at rest within 3 FT_RAMP ticks;
 * jog_slows, for a jog in the same way; silence_ends, for these three states;
 * and that no tick is missed.
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
