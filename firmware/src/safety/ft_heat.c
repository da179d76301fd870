/* Motors and drivers that get warm; see ft_heat.h. */
#include "ft_heat.h"

#include "ft_config.h" /* ft_heat */
#include "ft_state.h"  /* ft */

#define TOO_WARM 1.02f /* the continuous current itself comes to 1 */
#define COOL 0.9f      /* again */

static struct {
    uint32_t tick; /* of the last round */
    float heat[FT_HEATS];
    bool over[FT_HEATS];
} warm;

/* Let one row's heat follow. Without outputs the torque is 0. */
static void follow(uint32_t i, uint32_t ticks)
{
    const ft_heat_config *c = &ft_heat[i];
    float amps = (float)ft.law.torque[c->joint] * c->per_torque;
    float share = c->share * (float)ticks;

    if (share > 1.0f)
        share = 1.0f;
    warm.heat[i] += share * (amps * amps - warm.heat[i]);
    warm.over[i] = warm.heat[i] > (warm.over[i] ? COOL : TOO_WARM);
}

/* One round. */
uint32_t ft_heat_idle(void)
{
    uint32_t i, tick = ft.tick, joint = FT_GOOD;

    for (i = FT_HEATS; i-- > 0u;) {
        follow(i, tick - warm.tick);
        if (warm.over[i])
            joint = ft_heat[i].joint;
    }
    warm.tick = tick;
    return joint;
}
