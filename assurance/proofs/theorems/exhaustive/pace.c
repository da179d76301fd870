/* The pace of path time (0 to 1), control/ft_pace.c. The proof checks every
 * pace that slowing down and speeding up can reach. */
#include "exhaust.h"

#include "ft_pace.c"

#define SLOPES (2 * FT_RAMP + 3)
#define STATES ((size_t)(FT_HALF_ONE + 1) * SLOPES)

static bool seen[STATES];
static ft_pace known[STATES];
static size_t count;

/* Record a reachable pace, and check its bounds. */
static void reach(ft_pace p)
{
    size_t i;

    CLAIM(p.half >= 0 && p.half <= FT_HALF_ONE);
    CLAIM(p.slope >= -FT_RAMP - 1 && p.slope <= FT_RAMP + 1);
    i = (size_t)p.half * SLOPES + (size_t)(p.slope + FT_RAMP + 1);
    if (!seen[i])
        known[count++] = p;
    seen[i] = true;
}

/* Find all reachable paces, from full pace and from rest. */
static void reach_all(void)
{
    const ft_pace one = { FT_HALF_ONE, 0 }, rest = { 0, 0 };
    size_t i;

    reach(one);
    reach(rest);
    for (i = 0; i < count; i++) {
        reach(ft_pace_brake(known[i]));
        reach(ft_pace_run(known[i]));
    }
}

/* From every reachable pace, slowing down reaches rest, with slope 0, within 3
 * FT_RAMP ticks. The slope changes by at most one unit a tick. The length of
 * path played during this time is at most ft_pace_stop_length(). Speeding up
 * also reaches pace 1 within 3 FT_RAMP ticks.
 * Run: exhaust seconds=900 */
void prove_pace_stops(void)
{
    uint32_t longest = 0;
    size_t i;

    reach_all();
    for (i = 0; i < count; i++) {
        ft_pace p = known[i], q = p;
        uint64_t played = 0;
        uint32_t ticks;

        for (ticks = 0; p.half != 0 || p.slope != 0; ticks++) {
            const ft_pace next = ft_pace_brake(p);

            CLAIM(ticks < 3 * FT_RAMP);
            CLAIM(abs(next.slope - p.slope) <= 1);
            played += (uint64_t)(p.half + next.half);
            p = next;
        }
        CLAIM(played <= ft_pace_stop_length(known[i]));
        longest = ticks > longest ? ticks : longest;
        for (ticks = 0; q.half != FT_HALF_ONE || q.slope != 0; ticks++) {
            CLAIM(ticks < 3 * FT_RAMP);
            q = ft_pace_run(q);
        }
    }
    NOTE("%zu paces; the longest stop takes %u ticks", count, longest);
    END;
}
