#ifndef SOAK_H
#define SOAK_H

#include <stdint.h>

extern void (*soak_after)(void); /* called after each tick */
extern uint32_t soak_follow; /* joints are at their targets */
void soak_begin(const void *path, uint32_t count);
uint64_t soak_fill(void);
uint64_t soak_run(uint64_t ticks);
void soak_poll(uint64_t tick);
uint64_t soak_knots(void);
uint32_t soak_played(void);
uint32_t soak_tick(void);

#endif
