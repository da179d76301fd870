/* What the parts of this chip folder ask of each other. */
#ifndef FT_PARTS_H
#define FT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Build switches, both for emulators and off by default.
 * FT_POLLED_LINK: move the link's bytes by the processor, not by DMA.
 * FT_TOLERANT: take missing clocks and timers for granted. An image built so
 * is for emulators only: it never enables its outputs. */
#ifndef FT_POLLED_LINK
#define FT_POLLED_LINK 0
#endif
#ifndef FT_TOLERANT
#define FT_TOLERANT 0
#endif

/* Wait until the masked register has the value; false after a bounded time
 * (some 0.2 s on HSI, 0.02 s at 168 MHz: longer than any start-up here). */
bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value);

bool ft_clock_start(void);        /* false: HSE or PLL dead, runs on HSI */
bool ft_clock_good(void);
void ft_pins_start(void);
bool ft_pin_high(uint32_t port, uint32_t pin);
bool ft_encoders_start(void);
bool ft_outputs_start(void);
bool ft_outputs_await_boundary(void); /* returns just after a PWM update */
void ft_outputs_take_over(void);      /* first act of a tick */
void ft_outputs_hand_over(void);      /* last act of a tick */
bool ft_usart_start(void);
void ft_watchdog_start(void);

/* With the plant at the host (FT_PIL). */
bool ft_pil_due(void); /* SysTick came: whether to run a tick */
int32_t ft_pil_moved(uint32_t joint); /* counts since last asked */
void ft_pil_duty(uint32_t joint, float duty);
void ft_pil_neutral(void); /* what a tick leaves that took too long */

/* Memory that a reset leaves alone (.noinit), valid if its check agrees. */
typedef struct {
    uint32_t word, word_check;     /* ft_chip_remember() */
    uint32_t crash_check;          /* FT_CRASH_CHECK: the rest is valid */
    uint32_t exception;            /* number, 2 NMI ... 6 usage fault */
    uint32_t pc, lr, psr;          /* of the code that faulted, 0 unknown */
    uint32_t cfsr, hfsr, address;  /* SCB's fault registers */
} ft_keepsake;
extern ft_keepsake ft_kept;
#define FT_CRASH_CHECK 0xC0FFEE42u

#endif
