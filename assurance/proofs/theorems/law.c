/* The control law and its observer, control/ft_law.c and ft_observer.c. */
#include "proof.h"

#include "ft_config.c"
#include "ft_law.c"
#undef BOUNDLESS
#include "ft_observer.c"

#define BOUNDLESS FT_C(1e30)

static ft_law law_;
static ft_observer seen;
static ft_findings found;
static ft_target target;
static ft_real before[FT_JOINTS], after[FT_JOINTS], tau[FT_JOINTS];
static int32_t counts[FT_JOINTS];

static void anything(void)
{
    ANYTHING(law_);
    ANYTHING(seen);
    ANYTHING(found);
    ANYTHING(target);
    ANYTHING(before);
    ANYTHING(after);
    ANYTHING(tau);
    ANYTHING(counts);
}

/* For any measured values, plan and state of the previous tick, NaN included,
 * the torque of a joint is finite and at most the joint's effort. A motor's
 * duty is at most 2. The theorem angles_duty gives the exact bound for a
 * voltage within the joint's limit. Assumes: a bus voltage that raises no
 * fault. Any other voltage raises UNDER_VOLTAGE or OVER_VOLTAGE in the same
 * tick, and no duty is output (safety_faults, app_outputs).
 * Run: unwind=8 floats mechanisms=three_link,braked,six_axis,summing,five_bar,flexible_arm,rubbing,odrive_arm */
void prove_law_torque(void)
{
    const ft_real bus = nondet_float();
    const ft_law_input in = { before, after, tau, &target, &seen, counts,
                              nondet_u32(), bus };
    uint32_t j;

    anything();
    GIVEN(bus >= FT_BUS_LOW && bus <= FT_BUS_HIGH);
    ft_law_tick(&law_, &in, &found);
    for (j = 0; j < FT_JOINTS; j++) {
        CLAIM(ft_size(law_.torque[j]) <= ft_joint[j].effort);
        CLAIM(!FT_MOTORS || ft_size((ft_real)law_.duty[j]) <= FT_C(2.0));
    }
    END;
}

/* If a joint's requested torque, its measured velocity or its planned velocity
 * is NaN, the joint's torque is zero. The fault NOT_FINITE is reported in the
 * same tick, for this joint or for a joint with a smaller number.
 * Assumes: a bus voltage as in law_torque.
 * Run: unwind=6 floats mechanisms=three_link,summing,five_bar,flexible_arm,rubbing,odrive_arm */
void prove_law_wild(void)
{
    const ft_real bus = nondet_float();
    const ft_law_input in = { before, after, tau, &target, &seen, counts,
                              nondet_u32(), bus };
    const uint32_t j = below(FT_JOINTS);

    anything();
    GIVEN(bus >= FT_BUS_LOW && bus <= FT_BUS_HIGH);
    GIVEN(tau[j] != tau[j] || seen.u[j] != seen.u[j] || after[j] != after[j]);
    law_.fresh = false;
    found.any = false;
    ft_law_tick(&law_, &in, &found);
    CLAIM(law_.torque[j] == FT_C(0.0));
    CLAIM(found.any && found.wild <= j);
    END;
}

#if FT_AGED

/* The age of a measured position has no effect on a target at rest, at any
 * position of the joint. The joint is held in the same way as a joint whose
 * encoder is connected to the board.
 * Run: unwind=6 floats mechanisms=odrive_arm */
void prove_law_age(void)
{
    const ft_law_input in = { before, after, tau, &target, &seen, counts,
                              nondet_u32(), FT_C(1.0) };
    const uint32_t j = below(FT_JOINTS);
    const ft_turn away = (ft_turn)nondet_u32();
    errors e;

    anything();
    GIVEN(target.u[j] == FT_C(0.0));
    GIVEN(after[j] == before[j] && ft_size(after[j]) < BOUNDLESS);
    GIVEN(ft_size(seen.u[j]) < BOUNDLESS);
    e = behind(j, away, &in);
    CLAIM(e.place == (ft_real)away && e.u == -seen.u[j]);
    END;
}

#endif

/* A gain ku or kv that the host overrides is at most the file's gain times the
 * largest factor that the file allows. The factors in use are the factors that
 * the host has sent.
 * Run: unwind=6 floats mechanisms=braked */
