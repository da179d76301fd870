/* Vocabulary of proofs. A harness includes the module that it is about; its
 * neighbours are functions of the harness that claim what they rely on and
 * return anything that they may. */
#ifndef PROOF_H
#define PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any value of a type: the prover knows functions of this name. */
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

/* Let a whole variable hold anything, pointers and padding too. */
#define ANYTHING(object) __CPROVER_havoc_object(&(object))

/* The last statement of every proof. It is refuted if the end can be reached;
 * a proof in which it is not says nothing. */
#define END __CPROVER_assert(0, "the end is reached")

#endif
