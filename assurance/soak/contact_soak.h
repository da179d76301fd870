#ifndef CONTACT_SOAK_H
#define CONTACT_SOAK_H

#include "ft_config.h"

#include <stdint.h>

/* A plant's step (hil/plant/plant_steps.h) and its encoders. */
typedef struct {
    void *arm;
    int64_t (*take)(void *arm, double h, int64_t count);
    double *q, *volts;
    double origin[FT_JOINTS], per_unit[FT_JOINTS];
    double levels; /* of a duty, from 0 to 1 */
} contact_soak_plant;

void contact_soak_begin(const contact_soak_plant *plant);
void contact_soak_hold(uint32_t ticks);
void contact_soak_see(double *worst, uint32_t *touches);

#endif
