/* Numbers that drives encode in a few bits. */
#ifndef FIELDS_H
#define FIELDS_H

#include "motor.h"

#define MIT_SIZE 8 /* bytes of a command */

/* Ranges, as hil/drives/fields.py describes them. */
typedef struct {
    double position, velocity, torque, kp, kd;
} ranges;

uint32_t field_code(double value, double lo, double hi, int32_t bits);
double field_value(uint32_t code, double lo, double hi, int32_t bits);
int32_t mit_special(const uint8_t *data, int32_t least);
void mit_command(motor *m, const uint8_t *data, const ranges *r);
void mit_state(uint8_t *to, const motor *m, const ranges *r);

#endif
