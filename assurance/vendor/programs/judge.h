/* Reports of small programs with ST's drivers: found and expected values. The
 * runner (assurance/vendor/run.py) reads `reports` when `over` is set. */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>

#ifdef STM32G474xx
#include "stm32g4xx_hal.h"
#else
#include "stm32f4xx_hal.h"
#endif

typedef struct {
    const char *what;
    uint32_t found, low, high;
} judged;

extern judged reports[256];
extern volatile uint32_t report_count, over;

void report(const char *what, uint32_t found, uint32_t low, uint32_t high);
#define EXPECT(what, found, wanted) \
    report(what, (uint32_t)(found), (uint32_t)(wanted), (uint32_t)(wanted))
#define BETWEEN(what, found, low, high) \
    report(what, (uint32_t)(found), (uint32_t)(low), (uint32_t)(high))

void judge(void);          /* each program defines this function */
uint32_t cycles(void);     /* number of processor cycles since the start */
void wait_us(uint32_t us);

#endif
