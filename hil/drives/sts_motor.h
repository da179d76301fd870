/* The motor of a servo behind its bridge and its protections: what
 * hil/drives/sts_motor.py does and explains. */
#ifndef STS_MOTOR_H
#define STS_MOTOR_H

#include <stdint.h>

/* Times in s, NaN where nothing waits or lasts. */
typedef struct {
    uint8_t *registers;
    double ohm, volts, temperature, angle, velocity, current, at;
    double takes_over, overload_since, over_current_since;
    int64_t coming, duty, latched, powered;
} sts_motor;

double sts_terminal(sts_motor *m, double now, double angle, double velocity,
                    double current);

#endif
