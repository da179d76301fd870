/* Thermal models of motors and drivers; see ft_watch.h. */
#include "ft_watch.h"

#include "ft_config.h"   /* ft_heat */
#include "ft_findings.h" /* FT_GOOD */

#define TOO_WARM 1.02f /* steady state at the continuous current is 1 */
#define COOL 0.9f      /* limit after an overload */

static struct {
    uint32_t tick; /* of the last round */
    float heat[FT_HEATS];
    bool over[FT_HEATS];
} warm;

/* Update one row's heat. While the outputs are off the torque is 0. */
static void follow(uint32_t i, ft_real torque, uint32_t ticks)
{
    const ft_heat_config *c = &ft_heat[i];
    float amps = (float)torque * c->per_torque;
    float share = c->share * (float)ticks;

    if (share > 1.0f)
        share = 1.0f;
    warm.heat[i] += share * (amps * amps - warm.heat[i]);
    warm.over[i] = warm.heat[i] > (warm.over[i] ? COOL : TOO_WARM);
}

/* Update all rows. */
uint32_t ft_heat_idle(uint32_t tick, const ft_real torque[FT_JOINTS])
{
    uint32_t i, joint = FT_GOOD;

    for (i = FT_HEATS; i-- > 0u;) {
        follow(i, torque[ft_heat[i].joint], tick - warm.tick);
        if (warm.over[i])
            joint = ft_heat[i].joint;
    }
    warm.tick = tick;
    return joint;
}
