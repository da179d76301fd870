/* The four memory functions that GCC requires even without a C library. These
 * functions replace the C library, whose version would change the image. */
#include <stddef.h>
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) ft_any_word;

/* Without it GCC would replace the loops by calls of these functions. */
#define PLAIN_LOOPS \
    __attribute__((used, optimize("no-tree-loop-distribute-patterns")))

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *left, const void *right, size_t size);

/* Copy memory. Copy whole words while both sides are aligned. */
PLAIN_LOOPS
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if ((((uintptr_t)t | (uintptr_t)f) & 3u) == 0) {
        ft_any_word *tw = to;
        const ft_any_word *fw = from;
        for (; size >= 4; size -= 4)
            *tw++ = *fw++;
        t = (uint8_t *)tw;
        f = (const uint8_t *)fw;
    }
    while (size-- != 0)
        *t++ = *f++;
    return to;
}

/* Copy memory between areas that may overlap. */
PLAIN_LOOPS
void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if ((uintptr_t)t <= (uintptr_t)f) {
        while (size-- != 0)
            *t++ = *f++;
    } else {
        while (size-- != 0)
            t[size] = f[size];
    }
    return to;
}

/* Fill memory. Fill whole words while the address is aligned. */
PLAIN_LOOPS
void *memset(void *to, int value, size_t size)
{
    uint8_t *t = to;
    if (((uintptr_t)t & 3u) == 0) {
        ft_any_word *tw = to;
        for (; size >= 4; size -= 4)
            *tw++ = (uint8_t)value * 0x01010101u;
        t = (uint8_t *)tw;
    }
    while (size-- != 0)
        *t++ = (uint8_t)value;
    return to;
}

/* Compare memory. Return the sign of the first difference. */
PLAIN_LOOPS
int memcmp(const void *left, const void *right, size_t size)
{
    const uint8_t *l = left;
    const uint8_t *r = right;
    for (; size != 0; size--, l++, r++) {
        if (*l != *r)
            return *l - *r;
    }
    return 0;
}
