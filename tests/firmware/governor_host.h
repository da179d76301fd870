/* Arguments and results of governor_host.c. */
#ifndef GOVERNOR_HOST_H
#define GOVERNOR_HOST_H

#include <stdint.h>

typedef struct {
    double p, v, a;
} sample;

/* Record of a run: the largest share of each limit that was used. */
typedef struct {
    double p, v, a, j; /* p: rad beyond a limit */
    double uneven;     /* rad/s and rad between two samples beyond a constant
                        * jerk, as a share of the allowance */
    uint64_t followed, restless;
} record;

void governor_limits(double lo, double hi, double v, double a, double j);
void governor_run(long n, const sample *aim, sample *state, uint8_t *why);
void governor_storm(long n, uint64_t seed, double sane, record *r);

#endif
