/* The limits of a joint in FOLLOW, control/ft_ramp.c. */
#include "proof.h"

#include "ft_config.c"

/* Return any number that is not negative. */
float any_root(float x);
#define __builtin_sqrtf any_root
#include "ft_ramp.c"

float any_root(float x)
{
    const float root_ = nondet_float();

    GIVEN(root_ >= 0.0f);
    return root_;
}

ft_moving nondet_moving(void);
ft_room nondet_room(void);
ft_follow_config nondet_limits(void);

/* A sample that is not forbidden is within the limits of velocity and
 * acceleration, and inside the position range. The sample's acceleration
 * differs from the previous acceleration by at most the jerk limit times the
 * tick. A constant jerk between these two accelerations gives a velocity and a
 * position. The sample's velocity and position differ from these values by no
 * more than a varying jerk can cause. No number of the sample is NaN. The
 * theorem holds for any position range, joint and sample, NaN included.
 * Assumes: times and inverses of the limits are not negative.
 * Run: unwind=2 mechanisms=three_link */
void prove_ramp_numbers(void)
{
    const ft_follow_config c = nondet_limits();
    const ft_moving now = nondet_moving(), to = nondet_moving();
    const ft_room room = nondet_room();

    GIVEN(c.per_jerk >= 0.0f && c.per_acceleration >= 0.0f
          && c.build_up >= 0.0f);
    GIVEN(ft_ramp_forbids(&now, &c, &room, &to) == 0u);
    CLAIM(ft_size(to.a) <= c.acceleration);
    CLAIM(ft_size(to.v) <= c.velocity);
    CLAIM(ft_size(to.a - now.a) <= c.near_a);
    CLAIM(ft_size(to.v - (now.v + HALF * DT * (now.a + to.a))) <= c.near_v);
    CLAIM(ft_size(to.p
                  - DT * (now.v + DT * (THIRD * now.a + SIXTH * to.a)))
          <= c.near_p);
    CLAIM(to.p >= room.below && to.p <= room.above);
    CLAIM(to.p == to.p && to.v == to.v && to.a == to.a);
    END;
}
