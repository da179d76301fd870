/* Byte stuffing of any bytes: wire/ft_cobs.c. */
#include "proof.h"

#include <string.h>

/* A replacement for memmove. After the call all bytes have any value. */
static void moved(uint8_t *to, const uint8_t *from, size_t n)
{
    CLAIM(n == 0u || (__CPROVER_r_ok(from, n) && __CPROVER_w_ok(to, n)));
    __CPROVER_havoc_object(to);
}

#define memmove moved

#define while(...) while (__VA_ARGS__) \
    __CPROVER_assigns(from, to, __CPROVER_object_whole(bytes)) \
    __CPROVER_loop_invariant(from <= size && to <= from) \
    __CPROVER_decreases(size - from)

#include "ft_cobs.c"

#undef while

#define MOST 1000u

/* For any bytes the decoder terminates. The decoder reads and writes no byte
 * outside the given bytes, and never returns a larger size.
 * Assumes: at most 1000 bytes.
 * Run: unwind=4 contracts */
void prove_cobs_decode_any(void)
{
    static uint8_t bytes[MOST];
    size_t size = nondet_size(), n;

    GIVEN(size <= MOST);
    ANYTHING(bytes);
    n = ft_cobs_decode(bytes, size);
    CLAIM(n == FT_COBS_BAD || n <= size);
    END;
}
