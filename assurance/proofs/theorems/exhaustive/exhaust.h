/* Macros of proofs that check every value of a number. These proofs are
 * compiled for this computer, with one rounding per operation as on the
 * chip. */
#ifndef EXHAUST_H
#define EXHAUST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t checks;

static inline void claim(bool holds, const char *what)
{
    checks++;
    if (holds)
        return;
    printf("refuted: %s\n", what);
    exit(1);
}

#define CLAIM(x) claim((x), #x)

/* Report a figure that the page of proofs shows. */
#define NOTE(...) (printf("note: "), printf(__VA_ARGS__), printf("\n"))

/* The last statement of every proof. */
#define END printf("checks: %llu\n", (unsigned long long)checks)

/* Return the float with these bits. */
static inline float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#endif
