/* The check sum, wire/ft_crc.c. */
#include "proof.h"

#ifdef PROOF_STEPS
#define for(...) for (__VA_ARGS__) \
    __CPROVER_assigns(i, crc) \
    __CPROVER_loop_invariant(i <= size) \
    __CPROVER_decreases(size - i)
#endif

#include "ft_crc.c"

#undef for

/* Return the register after one byte, computed bit by bit by the polynomial's
 * definition (IEEE 802.3, reflected). */
static uint32_t by_bits(uint32_t crc, uint8_t byte)
{
    uint32_t i;

    crc ^= byte;
    for (i = 0; i < 8u; i++)
        crc = (crc & 1u) != 0u ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
    return crc;
}

/* For any previous check sum, one byte changes the check sum as the bitwise
 * definition of the polynomial does.
 * Run: unwind=10 */
void prove_crc_step(void)
{
    uint32_t before = nondet_u32();
    uint8_t byte = nondet_u8();

    CLAIM(ft_crc32_more(before, &byte, 1) == ~by_bits(~before, byte));
    END;
}

/* The check sum of two pieces equals the check sum of the whole.
 * Assumes: at most 3 bytes. The result extends to longer pieces, because only
 * the check sum is carried from byte to byte.
 * Run: unwind=10 */
void prove_crc_pieces(void)
{
    uint8_t bytes[3];
    size_t size = nondet_size(), first = nondet_size();

    GIVEN(size <= sizeof bytes && first <= size);
    CLAIM(ft_crc32(bytes, size)
          == ft_crc32_more(ft_crc32(bytes, first), bytes + first,
                           size - first));
    END;
}

/* For any number of bytes, the function reads no byte outside the given bytes,
 * and the loop terminates.
 * Assumes: at most 4096 bytes at a time, as frames and the pieces of
 * ft_watch.c have.
 * Run: unwind=2 contracts define=PROOF_STEPS */
void prove_crc_reads(void)
{
    static uint8_t bytes[4096];
    size_t size = nondet_size();

    GIVEN(size <= sizeof bytes);
    (void)ft_crc32(bytes, size);
    END;
}
