/* Numbers in the bits of frames: code 0 is lo, all ones is hi, and fractions
 * are truncated (bgkatz/motorcontrol Core/Src/math_ops.c and can.c;
 * damiao-motor 1.0.6, float_to_uint and uint_to_float). The frames of the
 * mini-cheetah send the most significant bit first. */
#include "fields.h"

#include <math.h>

static double all_ones(int32_t bits)
{
    return (double)((1u << bits) - 1u);
}

/* Return the code of a value that is clamped to the range. */
uint32_t field_code(double value, double lo, double hi, int32_t bits)
{
    double code = (fmin(fmax(value, lo), hi) - lo) * all_ones(bits) / (hi - lo);
    return code > 0.0 ? (uint32_t)code : 0u; /* NaN if the range is empty */
}

double field_value(uint32_t code, double lo, double hi, int32_t bits)
{
    return (double)code * (hi - lo) / all_ones(bits) + lo;
}

/* Return true for seven bytes 0xFF and a last byte from `least` to 0xFE. */
int32_t mit_special(const uint8_t *data, int32_t least)
{
    int32_t i = 0;
    while (i < 7 && data[i] == 0xFF)
        i++;
    return i == 7 && data[7] >= least && data[7] < 0xFF;
}

/* Decode a command from fields of 16, 12, 12, 12 and 12 bits. */
void mit_command(motor *m, const uint8_t *data, const ranges *r)
{
    uint32_t high = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 |
                    (uint32_t)data[2] << 8 | data[3];
    uint32_t low = (uint32_t)data[4] << 24 | (uint32_t)data[5] << 16 |
                   (uint32_t)data[6] << 8 | data[7];
    m->position = field_value(high >> 16, -r->position, r->position, 16);
    m->velocity =
        field_value(high >> 4 & 0xFFFu, -r->velocity, r->velocity, 12);
    m->kp = field_value((high & 15u) << 8 | low >> 24, 0.0, r->kp, 12);
    m->kd = field_value(low >> 12 & 0xFFFu, 0.0, r->kd, 12);
    m->asked = field_value(low & 0xFFFu, -r->torque, r->torque, 12);
}

/* Encode a motor's state in five bytes, as fields of 16, 12 and 12 bits. */
void mit_state(uint8_t *to, const motor *m, const ranges *r)
{
    uint32_t position =
        field_code(motor_position(m), -r->position, r->position, 16);
    uint32_t velocity =
        field_code(m->measured, -r->velocity, r->velocity, 12);
    uint32_t torque = field_code(m->torque, -r->torque, r->torque, 12);
    to[0] = (uint8_t)(position >> 8);
    to[1] = (uint8_t)position;
    to[2] = (uint8_t)(velocity >> 4);
    to[3] = (uint8_t)(velocity << 4 | torque >> 8);
    to[4] = (uint8_t)torque;
}
