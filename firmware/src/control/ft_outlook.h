/* The outlook of a joint: the known positions of its reference ahead, the
 * positions that a continuing motion may reach, and whether the reference
 * exceeds the joint's limits.
 *
 * The reference stays between its knots, so the received knots limit it. Only a
 * motion towards knots that have not arrived yet may exceed these limits. A
 * motion that has kept its direction for some steps is expected to continue. A
 * jump is not expected to continue, since no steps precede it. */
#ifndef FT_OUTLOOK_H
#define FT_OUTLOOK_H

#include "ft_model.h"     /* FT_JOINTS, ft_real */
#include "ft_ramp.h"      /* ft_room */
#include "ft_reference.h" /* ft_reference */

#include <stdbool.h>
#include <stdint.h>

/* The outlook of one joint. */
typedef struct {
    ft_room known; /* all known positions */
    ft_room sure;  /* without the newest, perhaps an outlier */
    ft_room ahead; /* known positions, and positions of a continuing motion */
    bool broken;   /* the reference exceeds limits ahead */
} ft_way;

typedef struct {
    int64_t base[FT_JOINTS]; /* origin of the positions */
    ft_way way[FT_JOINTS];
    uint32_t seen;           /* knots in the outlooks */
    uint32_t stale;          /* joints whose outlook is not renewed yet */
} ft_outlook;

void ft_outlook_begin(ft_outlook *o, const ft_reference *r);
void ft_outlook_tick(ft_outlook *o, const ft_reference *r, bool direct);
ft_way ft_outlook_way(const ft_outlook *o, uint32_t joint, int64_t from,
                      ft_real aim);

/* Return an outlook without limits, for a reference that does not run. */
static inline ft_way ft_outlook_anywhere(void)
{
    static const ft_room all = { FT_C(-1e9), FT_C(1e9) };
    const ft_way w = { all, all, all, false };

    return w;
}

#endif
