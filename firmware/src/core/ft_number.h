/* Size and bounds of real numbers, in as few instructions as there are. */
#ifndef FT_NUMBER_H
#define FT_NUMBER_H

#include "ft_model.h" /* ft_real */

/* Let the compiler write loops over joints out: an arm's joints are few. */
#if defined __GNUC__ && !defined __clang__
#define FT_UNROLL _Pragma("GCC unroll 8")
#else
#define FT_UNROLL
#endif

/* Let the compiler reach all that a pointer leads to from this one address.
 * Knowing how the address was formed, it may form one for each part. */
#ifdef __GNUC__
#define FT_ONE_ADDRESS(pointer) __asm__("" : "+r"(pointer))
#else
#define FT_ONE_ADDRESS(pointer) (void)0
#endif

/* In place even where it is rarely done. */
#ifdef __GNUC__
#define FT_INLINE inline __attribute__((always_inline))
#else
#define FT_INLINE inline
#endif

/* Return |x|. The compilers have an instruction for it, C99 has only libm. */
static inline ft_real ft_size(ft_real x)
{
#ifdef FT_REAL_IS_DOUBLE
    return __builtin_fabs(x);
#else
    return __builtin_fabsf(x);
#endif
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
