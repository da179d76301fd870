/* Waiting for hardware, chip/stm32/ft_wait.c. All other waits use these
 * functions. */
#include "proof.h"

static uint32_t told(void) { return nondet_u32(); }

/* Variables that only one of the two functions has. */
static const volatile uint32_t *reg;
static uint32_t mask, value, cycles;

#ifdef PROOF_FOR
#define for(...) for (__VA_ARGS__) \
    __CPROVER_assigns(turns) \
    __CPROVER_loop_invariant(turns <= FT_PATIENCE STANDS_STILL) \
    __CPROVER_decreases(turns)
#else
#define for(...) for (__VA_ARGS__) \
    __CPROVER_assigns(turns) \
    __CPROVER_loop_invariant(turns <= cycles) \
    __CPROVER_decreases(cycles - turns)
#endif

#ifdef PROOF_STILL
#define STANDS_STILL && (turns == FT_PATIENCE || (*reg & mask) != value)
#else
#define STANDS_STILL
#endif

#include "ft_wait.c"

#undef for

uint32_t ft_chip_cycles(void) { return nondet_u32(); }
bool ft_clock_good(void) { return nondet_bool(); }

/* For any register values, different at each read, a wait ends after at most
 * FT_PATIENCE reads.
 * Run: unwind=2 contracts registers define=PROOF_FOR */
void prove_wait_ends(void)
{
    uint32_t any;

    (void)ft_wait_for(&any, nondet_u32(), nondet_u32());
    END;
}

/* The result of a wait is correct if the register does not change.
 * Run: unwind=2 contracts define=PROOF_FOR,PROOF_STILL */
void prove_wait_tells(void)
{
    const volatile uint32_t still = nondet_u32();
    const uint32_t of = nondet_u32(), wanted = nondet_u32();

    CLAIM(ft_wait_for(&still, of, wanted) == ((still & of) == wanted));
    END;
}

/* For any values of the cycle counter, a pause ends after at most one read for
 * each of its cycles.
 * Run: unwind=2 contracts */
void prove_wait_pauses(void)
{
    ft_wait_us(nondet_u32());
    END;
}
