#ifndef SOAK_H
#define SOAK_H

#include "ft_config.h"

#include <stdint.h>

extern void (*soak_after)(void); /* called after each tick */
extern uint32_t soak_follow; /* true if joints are at their targets */
void soak_begin(const void *path, uint32_t count);
uint64_t soak_fill(void);
uint64_t soak_run(uint64_t ticks);
void soak_poll(uint64_t tick);
uint64_t soak_knots(void);
uint32_t soak_played(void);
uint32_t soak_tick(void);

/* The step function of a plant (hil/plant/plant_steps.h) and its encoders. */
typedef struct {
    void *arm;
    int64_t (*take)(void *arm, double h, int64_t count);
    double *q, *volts;
    double origin[FT_JOINTS], per_unit[FT_JOINTS];
    double levels; /* number of steps of a duty, from 0 to 1 */
} contact_soak_plant;

void contact_soak_begin(const contact_soak_plant *plant);
void contact_soak_hold(uint32_t ticks);
void contact_soak_see(double *worst, uint32_t *touches);

#endif
