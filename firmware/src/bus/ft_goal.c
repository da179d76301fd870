/* Goals of servos that close a position loop; see ft_goal.h. */
#include "ft_goal.h"

#if FT_SERVO_LOOP

#include <string.h> /* memcpy, memset */

#define HALF 0.5f          /* of a count */
#define LAST 4095.0f       /* count of a turn */
#define PERMILLE 1000.0f
#define APART 0.04f        /* duty */
#define PATIENCE 5u        /* answers */

enum { SCALE = 4, SIZE = 8 }; /* bytes of a frame */

/* Return x, clamped to a range. */
static float clamp(float x, float least, float most)
{
    return x < least ? least : x > most ? most : x;
}

/* Return the counts between goal and position that give a duty. */
static float ahead(const ft_drive_config *c, const ft_loop *l, float share)
{
    const float most = c->share < l->most ? c->share : l->most;
    const float duty = clamp(share, -most, most);

    return c->scale * (duty - clamp(duty, -l->drag, l->drag));
}

/* The servo's own loop holds the target, and the goal's offset from the target
 * makes the torque of the motion. Without a target and without a duty, the goal
 * is the servo's last reported position. */
bool ft_goal_aim(ft_frame *f, const ft_drive_config *c,
                 const ft_drive_target *t, const ft_loop *l)
{
    const bool follows = t->kp > 0.0f;
    const uint32_t limit = (uint32_t)(c->share * PERMILLE);
    float at = t->position / c->step + ahead(c, l, t->share);
    uint32_t goal;

    if (follows)
        at = clamp(at, t->least / c->step, t->most / c->step);
    at = clamp(at, 0.0f, LAST);
    if (at != at || (!follows && t->share == 0.0f))
        return false;
    goal = (uint32_t)(at + HALF);
    f->size = SIZE;
    f->data[0] = (uint8_t)goal;
    f->data[1] = (uint8_t)(goal >> 8);
    f->data[2] = (uint8_t)limit;
    f->data[3] = (uint8_t)(limit >> 8);
    memcpy(f->data + SCALE, &c->scale, sizeof c->scale);
    return true;
}

static uint32_t two(const uint8_t *data)
{
    return data[0] | (uint32_t)data[1] << 8;
}

uint32_t ft_goal_take(ft_goal *g, const ft_frame *f, bool aims, bool runs)
{
    g->goal[1] = g->goal[0];
    g->goal[0] = aims ? (uint16_t)two(f->data) : g->at;
    g->limit = (float)two(f->data + 2) / PERMILLE;
    g->scale = 0.0f;
    if (aims)
        memcpy(&g->scale, f->data + SCALE, sizeof g->scale);
    if (!runs)
        g->strained = 0;
    return g->goal[0];
}

/* Return whether a load is the duty that the servo's loop makes of an error. */
static bool fits(const ft_goal *g, const ft_loop *l, int32_t error, float load)
{
    const float drag = error > 0 ? l->drag : error < 0 ? -l->drag : 0.0f;
    const float duty = clamp((float)error / g->scale + drag, -g->limit,
                             g->limit);
    const float apart = APART + l->doubt * (duty < 0.0f ? -duty : duty);

    return duty - load <= apart && load - duty <= apart;
}

/* The servo may still have the last goal. */
bool ft_goal_strains(ft_goal *g, const ft_loop *l, uint32_t at, int32_t load,
                     bool on)
{
    const float share = (float)load / l->full;

    g->at = (uint16_t)at;
    if (!(g->scale > 0.0f) || !on)
        return false;
    if (fits(g, l, g->goal[0] - (int32_t)at, share)
        || fits(g, l, g->goal[1] - (int32_t)at, share))
        g->strained = 0;
    else if (g->strained < PATIENCE)
        g->strained++;
    return g->strained >= PATIENCE;
}

#endif
