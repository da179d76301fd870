#ifndef SOAK_H
#define SOAK_H

#include <stdint.h>

extern void (*soak_after)(void); /* what else happens after each tick */
void soak_begin(const void *path, uint32_t count);
uint64_t soak_fill(void);
uint64_t soak_run(uint64_t ticks);
uint64_t soak_knots(void);
uint32_t soak_played(void);
uint32_t soak_tick(void);

#endif
