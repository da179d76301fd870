/* The supply of servos, bus/ft_cutoff.c.
 *
 * One invariant, well(), holds at the start, when all variables are zero. Every
 * tick keeps the invariant, for any servos and states. */
#include "proof.h"

#include "ft_config.h"
#include "ft_cutoff.c"

static ft_cutoff cut;

/* Return whether the supply keeps the invariant of every tick. */
static bool well(void)
{
    return cut.doubt <= FT_CUTOFF_TICKS && cut.dark <= FT_CUTOFF_DARK
           && (!cut.on || cut.dark == 0u) && (cut.on || cut.doubt == 0u);
}

/* Servos have no supply at the start, in ESTOP, before the change to the boot
 * loader, and after a servo's state has been unknown for more than
 * FT_CUTOFF_TICKS ticks. Each tick with an unknown state is counted. The supply
 * is switched on again only in DISARMED, after FT_CUTOFF_DARK counted ticks
 * without supply. While the state of every servo is known, the supply stays on,
 * except in ESTOP and before the change to the boot loader.
 * Run: mechanisms=sts:f405rg-6 */
void prove_cutoff_tick(void)
{
    const bool doubted = nondet_bool();
    const uint32_t state = nondet_u32();
    const bool stops = state == FT_STATE_ESTOP || state == FT_STATE_LEAVING;
    ft_cutoff before = { 0u, 0u, false };
    bool on;

    cut = before;
    CLAIM(well());
    ANYTHING(cut);
    GIVEN(well());
    before = cut;
    on = ft_cutoff_tick(&cut, doubted, state);
    CLAIM(well() && on == cut.on && (!on || !stops));
    CLAIM(!on || !before.on || !doubted || cut.doubt == before.doubt + 1u);
    CLAIM(!on || !before.on || !doubted || before.doubt < FT_CUTOFF_TICKS);
    CLAIM(before.on || !on
          || (state == FT_STATE_DISARMED && before.dark == FT_CUTOFF_DARK));
    CLAIM(on || before.on || cut.dark == before.dark + 1u
          || cut.dark == FT_CUTOFF_DARK);
    CLAIM(on || !before.on || cut.dark <= 1u);
    CLAIM(!before.on || on || doubted || stops);
    END;
}
