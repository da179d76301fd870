/* Cut-off of the servos' supply; see ft_cutoff.h. */
#include "ft_cutoff.h"

#if FT_WIRES > 0 && FT_CUTOFF

#include "ft_messages.h" /* FT_STATE_ */

bool ft_cutoff_tick(ft_cutoff *c, bool doubted, uint32_t state)
{
    const bool stopped = state == FT_STATE_ESTOP || state == FT_STATE_LEAVING;

    c->doubt = c->on && doubted ? c->doubt + 1u : 0u;
    if (stopped || c->doubt > FT_CUTOFF_TICKS)
        c->on = false;
    else if (!c->on && state == FT_STATE_DISARMED)
        c->on = c->dark >= FT_CUTOFF_DARK;
    if (c->on)
        c->dark = 0;
    else {
        c->doubt = 0;
        c->dark += c->dark < FT_CUTOFF_DARK ? 1u : 0u;
    }
    return c->on;
}

#endif
