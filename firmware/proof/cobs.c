/* Byte stuffing, wire/ft_cobs.c.
 *
 * Consistent overhead byte stuffing of up to 254 bytes has a reference that
 * needs no loop over blocks: every byte stays, one place later, but that a
 * zero, and the place before the first byte, become the way to the next zero
 * or to the end. Encoder and decoder are each held against it, by an invariant
 * of their loop. The longest frame to a board of eight joints has 110. */
#include "proof.h"

#include <string.h>

#define N 110u /* bytes of the longest frame */
#define PLACES (N + 2u)

static uint8_t frame[N + 1u], stuffed[PLACES];
static uint8_t way[PLACES];       /* from a place to the next zero or the end */
static uint8_t reference[PLACES]; /* the frame stuffed, its last zero left out */
static struct {
    uint8_t at[PLACES];
} place; /* to be unstuffed in it */

#define EVERY(k, claim) __CPROVER_forall { size_t k; (k < PLACES) ==> (claim) }

/* In place of memmove, which the decoder uses to move by one. */
static void move_by_one(uint8_t *to, const uint8_t *from, size_t n)
{
    const size_t at = (size_t)(to - place.at);
    const __typeof__(place) old = place;

    CLAIM(from == to + 1 && at + n < PLACES);
    ANYTHING(place);
    GIVEN(EVERY(k, place.at[k] == (at <= k && k < at + n ? old.at[k + 1u]
                                                          : old.at[k])));
}

#define memmove move_by_one

/* the encoder's loop */
#define for(...) for (__VA_ARGS__) \
    __CPROVER_assigns(i, to, code, code_at, __CPROVER_object_whole(stuffed)) \
    __CPROVER_loop_invariant(i <= size && to == i + 1u && code_at <= i \
                             && code == to - code_at) \
    __CPROVER_loop_invariant(code_at == 0u || frame[code_at - 1u] == 0u) \
    __CPROVER_loop_invariant(way[code_at] == i - code_at + way[i]) \
    __CPROVER_loop_invariant(EVERY(k, k >= to || k == code_at \
                                      || stuffed[k] == reference[k])) \
    __CPROVER_decreases(size - i)

/* the decoder's */
#define while(...) while (__VA_ARGS__) \
    __CPROVER_assigns(from, to, __CPROVER_object_whole(bytes)) \
    __CPROVER_loop_invariant(from <= size) \
    __CPROVER_loop_invariant(from < size ? to == from : to + 1u == size) \
    __CPROVER_loop_invariant(from == 0u || from == size \
                             || frame[from - 1u] == 0u) \
    __CPROVER_loop_invariant(EVERY(k, k >= to || bytes[k] == frame[k])) \
    __CPROVER_loop_invariant(EVERY(k, k < from || k >= size \
                                      || bytes[k] == reference[k])) \
    __CPROVER_decreases(size - from)

#include "ft_cobs.c"

#undef for
#undef while

/* Return the size of any frame, with its reference made. */
static size_t any_frame(void)
{
    size_t size = nondet_size(), i;

    GIVEN(size <= N);
    ANYTHING(frame);
    for (i = N + 1u; i-- > 0;)
        way[i] = i >= size || frame[i] == 0u ? 1u : (uint8_t)(way[i + 1u] + 1u);
    reference[0] = way[0];
    for (i = 0; i < N; i++)
        reference[i + 1u] = frame[i] != 0u ? frame[i] : way[i + 1u];
    return size;
}

/* What the encoder makes of a frame is the reference and one zero, no other
 * byte of it is zero, and nothing is written beyond.
 * Assumes: a frame of at most 110 bytes, the longest that a board of eight
 * joints is sent.
 * Run: unwind=120 contracts seconds=300 */
void prove_cobs_encode(void)
{
    size_t size = any_frame(), n = ft_cobs_encode(frame, size, stuffed);
    size_t k = nondet_size();

    CLAIM(n == size + 2u && n <= size + size / 254u + 2u);
    CLAIM(stuffed[n - 1u] == 0u);
    GIVEN(k < n - 1u);
    CLAIM(stuffed[k] == reference[k] && stuffed[k] != 0u);
    END;
}

/* Of the reference the decoder makes the frame again: with the theorem before,
 * decoding what was encoded gives every frame back.
 * Assumes: a frame of at most 110 bytes.
 * Run: unwind=120 contracts seconds=300 */
void prove_cobs_decode_gives_back(void)
{
    size_t size = any_frame(), i;

    for (i = 0; i < PLACES; i++)
        place.at[i] = reference[i];
    CLAIM(ft_cobs_decode(place.at, size + 1u) == size);
    i = nondet_size();
    GIVEN(i < size);
    CLAIM(place.at[i] == frame[i]);
    END;
}
