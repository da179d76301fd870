/* All bytes of a tick on a wire of servos, bus/ft_sts.c. A wire has 2 servos
 * here, as in servos.c. */
#include "proof.h"

#include <string.h>

#include "ft_config.h"
#undef FT_WIRE_MOST
#define FT_WIRE_MOST 2u

#include "ft_config.c"

/* In place of memcmp and memcpy: the sent bytes came back or not, and copies
 * have any contents. */
static int compared(const void *a, const void *b, size_t size)
{
    CLAIM(__CPROVER_r_ok(a, size) && __CPROVER_r_ok(b, size));
    return nondet_bool() ? 1 : 0;
}

static void copied(void *to, const void *from, size_t size)
{
    CLAIM(__CPROVER_r_ok(from, size) && __CPROVER_w_ok(to, size));
    if (size != 0u)
        __CPROVER_havoc_slice(to, size);
}

#define memcmp compared
#define memcpy copied

#define for(...) for (__VA_ARGS__) __CPROVER_loop_invariant(i <= FT_STS_IN)
#define while(...) while (__VA_ARGS__) \
    __CPROVER_assigns(at, __CPROVER_object_whole(w)) \
    __CPROVER_loop_invariant(at <= came && w->answers <= FT_WIRE_MOST \
                             && w->read == 0u && w->servos <= FT_WIRE_MOST \
                             && (w->width <= 2u \
                                 || w->width == FT_STS_STATE_SIZE)) \
    __CPROVER_decreases(came - at)

#include "ft_sts.c"

#undef for
#undef while

static ft_sts wire;

/* Whatever bytes came, as many as the buffer holds, all of them are taken in,
 * without a run-time error: that ends, and the invariant of servos.c is kept.
 * Run: unwind=16 contracts slice mechanisms=so101_sts */
void prove_sts_came(void)
{
    const uint32_t came = nondet_u32();

    ANYTHING(wire);
    GIVEN(came <= FT_STS_IN && wire.size <= FT_STS_OUT);
    GIVEN(wire.servos <= FT_WIRE_MOST);
    GIVEN(wire.width <= 2u || wire.width == FT_STS_STATE_SIZE);
    ft_sts_came(&wire, came);
    CLAIM(wire.answers <= FT_WIRE_MOST && wire.read == 0u);
    CLAIM(wire.servos <= FT_WIRE_MOST);
    END;
}
