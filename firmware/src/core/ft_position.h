/* Positions as binary fractions of a turn (or of a metre). A wire position is
 * the int64 in the protocol's messages, in 2^-32 turn (2^-28 m). Sums and
 * differences wrap exactly. */
#ifndef FT_POSITION_H
#define FT_POSITION_H

#include "ft_model.h" /* ft_turn, ft_angle */

#include <stdbool.h>
#include <stdint.h>

#define FT_FINER (FT_TURN_BITS - 32) /* digits finer than a wire position */

/* Return q plus a displacement. */
static inline ft_turn ft_position_add(ft_turn q, ft_turn steps)
{
    return (ft_turn)((ft_angle)q + (ft_angle)steps);
}

/* Return q plus twice a displacement. */
static inline ft_turn ft_position_twice(ft_turn q, ft_turn steps)
{
    return (ft_turn)((ft_angle)q + 2u * (ft_angle)steps);
}

/* Return a - b, wrapped to within half a turn. */
static inline ft_turn ft_position_difference(ft_turn a, ft_turn b)
{
    return (ft_turn)((ft_angle)a - (ft_angle)b);
}

/* Return the size of a displacement. For a negative displacement the result is
 * one step too small, so that the most negative displacement does not
 * overflow. */
static inline ft_angle ft_position_size(ft_turn displacement)
{
    ft_angle back =
        (ft_angle)0 - ((ft_angle)displacement >> (FT_TURN_BITS - 1));

    return (ft_angle)displacement ^ back;
}

/* Convert a wire position to a position of this build, without whole turns. */
static inline ft_turn ft_position_of_wire(int64_t wire)
{
    return (ft_turn)((ft_angle)wire << FT_FINER);
}

/* Return the low 32 bits of the wire position that equals q. */
static inline int32_t ft_position_to_wire(ft_turn q)
{
    return (int32_t)(uint32_t)((ft_angle)q >> FT_FINER);
}

/* Limits use coarse positions, because a joint may turn more than once, and the
 * 32 bits of a wire position hold one turn. A coarse position counts
 * 2^-24 turn (2^-20 m), so an int32 holds 128 turns. */
#define FT_COARSE 8

/* Convert a wire position to a coarse position. */
static inline int32_t ft_position_coarse(int64_t wire)
{
    return (int32_t)(uint32_t)((uint64_t)wire >> FT_COARSE);
}

/* Return whether coarse positions are less than half a turn apart. */
static inline bool ft_position_near(int32_t a, int32_t b)
{
    const uint32_t half = (uint32_t)1 << (31 - FT_COARSE);

    return (uint32_t)a - (uint32_t)b + half < 2u * half;
}

#endif
