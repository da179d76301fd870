#ifndef BUS_SOAK_H
#define BUS_SOAK_H

#include <stdint.h>

typedef struct {
    uint64_t sent, lost, twice; /* frames */
    uint64_t unanswered;        /* ticks of a drive */
    double bias; /* N m, mean of the sent torques less the wanted ones */
    uint32_t told_lost, told_late, told_foreign, disabled;
} bus_soak_t;

void bus_soak_begin(double share, uint64_t seed);
void bus_soak_see(bus_soak_t *found);

#endif
