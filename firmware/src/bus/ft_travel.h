/* A drive's velocities, compared with how far its positions went. So a drive
 * that cannot be asked for the range of its velocity field shows it as soon as
 * it moves, by hand too. */
#ifndef FT_TRAVEL_H
#define FT_TRAVEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool begun;
    bool wrong;        /* by the last look the range is not the file's */
    float range;       /* that the reported velocities seem to have, rad/s */
    uint32_t ticks;    /* that this look has lasted */
    uint32_t position; /* the latest number */
    float first, velocity; /* when the look began, and the latest, rad/s */
    float went, away;  /* way by the velocities, by the positions, rad */
} ft_travel;

void ft_travel_forget(ft_travel *t);

/* Take in a tick. answered: position, a number of its field, and velocity are
 * new. step: rad that a number stands for; range: of velocities, the file's. */
void ft_travel_tick(ft_travel *t, bool answered, uint32_t position,
                    float velocity, float step, float range);

#endif
