/* Waiting for hardware, chip/stm32/ft_wait.c. All other waits are made of
 * these. */
#include "proof.h"

static uint32_t told(void) { return nondet_u32(); }

/* Names of the one function that the other's loop does not know. */
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

/* Whatever a register holds, another value each time that it is read: a wait
 * for it ends after FT_PATIENCE looks at most.
 * Run: unwind=2 contracts registers define=PROOF_FOR */
void prove_wait_ends(void)
{
    uint32_t any;

    (void)ft_wait_for(&any, nondet_u32(), nondet_u32());
    END;
}

/* The result of a wait is right, if the register keeps its value.
 * Run: unwind=2 contracts define=PROOF_FOR,PROOF_STILL */
void prove_wait_tells(void)
{
    const volatile uint32_t still = nondet_u32();
    const uint32_t of = nondet_u32(), wanted = nondet_u32();

    CLAIM(ft_wait_for(&still, of, wanted) == ((still & of) == wanted));
    END;
}

/* A pause ends whatever the counter of cycles tells: after as many looks at it
 * as the pause has cycles.
 * Run: unwind=2 contracts */
void prove_wait_pauses(void)
{
    ft_wait_us(nondet_u32());
    END;
}
