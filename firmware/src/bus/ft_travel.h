/* Compares a drive's velocities with the changes of its positions. If the drive
 * cannot report the range of its velocity field, any motion reveals this range,
 * even a motion by hand. */
#ifndef FT_TRAVEL_H
#define FT_TRAVEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool begun;
    bool wrong;        /* the last comparison found another range */
    float range;       /* range that fits the reported velocities, rad/s */
    uint32_t ticks;    /* duration of this comparison so far */
    uint32_t position; /* the latest number */
    float first, velocity; /* first and latest velocity, rad/s */
    float went, away;  /* displacements by velocities and by positions, rad */
} ft_travel;

void ft_travel_forget(ft_travel *t);

/* Process a tick. answered: position (a number of its field) and velocity are
 * new. step: angle of one number, rad. range: the file's range of
 * velocities. */
void ft_travel_tick(ft_travel *t, bool answered, uint32_t position,
                    float velocity, float step, float range);

#endif
