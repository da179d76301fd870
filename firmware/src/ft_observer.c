/* Position and rate from encoder counts; see ft_observer.h. */
#include "ft_observer.h"

#include "ft_config.h" /* ft_joint, FT_OBSERVER_POSITION, FT_OBSERVER_RATE */
#include "ft_position.h" /* FT_COARSE */

#define FINER 16 /* binary digits of `fine` beyond those of the wire */

/* Return the position that a fine one stands for, whole turns left out. */
static ft_turn position(uint64_t fine)
{
#ifdef FT_REAL_IS_DOUBLE
    return (ft_turn)(fine << FINER);
#else
    return (ft_turn)(uint32_t)(fine >> FINER);
#endif
}

/* Put one joint to a place. */
static void place(ft_observer *o, uint32_t j, uint64_t fine)
{
    o->fine[j] = fine;
    o->q[j] = position(fine);
    o->coarse[j] = (int32_t)(uint32_t)(fine >> (FINER + FT_COARSE));
}

/* Move one joint's position on by its counts. */
static void count(ft_observer *o, uint32_t j, int32_t counts)
{
    o->counts[j] = counts;
    place(o, j, o->fine[j] + (uint64_t)counts * (uint64_t)ft_joint[j].step);
}

/* Move one joint's rate on. */
static void track(ft_observer *o, uint32_t j)
{
    ft_real e = o->error[j] + (ft_real)o->counts[j] - o->w[j];

    o->w[j] += FT_OBSERVER_RATE * e;
    o->error[j] = e - FT_OBSERVER_POSITION * e;
    o->rate[j] = o->w[j] * ft_joint[j].rate_per_count;
}

/* Take in the counts of one tick. */
void ft_observer_tick(ft_observer *o, const int32_t counts[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        count(o, j, counts[j]);
        track(o, j);
    }
}

/* Let the joints be at these positions of the wire, wherever they seemed. */
void ft_observer_set(ft_observer *o, const int32_t wire[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        place(o, j, (uint64_t)((int64_t)wire[j] * (1 << FINER)));
}
