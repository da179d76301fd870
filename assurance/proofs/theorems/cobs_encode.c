/* Byte stuffing: the encoder in wire/ft_cobs.c.
 *
 * Consistent overhead byte stuffing divides a frame into blocks. A block ends
 * at a zero, after 254 bytes, or with the frame. Each block is preceded by its
 * code, the distance to the next code. The next code replaces the zero. After a
 * block of 254 bytes the next code needs an additional byte. The proof checks
 * one arbitrary byte of a frame against these rules. The proof includes no
 * header that depends on a mechanism, so it remains valid until the encoder
 * changes. */
#include "proof.h"

#include <string.h>

#define BLOCK 254u /* most bytes without a zero with one code byte */
#define N 380u     /* the longest frame of eight joints, as cobs.c checks */
#define ROOM (N + N / BLOCK + 2u)
_Static_assert(N < 2u * BLOCK, "one block at most is whole");

static uint8_t frame[N + 1u], stuffed[ROOM];

/* For each byte: its position in the output, the number of bytes before it in
 * its block, and the size of a block that begins with this byte. */
static uint16_t at[N + 2u];
static uint8_t filled[N + 2u], ahead[N + 2u];
static size_t k; /* number of an arbitrary byte */

/* True if this byte fills a block, and another block follows. */
#define FULL(i) (frame[i] != 0u && filled[i] == BLOCK - 1u && (i) + 1u < size)
/* True if a code follows this byte or replaces it. */
#define ENDS(i) (frame[i] == 0u || FULL(i))
/* The first byte of this byte's block. */
#define FIRST(i) ((i) - filled[i])
#define CODE(i) (at[i] + (frame[i] != 0u ? 1u : 0u))

/* Define these three numbers of one byte from the numbers of the byte before.
 * For every frame the definition has exactly one solution. The proof uses the
 * definition at the byte that the encoder processes. */
static bool defined(size_t i, size_t size)
{
    GIVEN(at[i + 1u] == at[i] + (FULL(i) ? 2u : 1u));
    GIVEN(filled[i + 1u] == (ENDS(i) ? 0u : filled[i] + 1u));
    GIVEN(ahead[i] == (frame[i] == 0u            ? 0u
                       : ahead[i + 1u] >= BLOCK ? BLOCK
                                                : ahead[i + 1u] + 1u));
    GIVEN(ahead[i + 1u] <= BLOCK);
    return true;
}

static const size_t i; /* unused by the decoder */

#define if(...) if (defined(i, size) && (__VA_ARGS__))
#define for(...) for (__VA_ARGS__) \
    __CPROVER_assigns(i, to, code, code_at, __CPROVER_object_whole(stuffed)) \
    __CPROVER_loop_invariant(i <= size && to == at[i] && filled[i] <= i \
                             && to <= i + (FIRST(i) < BLOCK ? 1u : 2u)) \
    __CPROVER_loop_invariant(code == filled[i] + 1u && code_at == to - code) \
    __CPROVER_loop_invariant(code_at <= to && code_at < ROOM) \
    __CPROVER_loop_invariant(filled[i] < BLOCK || i == size) \
    __CPROVER_loop_invariant( \
        ahead[FIRST(i)] == (filled[i] + ahead[i] < BLOCK \
                                ? filled[i] + ahead[i] : BLOCK)) \
    __CPROVER_loop_invariant(FIRST(i) == 0u ? code_at == 0u \
                                            : stuffed[0] == ahead[0u] + 1u) \
    __CPROVER_loop_invariant(FIRST(i) == 0u || code_at > 0u) \
    __CPROVER_loop_invariant(k >= i || (at[k] > 0u && CODE(k) <= to)) \
    __CPROVER_loop_invariant(k >= i || frame[k] == 0u \
                             || (stuffed[at[k]] == frame[k] \
                                 && at[k] != code_at && at[k] < to)) \
    __CPROVER_loop_invariant(k >= i || !ENDS(k) \
                             || (CODE(k) < to && k < FIRST(i))) \
    __CPROVER_loop_invariant(k >= i || !ENDS(k) \
                             || (k + 1u == FIRST(i) \
                                     ? CODE(k) == code_at \
                                     : CODE(k) < code_at \
                                           && stuffed[CODE(k)] \
                                                  == ahead[k + 1u] + 1u)) \
    __CPROVER_decreases(size - i)

#include "ft_cobs.c"

#undef for
#undef if

/* For any frame that a board sends, the encoder writes every non-zero byte at
 * its defined position. Every block is preceded by its code, the number of the
 * block's bytes plus one. If a zero precedes the block, the code replaces this
 * zero. One zero follows the last block. No code is zero.
 * Run: unwind=2 contracts functions seconds=600 mechanisms=eight_link */
void prove_cobs_encode(void)
{
    const size_t size = nondet_size();
    size_t n;

    GIVEN(size <= N);
    ANYTHING(frame);
    ANYTHING(at);
    ANYTHING(filled);
    ANYTHING(ahead);
    GIVEN(at[0u] == 1u && filled[0u] == 0u && ahead[size] == 0u);
    GIVEN(ahead[0u] <= BLOCK);
    k = nondet_size();
    n = ft_cobs_encode(frame, size, stuffed);
    CLAIM(n == at[size] + 1u && n <= size + size / BLOCK + 2u);
    CLAIM(stuffed[n - 1u] == 0u && stuffed[0] == ahead[0u] + 1u);
    GIVEN(k < size);
    CLAIM(frame[k] == 0u || stuffed[at[k]] == frame[k]);
    CLAIM(!ENDS(k) || stuffed[CODE(k)] == ahead[k + 1u] + 1u);
    END;
}
