/* Exceptions of an ARMv7-M processor, which can be pending, enabled and active.
 * The priorities determine the next exception. */
#ifndef NVIC_H
#define NVIC_H

#include <stdint.h>

#define EXCEPTIONS 144
#define FIRST_IRQ 16
#define NVIC_SETS 0x9E000000u /* writable bits of ICSR */
#define THREAD 256 /* thread mode, below any exception */

enum {
    NO_EXCEPTION = -1,
    RESET = 1,
    NMI = 2,
    HARD_FAULT = 3,
    PENDSV = 14,
    SYSTICK = 15
};

/* The chip implements the upper four of a priority's 8 bits. lines: interrupt
 * requests that peripherals assert. active: active exceptions; the innermost is
 * last. group_shift: AIRCR.PRIGROUP. */
typedef struct {
    uint8_t pending[EXCEPTIONS], enabled[EXCEPTIONS], lines[EXCEPTIONS];
    uint8_t priority[EXCEPTIONS];
    int32_t active[EXCEPTIONS], depth;
    uint32_t group_shift;
} nvic;

void nvic_line(nvic *n, int32_t irq, int32_t asserted);
int32_t nvic_group(const nvic *n, int32_t number);
int32_t nvic_running(const nvic *n, uint32_t primask, uint32_t basepri,
                     uint32_t faultmask);
int32_t nvic_candidate(const nvic *n);
uint32_t nvic_control(const nvic *n);
void nvic_set(nvic *n, uint32_t value);
void nvic_enter(nvic *n, int32_t number);
int32_t nvic_leave(nvic *n);

#endif
