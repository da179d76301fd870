/* Absolute value and clamping of real numbers, in a few instructions each. */
#ifndef FT_NUMBER_H
#define FT_NUMBER_H

#include "ft_compiler.h" /* FT_UNROLL, FT_INLINE, ... */
#include "ft_model.h"    /* ft_real */

/* Processor instructions that C99 offers only through libm. */
#ifdef FT_REAL_IS_DOUBLE
#define FT_SIZE __builtin_fabs
#define FT_ROOT __builtin_sqrt
#else
#define FT_SIZE __builtin_fabsf
#define FT_ROOT __builtin_sqrtf
#endif

/* Return |x|. */
static inline ft_real ft_size(ft_real x)
{
    return FT_SIZE(x);
}

/* Return the bound with the sign of x. */
static inline ft_real ft_bound(ft_real x, ft_real bound)
{
    return x < FT_C(0.0) ? -bound : bound;
}

/* Return x held within -bound..bound. */
static inline ft_real ft_clamp(ft_real x, ft_real bound)
{
    return ft_size(x) > bound ? ft_bound(x, bound) : x;
}

#endif
