/* Quantities as integers in fields of bits. 0 stands for the range's lowest
 * value, and the largest integer for its highest value. A value is clamped
 * before it is encoded, so no field wraps. It is rounded, so no torque is
 * biased. */
#ifndef FT_FIELD_H
#define FT_FIELD_H

#include <stdint.h>

#define FT_FIELD_12 4095u
#define FT_FIELD_16 65535u

typedef struct {
    float low, high; /* in the quantity's unit */
    uint32_t top;    /* the largest number that the field holds */
} ft_field_range;

/* Return the range from -most to most. */
static inline ft_field_range ft_field_about(float most, uint32_t top)
{
    const ft_field_range r = { -most, most, top };

    return r;
}

/* Return the range from zero to most. */
static inline ft_field_range ft_field_upto(float most, uint32_t top)
{
    const ft_field_range r = { 0.0f, most, top };

    return r;
}

/* Return the nearest number. A value beyond the range gives the last number,
 * and NaN gives the number for zero. */
static inline uint32_t ft_field_encode(const ft_field_range *r, float value)
{
    float x = value == value ? value : 0.0f;

    x = x < r->low ? r->low : x > r->high ? r->high : x;
    return (uint32_t)((x - r->low) * ((float)r->top / (r->high - r->low))
                      + 0.5f);
}

/* Return the value of a number. */
static inline float ft_field_decode(const ft_field_range *r, uint32_t number)
{
    return r->low + (float)number * ((r->high - r->low) / (float)r->top);
}

/* Encode a torque, and carry the rounding error to the next torque. Even a
 * coarse field then gives the right torque on average. Beyond the range nothing
 * is carried. */
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
