/* Interfaces between the source files of this folder. */
#ifndef FT_PARTS_H
#define FT_PARTS_H

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* Build switches for emulators, by default off. FT_POLLED_PORT: the processor,
 * not DMA, moves the link's bytes. FT_TOLERANT: missing clocks and timers are
 * accepted, and the outputs are never enabled. */
#ifndef FT_POLLED_PORT
#define FT_POLLED_PORT 0
#endif
#ifndef FT_TOLERANT
#define FT_TOLERANT 0
#endif

/* Marks a loop over a constant table that the compiler shall unroll. */
#define FT_FOLDED _Pragma("GCC unroll 8")

/* Wait until the masked register has the value. Return false after a time
 * longer than any start-up: 0.2 s on HSI, 0.02 s at 168 MHz. */
bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value);
void ft_wait_us(uint32_t us); /* bounded without a cycle counter too */

uint32_t ft_clock_start(void);    /* FT_CHIP_*; after an error on HSI */
void ft_clock_to_hsi(void);       /* for one family, like the next two */
bool ft_flash_prepare(void);      /* for full speed; false: slow flash */
bool ft_clock_to_pll(void);       /* false: crystal or PLL do not start */
bool ft_crystal_is_right(void);   /* compares with HSI, and stays on HSI */
bool ft_supply_start(void);       /* false: supply voltage too low */
bool ft_supply_sagged(void);      /* since the start */
void ft_supply_breaks(void);      /* if the chip can connect the detector */
bool ft_clock_good(void);
bool ft_clock_stopped(void);      /* the crystal has stopped while in use */
uint32_t ft_reset_cause(void);    /* FT_RESET_*; clears the flags */
void ft_history_start(void);      /* once the cause is known */
void ft_leave_if_asked(void);     /* must be the first call after a reset */
void ft_pins_prepare(void);       /* before the pins are used */
void ft_pins_start(void);
void ft_pin_put(uint32_t port, uint32_t pin, bool high);
bool ft_pin_high(uint32_t port, uint32_t pin);
bool ft_encoders_start(void);
bool ft_outputs_start(void);
bool ft_outputs_await_boundary(void); /* returns just after an update */
bool ft_outputs_update_at_top(void);  /* centred timers update at their top */
void ft_outputs_take_over(void);      /* at each tick boundary */
void ft_outputs_begin(void);          /* first act of a tick */
bool ft_outputs_hand_over(void);      /* last call of a tick; false: too late */
bool ft_gate_drivers_start(void);     /* false: a driver answers wrongly */
bool ft_drivers_report(void);         /* true: the fault line is active */
void ft_watchdog_start(void);
bool ft_sense_start(void);            /* false: no measurement works */
float ft_bus_ratio(void);             /* bus voltage over nominal voltage */
void ft_interrupt_enable(uint32_t number, uint32_t priority);

/* Current loops. The setpoint of a loop is relative to the loop's range. A loop
 * writes duties at the PWM rate. */
bool ft_currents_start(void);     /* false: the sampling does not start */
void ft_currents_run(void);
void ft_currents_on(void);        /* just before the outputs are switched on */
void ft_currents_watch(void);     /* at each tick boundary */
void ft_currents_moved(const int32_t counts[]); /* in every tick */
void ft_current_ask(uint32_t joint, float share);
void ft_output_write(uint32_t joint, float duty);
bool ft_outputs_wanted(void);
bool ft_outputs_awake(void);      /* true: the bridges have woken up */

/* The converter of the motors' currents, for one family, triggered in every PWM
 * period. Its interrupt reads all currents. */
bool ft_sampling_start(const uint8_t channels[], uint32_t count);
void ft_sampling_run(void);
void ft_sampling_take(uint32_t counts[], uint32_t count);

/* The converter that measures bus voltage and temperatures, for one family. */
bool ft_converter_start(const uint8_t channels[], uint32_t count);
void ft_converter_go(void);       /* convert all channels, one after another */
bool ft_converter_await(void);    /* false: not finished in a bounded time */
bool ft_converter_done(void);     /* since the last start */
uint32_t ft_converter_counts(uint32_t i); /* the latest of the i-th */

/* The controllers of buses, for one family. bus: number. Only the bus interrupt
 * calls these, except for the start and the queries. */
