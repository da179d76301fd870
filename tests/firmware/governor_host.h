/* Arguments and results of governor_host.c. */
#ifndef GOVERNOR_HOST_H
#define GOVERNOR_HOST_H

#include <stdint.h>

typedef struct {
    double p, v, a;
} sample;

/* Results of a run: the largest value of each limited quantity, relative to its
 * limit. */
typedef struct {
    double p, v, a, j; /* p: rad beyond a limit */
    double uneven;     /* deviation between two samples from a motion with
                        * constant jerk, relative to the tolerance */
    uint64_t followed, restless;
} record;

void governor_limits(double lo, double hi, double v, double a, double j);
void governor_run(long n, const sample *aim, sample *state, uint8_t *why);
void governor_storm(long n, uint64_t seed, double sane, record *r);

#endif
