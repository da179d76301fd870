/* The motor of a servo behind its bridge and its protections. */
#ifndef STS_MOTOR_H
#define STS_MOTOR_H

#include <stdint.h>

/* Times in s, NaN for none. driven: when it last gave its motor a voltage. */
typedef struct {
    uint8_t *registers;
    double ohm, volts, temperature, angle, velocity, current, at;
    double takes_over, overload_since, over_current_since;
    int64_t coming, duty, latched, powered;
    double driven;
} sts_motor;

int sts_drives(const void *motor);
double sts_share(const sts_motor *m);
double sts_terminal(void *motor, double now, double angle, double velocity,
                    double current);

#endif
