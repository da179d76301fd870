#include "image.h"

volatile uint32_t result[32];

void unused(void);
void unused(void)
{
    for (;;) {
    }
}

#define UNUSED(name) void name(void) __attribute__((weak, alias("unused")));
UNUSED(nmi)
UNUSED(hard_fault)
UNUSED(usage_fault)
UNUSED(bus_fault)
UNUSED(sv_call)
UNUSED(pend_sv)
UNUSED(sys_tick)
UNUSED(irq0)
UNUSED(irq1)

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[18] = {
    (vector)0x20010000, start, nmi, hard_fault, 0, bus_fault, usage_fault,
    0, 0, 0, 0, sv_call, 0, 0, pend_sv, sys_tick, irq0, irq1,
};
