/* The known places of the reference ahead of a joint, how far a motion goes on
 * beyond them, and whether a joint could follow at all.
 *
 * The reference stays between its knots, so the received knots bound it. The
 * exception is a motion towards knots that have not come yet. A motion that has
 * kept its direction for some steps is expected to go on. A jump has no steps
 * before it. */
#ifndef FT_OUTLOOK_H
#define FT_OUTLOOK_H

#include "ft_model.h"     /* FT_JOINTS, ft_real */
#include "ft_ramp.h"      /* ft_room */
#include "ft_reference.h" /* ft_reference */

#include <stdbool.h>
#include <stdint.h>

/* The way of one joint. */
typedef struct {
    ft_room known; /* all places ahead */
    ft_room sure;  /* all places but the newest, which may be wrong */
    ft_room ahead; /* known places, and places of a continuing motion */
    bool broken;   /* the reference breaks limits ahead */
} ft_way;

typedef struct {
    int64_t base[FT_JOINTS]; /* origin of the ways */
    ft_way way[FT_JOINTS];
    uint32_t seen;           /* knots in the ways */
    uint32_t stale;          /* joints whose way is older */
} ft_outlook;

void ft_outlook_begin(ft_outlook *o, const ft_reference *r);
void ft_outlook_tick(ft_outlook *o, const ft_reference *r, bool direct);
ft_way ft_outlook_way(const ft_outlook *o, uint32_t joint, int64_t from,
                      ft_real aim);

/* Return the outlook of a reference that stands. It excludes no place. */
static inline ft_way ft_outlook_anywhere(void)
{
    static const ft_room all = { FT_C(-1e9), FT_C(1e9) };
    const ft_way w = { all, all, all, false };

    return w;
}

#endif
