/* Byte stuffing: the decoder in wire/ft_cobs.c. cobs_encode.c states the rules
 * of the encoding.
 *
 * The proof compares the decoder's result with a reference that is computed
 * from the whole frame. A frame to a board has at most one block between two
 * zeros. ft_messages.h defines the length of frames, for eight joints too. */
#include "proof.h"

#include "ft_messages.h" /* FT_FRAME_RX_MAX, FT_FRAME_TX_MAX */

#include <string.h>

#define BLOCK 254u /* most bytes without a zero with one code byte */
_Static_assert(FT_FRAME_TX_MAX <= 380u, "cobs_encode.c has them all");

#define N FT_FRAME_RX_MAX
_Static_assert(N <= BLOCK, "frames to a board are of no whole block");
#define PLACES (N + 2u)

static uint8_t frame[N + 1u];
static uint8_t way[PLACES];       /* distance to the next zero or to the end */
static uint8_t reference[PLACES]; /* the stuffed frame without its final zero */
static struct {
    uint8_t at[PLACES];
} place; /* the decoder works in this buffer */

#define EVERY(k, claim) __CPROVER_forall { size_t k; (k < PLACES) ==> (claim) }

/* A replacement for memmove. The decoder shifts bytes only by one byte. */
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

/* Invariants of the decoder's loop. */
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

#undef while

/* Make any frame and its encoded reference, and return the frame's size. */
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

/* If a frame to a board is encoded by the rules, the decoder restores it.
 * Run: unwind=150 contracts seconds=600 mechanisms=three_link,eight_link */
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
