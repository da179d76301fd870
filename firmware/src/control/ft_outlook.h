/* The reference's way ahead of a joint, as far as it is known: the places to
 * come, how far the motion goes on beyond them if the last steps bear that
 * out, and whether a joint could follow it at all.
 *
 * The reference stays between its knots, so the knots that have come bound it.
 * A motion that goes on is not bounded by them: its next knot is to come. One
 * that has gone the same way for some steps is taken to go on; a jump has no
 * such steps before it.
 */
#ifndef FT_OUTLOOK_H
#define FT_OUTLOOK_H

#include "ft_model.h"     /* FT_JOINTS, ft_real */
#include "ft_ramp.h"      /* ft_room */
#include "ft_reference.h" /* ft_reference */

#include <stdbool.h>
#include <stdint.h>

/* The way of one joint. */
typedef struct {
    ft_room known; /* all places to come */
    ft_room sure;  /* without the newest, which may be a single wrong one */
    ft_room ahead; /* known, and where the motion goes on */
    bool broken;   /* the reference breaks limits on its way there */
} ft_way;

typedef struct {
    int64_t base[FT_JOINTS]; /* from which the ways are measured */
    ft_way way[FT_JOINTS];
    uint32_t seen;           /* knots that the ways know of */
    uint32_t stale;          /* joints whose way is older than that */
} ft_outlook;

void ft_outlook_begin(ft_outlook *o, const ft_reference *r);
void ft_outlook_tick(ft_outlook *o, const ft_reference *r, bool direct);
ft_way ft_outlook_way(const ft_outlook *o, uint32_t joint, int64_t from,
                      ft_real aim);

/* Return the way of a reference that stands: all places are known. */
static inline ft_way ft_outlook_anywhere(void)
{
    static const ft_room all = { FT_C(-1e9), FT_C(1e9) };
    const ft_way w = { all, all, all, false };

    return w;
}

#endif
