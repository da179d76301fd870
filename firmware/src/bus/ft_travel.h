/* The velocity that a drive tells, held against how far it went by its own
 * positions. A drive that cannot tell the range of its velocity field shows it
 * thereby as soon as it moves, by hand too. */
#ifndef FT_TRAVEL_H
#define FT_TRAVEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool begun;
    bool wrong;        /* the last look has found so */
    float range;       /* that the velocities told seem to have, rad/s */
    uint32_t ticks;    /* of this look */
    uint32_t position; /* the latest number */
    float first, velocity; /* told when the look began, and lately, rad/s */
    float went, away;  /* by velocities told, by positions told, rad */
} ft_travel;

void ft_travel_forget(ft_travel *t);

/* Take in a tick. answered: position, a number of its field, and velocity are
 * new. step: rad that a number stands for; range: of velocities, the file's. */
void ft_travel_tick(ft_travel *t, bool answered, uint32_t position,
                    float velocity, float step, float range);

#endif
