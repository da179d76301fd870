/* Quantities as integers in bit fields. 0 encodes the lowest value of the
 * range, and the largest integer encodes the highest value. A value is clamped
 * before it is encoded, so no field wraps. The value is rounded, not truncated,
 * so that torques have no bias. */
#ifndef FT_FIELD_H
#define FT_FIELD_H

#include <stdint.h>

#define FT_FIELD_12 4095u
#define FT_FIELD_16 65535u

typedef struct {
    float low, high; /* in the quantity's unit */
    uint32_t top;    /* the largest number that the field holds */
} ft_field_range;

/* Return the range -most..most. */
static inline ft_field_range ft_field_about(float most, uint32_t top)
{
    const ft_field_range r = { -most, most, top };

    return r;
}

/* Return the range 0..most. */
static inline ft_field_range ft_field_upto(float most, uint32_t top)
{
    const ft_field_range r = { 0.0f, most, top };

    return r;
}

/* Return the field number nearest to a value. A value beyond the range gives
 * the last number, and NaN gives the number for zero. */
static inline uint32_t ft_field_encode(const ft_field_range *r, float value)
{
    float x = value == value ? value : 0.0f;

    x = x < r->low ? r->low : x > r->high ? r->high : x;
    return (uint32_t)((x - r->low) * ((float)r->top / (r->high - r->low))
                      + 0.5f);
}

/* Return the value that a field number encodes. */
static inline float ft_field_decode(const ft_field_range *r, uint32_t number)
{
    return r->low + (float)number * ((r->high - r->low) / (float)r->top);
}

/* Encode a torque, and add the rounding error to the next torque. Even a coarse
 * field then gives the correct torque on average. A clamped torque leaves no
 * error to add. */
static inline uint32_t ft_field_carry(const ft_field_range *r, float value,
                                      float *carried)
{
    float wanted = value + *carried;
    uint32_t number = ft_field_encode(r, wanted);
    float left = wanted - ft_field_decode(r, number);
    float step = (r->high - r->low) / (float)r->top;

    *carried = left <= step && left >= -step ? left : 0.0f;
    return number;
}

#endif
