/* A host that falls silent, safety/ft_safety.c, with the neighbours and the
 * invariant of safety.c.
 *
 * silence_rests draws the conclusion from these theorems, motion_tick,
 * pace_stops and jog_slows: when the host is not heard any more the arm comes
 * to rest. A motion and a jog are slowed down in the tick in which the host has
 * been silent for more than FT_HOST_TIMEOUT ticks; an arm at rest goes to FAULT
 * or HELD after FT_HOST_LOST ticks. Each theorem is one step of that. */
#include "safety.c"

/* How long the host has been silent is counted tick by tick up to one more than
 * FT_HOST_LOST, and never begins anew by itself.
 * Run: unwind=27 mechanisms=three_link */
void prove_silence_counted(void)
{
    uint32_t before;

    any_state();
    before = s.silent;
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(s.silent == before + (before <= FT_HOST_LOST ? 1u : 0u));
    END;
}

/* After FT_HOST_TIMEOUT ticks of silence, and in every tick after them, a
 * motion is asked to slow down, a jog to stop and what follows targets to
 * brake, an arm that was led by hand is held where it is, and no zero is sought
 * and nothing probed: these are without power.
 * Run: unwind=27 mechanisms=three_link,braked */
void prove_silence_stops(void)
{
    any_state();
    GIVEN(s.silent >= FT_HOST_TIMEOUT && s.silent < FT_HOST_LOST);
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(s.state != TRACK || c.motion.brake);
    CLAIM(s.state != JOG || c.lab.wanted == FT_C(0.0));
    CLAIM(s.state != FOLLOW || c.follow.stop);
    CLAIM(s.state != FLOAT && s.state != HOMING && s.state != PROBE);
    END;
}

/* After FT_HOST_LOST ticks of silence and one more an arm that rests is in
 * FAULT, which coasts, brakes or lies down as the mechanism's file says, or where
 * that holds it, and no brakes do, in HELD.
 * Run: unwind=27 mechanisms=three_link,braked,led */
void prove_silence_ends(void)
{
    any_state();
    GIVEN(s.silent > FT_HOST_LOST);
    GIVEN(s.state == HOLD && ft_motion_settled(&c.motion));
    ft_safety_tick(&s, &c, &in, FT_MOTION_NOTHING);
    CLAIM(s.state == FAULT || s.state == ESTOP
          || (s.state == HELD && !FT_BRAKE
              && ft_reaction[FT_FAULT_HOST_LOST] == FT_REACTION_HOLD));
    END;
}