bool ft_can_start(uint32_t bus);        /* false: no initialisation */
void ft_can_acknowledge(uint32_t bus);  /* clear the cause of the interrupt */
bool ft_can_put(uint32_t bus, const ft_frame *f); /* false: no room */
bool ft_can_get(uint32_t bus, ft_frame *f);       /* false: nothing came */
bool ft_can_overrun(uint32_t bus);      /* since the last call */
void ft_can_abort(uint32_t bus);        /* discard unsent frames */
uint32_t ft_can_waiting(uint32_t bus);  /* number of these frames */
bool ft_can_off(uint32_t bus);          /* true: not on the bus */
void ft_can_recover(uint32_t bus, bool enter); /* enter or leave
                                                * initialisation */
uint32_t ft_can_errors(uint32_t bus);   /* sending, receiving << 8 */

/* Half-duplex USARTs, for one family. wire: the number of a wire. Received
 * bytes go to a circular buffer. */
void ft_half_duplex_start(uint32_t wire);
void ft_half_duplex_listen(uint32_t wire, volatile uint8_t *buffer,
                           uint32_t size);
bool ft_half_duplex_listens(uint32_t wire);
uint32_t ft_half_duplex_left(uint32_t wire); /* until the buffer's end */
bool ft_half_duplex_sends(uint32_t wire);
void ft_half_duplex_send(uint32_t wire, const uint8_t *bytes, uint32_t size);
bool ft_half_duplex_errors(uint32_t wire); /* since the last call */

/* Handlers in the vector table. */
void ft_bus_0_interrupt(void);
void ft_bus_1_interrupt(void);
void ft_bus_2_interrupt(void);
void ft_current_interrupt(void);
void ft_reset(void);
void ft_boundary_interrupt(void);
void ft_tick_interrupt(void);
void ft_port_interrupt(void);
void ft_crash_entry(void);
void ft_crash(const uint32_t *frame, uint32_t exc_return);

/* Interrupt priorities: a smaller number can interrupt a larger number. Faults
 * have 0. A bus interrupt must not delay the duties of a PWM update. */
enum { FT_PRIORITY_SUPPLY = 0, FT_PRIORITY_CURRENT = 1,
       FT_PRIORITY_BOUNDARY = 2, FT_PRIORITY_BUS = 3,
       FT_PRIORITY_TICK = 4, FT_PRIORITY_PORT = 5 };

/* Set a bit field of a register. */
static inline void ft_field(volatile uint32_t *reg, uint32_t index,
                            uint32_t width, uint32_t value)
{
    uint32_t mask = ((1u << width) - 1u) << (index * width);
    *reg = (*reg & ~mask) | value << (index * width);
}

/* The link's hardware, for one family: a circular stream for reception, a
 * stream that sends one piece at a time, and line errors. */
bool ft_port_chip_start(void);    /* false: the reception does not start */
bool ft_usart_start(void);
void ft_receive_start(volatile uint8_t *buffer, uint32_t size);
bool ft_receive_runs(void);
uint32_t ft_receive_left(void);   /* until the buffer's end */
bool ft_send_runs(void);
void ft_send_start(const volatile uint8_t *bytes, uint32_t size);
bool ft_line_flags_clear(void);   /* clears idle and errors; true: error */

/* For a plant that the host simulates (FT_PIL). */
bool ft_pil_due(void); /* true: this SysTick runs a tick */
int32_t ft_pil_moved(uint32_t joint); /* counts since the last call */
void ft_pil_duty(uint32_t joint, float duty);
void ft_pil_neutral(void); /* replaces the duties of a late tick */

/* Memory that survives a reset (.noinit), valid with a correct check sum. */
typedef struct {
    uint32_t word, word_check;     /* ft_chip_remember() */
    uint32_t crash_check;          /* FT_*_CHECK: members are valid */
    uint32_t exception;            /* exception, 2 NMI ... 6 usage fault */
    uint32_t pc, lr, psr;          /* of the code that faulted; 0: unknown */
    uint32_t cfsr, hfsr, address;  /* SCB's fault registers */
    uint32_t power_check;          /* FT_POWER_CHECK: was powered */
    uint32_t resets, resets_check; /* since power-on */
    uint32_t leave_check;          /* FT_LEAVE_CHECK: enter the boot loader */
} ft_keepsake;
extern ft_keepsake ft_kept;
#define FT_CRASH_CHECK 0xC0FFEE42u
#define FT_CLOCK_CHECK 0xC10C0FF5u /* the cause was only a stopped crystal */
#define FT_SUPPLY_CHECK 0x5A66ED42u /* only the supply sagged */
#define FT_POWER_CHECK 0x900D900Du
#define FT_LEAVE_CHECK 0x1EA7E5EDu

#endif
