/* A servo: its registers, and its motor behind its bridge and protections. */
#ifndef STS_H
#define STS_H

#include "half_duplex.h"
#include "numbers.h"

/* Times are in s; NaN: no time. stored: registers that keep their values when
 * the power is off. ohm: resistance of the winding. volts: voltage of the
 * supply. angle, velocity: motion of the output. current: motor current at time
 * `at`, A. coming: the duty that applies from takes_over on. looped: the duty of
 * the position loop, which the servo computes at `loops`. latched: errors that
 * have switched the motor off. driven: time at which the motor last had a
 * voltage. centre, phase: as in hil/drives/servo.py. */
typedef struct {
    servo wired;
    uint8_t registers[STS_REGISTERS], stored[STS_STORED];
    double ohm, volts, temperature, angle, velocity, current, at;
    double takes_over, loops, overload_since, over_current_since;
    double driven, centre, phase;
    int64_t coming, duty, looped, latched;
} sts;

const servo_ways *sts_ways(void);
const framing *sts_framing(void);
uint32_t sts_word(const sts *m, uint32_t at);
void sts_power_up(sts *m, double angle);
int sts_drives(const void *motor);
double sts_share(const sts *m);
int64_t sts_counts(const sts *m, double angle);
double sts_boundary(const sts *m, double now);
int64_t sts_errors(const sts *m);
void sts_fail(sts *m, uint8_t code);
double sts_terminal(void *motor, double now, double angle, double velocity,
                    double current);

#endif
