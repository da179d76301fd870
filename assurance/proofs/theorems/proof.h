/* Macros and functions that all proofs use. The file of a proof includes the
 * source file of the module that it proves. The modules that this module calls
 * are stubs: they check their preconditions and return any value within their
 * contract. Stubs leave parameters unused, so the compiler's warnings are
 * disabled here. */
#ifndef PROOF_H
#define PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return any value of a type. The prover recognises these names. */
bool nondet_bool(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
int32_t nondet_i32(void);
size_t nondet_size(void);
float nondet_float(void);

#define GIVEN(x) __CPROVER_assume(x)
#define CLAIM(x) __CPROVER_assert(x, #x)

/* Set a whole variable to any value, including its pointers and padding. */
#define ANYTHING(object) __CPROVER_havoc_object(&(object))

/* Return any number below n. */
static inline uint32_t below(uint32_t n)
{
    const uint32_t number = nondet_u32();

    GIVEN(number < n);
    return number;
}

/* The last statement of every proof. The prover refutes this statement if the
 * end of the proof can be reached. A proof whose end cannot be reached would
 * prove nothing. */
#define END __CPROVER_assert(0, "the end is reached")

#endif
