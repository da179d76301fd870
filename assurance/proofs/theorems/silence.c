/* The reaction to a silent host, safety/ft_safety.c, with the stubs and the
 * invariant of safety.c.
 *
 * The theorem silence_rests says that an arm without a host comes to rest. This
 * theorem follows from the theorems here and from motion_tick, pace_stops and
 * jog_slows. A motion and a jog begin to slow down in the tick in which the
 * silence exceeds FT_HOST_TIMEOUT ticks. After FT_HOST_LOST ticks an arm at
 * rest goes to FAULT, HELD or ESTOP. */
#include "safety.c"

/* The ticks without a message of the host are counted one by one, up to
 * FT_HOST_LOST plus one. The count does not restart without a message.
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

/* In every tick after FT_HOST_TIMEOUT ticks of silence, a motion must slow
 * down, a jog must stop, and an arm that follows targets must brake. In these
 * ticks no joint floats, seeks its zero or is probed.
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

/* After more than FT_HOST_LOST ticks of silence an arm at rest is in FAULT, in
 * ESTOP, or in HELD. In HELD it has no brakes, and the mechanism's file says
 * hold.
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
