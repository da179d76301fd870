/* A silent host. The proof draws the conclusion from the theorems about each
 * part. */
#include "exhaust.h"

#include "ft_config.c"

/* Return the largest number of ticks until a jog stands. In each tick a jog
 * loses at least half of its ramp's step. */
static uint32_t stand(const ft_lab_config *c)
{
    const double half = 0.5 * (double)c->velocity_step;

    return (uint32_t)ceil((double)c->jog_velocity / half) + 1u;
}

/* Silence of the host ends in rest. The figures count the ticks from the last
 * tick with the host until a motion rests, at any pace, and until a jog rests,
 * at any velocity. Motion and jog rest before FT_HOST_LOST, after which an arm
 * at rest goes to FAULT.
 * Assumes: silence_counted, for the ticks of silence; silence_stops, which
 * stops a motion and a jog, and brings all other modes to rest at once;
 * motion_tick and pace_stops, for a motion that rests within 3 FT_RAMP ticks;
 * jog_slows, likewise for a jog; silence_ends, for FAULT; and that every tick
 * comes.
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
