/* Hints for the compiler, and macros for code that only some images contain. */
#ifndef FT_COMPILER_H
#define FT_COMPILER_H

/* FT_IF(FT_BRAKE, text) is the text in an image with FT_BRAKE 1, else nothing,
 * for rows of tables and members of structs. For statements a plain `if` is
 * enough, since the compiler removes a dead branch. */
#define FT_IF(feature, ...) FT_IF_(feature, __VA_ARGS__)
#define FT_IF_(feature, ...) FT_IF_##feature(__VA_ARGS__)
#define FT_IF_0(...)
#define FT_IF_1(...) __VA_ARGS__

/* The text in an image without the feature. */
#define FT_UNLESS(feature, ...) FT_UNLESS_(feature, __VA_ARGS__)
#define FT_UNLESS_(feature, ...) FT_UNLESS_##feature(__VA_ARGS__)
#define FT_UNLESS_0(...) __VA_ARGS__
#define FT_UNLESS_1(...)

#ifdef __GNUC__
#define FT_MAYBE_UNUSED __attribute__((unused)) /* only FT_IF uses it */
/* Marks code that rarely runs. The compiler moves it out of the usual path. */
#define FT_RARELY(x) __builtin_expect((x), 0)
#define FT_RARE __attribute__((noinline, cold))
#define FT_APART __attribute__((noinline)) /* callers then save no registers */
#define FT_INLINE inline __attribute__((always_inline))
/* Make the compiler use one base address for all members behind a pointer. If
 * the compiler knew where the pointer comes from, it might load a separate
 * address for each member. */
#define FT_ONE_ADDRESS(pointer) __asm__("" : "+r"(pointer))
#else
#define FT_MAYBE_UNUSED
#define FT_RARELY(x) (x)
#define FT_RARE
#define FT_APART
#define FT_INLINE inline
#define FT_ONE_ADDRESS(pointer) (void)0
#endif

/* Let the compiler unroll loops over joints, since an arm has few joints. */
#if defined __GNUC__ && !defined __clang__
#define FT_UNROLL _Pragma("GCC unroll 8")
#else
#define FT_UNROLL
#endif

#endif