void prove_law_overlay(void)
{
    const uint32_t j = below(FT_JOINTS);
    uint8_t share[3] = { nondet_u8(), nondet_u8(), nondet_u8() };

    anything();
    GIVEN(share[0] <= FT_OVERLAY_MOST && share[1] <= FT_OVERLAY_MOST
          && share[2] <= FT_OVERLAY_MOST);
    ft_law_overlay(&law_, j, share);
    CLAIM(law_.overlay[0][j] == share[0] && law_.overlay[1][j] == share[1]
          && law_.overlay[2][j] == share[2]);
#if FT_OVERLAY
    {
        const ft_real most = (ft_real)FT_OVERLAY_MOST / FT_C(64.0);

        CLAIM(ft_size(law_.gains[j].ku) <= ft_size(ft_joint[j].ku) * most);
        CLAIM(ft_size(law_.gains[j].kv) <= ft_size(ft_joint[j].kv) * most);
    }
#endif
    END;
}

/* Starting the law, resetting it and reporting limits are free of run-time
 * errors. After a reset, torque and duty are zero.
 * Run: unwind=6 */
void prove_law_rest(void)
{
    uint32_t j;

    anything();
    ft_law_boot(&law_);
    ft_law_start(&law_);
    ft_law_rest(&law_);
    (void)ft_law_take_limits(&law_);
    CLAIM(law_.limits == 0u && law_.fresh);
    for (j = 0; j < FT_JOINTS; j++)
        CLAIM(law_.torque[j] == FT_C(0.0) && law_.duty[j] == 0.0f);
    END;
}

/* For any encoder counts, a joint's position changes by exactly these counts,
 * modulo the range of a fine position. A fault is reported if the counts exceed
 * the joint's possible motion, or if the velocity is NaN or above its limit.
 * Run: unwind=6 floats */
void prove_observer_tick(void)
{
    const uint32_t j = below(FT_JOINTS);
    uint64_t was;
    int64_t n;

    anything();
    was = seen.fine[j];
    n = counts[j];
    found.any = false;
    found.jump = found.fast = FT_GOOD;
    ft_observer_tick(&seen, counts, before, after, &found);
    CLAIM(seen.fine[j] == was + (uint64_t)(n * ft_joint[j].step));
    CLAIM((n <= ft_joint[j].counts && n >= -(int64_t)ft_joint[j].counts)
          || (found.any && found.jump <= j));
    CLAIM(ft_size(seen.u[j]) <= ft_joint[j].overspeed
          || (found.any && found.fast <= j));
    END;
}

/* A joint that is set to a position of the messages has this position, in a
 * range of 2^20 turns. All joints can also be set together. From this position
 * any position is reached by the shorter direction.
 * Run: unwind=6 */
void prove_observer_place(void)
{
    const uint32_t j = below(FT_JOINTS);
    const int64_t wire = (int64_t)nondet_u64(), most = (int64_t)1 << 52;
    const ft_turn q = (ft_turn)nondet_u32();
    int64_t places[FT_JOINTS], turned;

    anything();
    ANYTHING(places);
    GIVEN(wire >= -most && wire < most);
    if (nondet_bool()) {
        ft_observer_place(&seen, j, wire);
    } else {
        places[j] = wire;
        ft_observer_set(&seen, places);
    }
    CLAIM(ft_observer_wire(&seen, j) == wire);
    CLAIM(seen.q[j] == (ft_turn)(uint32_t)wire);
    CLAIM(seen.coarse[j] == (int32_t)(uint32_t)((uint64_t)wire >> FT_COARSE));
    turned = ft_observer_turned(&seen, j, q);
    CLAIM((ft_turn)(uint32_t)turned == q);
    CLAIM(turned - wire >= INT32_MIN && turned - wire <= INT32_MAX);
    END;
}

/* A condition that is true in every tick is counted once in each tick. After a
 * tick in which the condition is false, the count begins at 1 again. The
 * theorem holds for any value of the tick counter, including its wrap.
 * Assumes: fewer than 2^32 consecutive ticks, 49 days at 1 kHz.
 * Run: */
void prove_law_streak(void)
{
    ft_streak s = { nondet_u32(), nondet_u32() };
    const ft_streak was = s;

    GIVEN(was.ticks != 0u && was.ticks != UINT32_MAX);
    switch (nondet_u8() % 3u) {
    case 0:
        CLAIM(ft_streak_count(&s, was.last) == was.ticks);
        break;
    case 1:
        CLAIM(ft_streak_count(&s, was.last + 1u) == was.ticks + 1u);
        break;
    default: {
        const uint32_t later = nondet_u32();

        GIVEN(later > 1u);
        CLAIM(ft_streak_count(&s, was.last + later) == 1u);
    }
    }
    END;
}
