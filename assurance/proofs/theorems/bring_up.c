/* Start-up, ticks and watchdog, chip/stm32/ft_tick.c, and the identity of the
 * chip, ft_identity.c.
 *
 * Each unit of the chip may fail to start. Each read of a register may return
 * any value. */
#define OWN_INTERRUPTS
#include "proof.h"

/* Record the words that are written to the watchdog, in order. */
#define KR keys[8]
#include "peripherals.h"
#undef KR
#define KR keys[key++]

static uint32_t key;

/* True if the watchdog stops while a debugger halts the processor. */
#define STOPS_IN_HALT ((DBGMCU_WATCHDOG & DBGMCU_WATCHDOG_STOP) != 0u)

ft_keepsake ft_kept;

static uint32_t errors_of_clock;
static bool safe, drivers, port, sense, others; /* started without error */
static bool again;          /* the program has requested a reset */
static uint32_t wanted_off; /* number of requests to switch off the outputs */

static bool comes(bool *good)
{
    const bool came = nondet_bool();

    *good = *good && came;
    return came;
}

uint32_t ft_clock_start(void)
{
    errors_of_clock = nondet_u32();
    GIVEN(errors_of_clock == FT_CHIP_GOOD || errors_of_clock == FT_CHIP_SUPPLY
          || errors_of_clock == FT_CHIP_CLOCK
          || errors_of_clock == FT_CHIP_CRYSTAL); /* proved by clock_start */
    return errors_of_clock;
}

uint32_t ft_reset_cause(void)
{
    const uint32_t cause = nondet_u32();

    GIVEN(cause <= FT_RESET_OTHER); /* proved by clock_asked */
    return cause;
}

bool ft_outputs_start(void) { return comes(&others); }
bool ft_encoders_start(void) { return comes(&others); }
bool ft_outputs_update_at_top(void) { return comes(&others); }
bool ft_outputs_await_boundary(void) { return nondet_bool(); }
bool ft_gate_drivers_start(void) { return comes(&drivers); }
bool ft_port_chip_start(void) { return comes(&port); }
bool ft_chip_buses_start(void) { return comes(&port); }
bool ft_chip_wires_start(void) { return comes(&port); }
bool ft_sense_start(void) { return comes(&sense); }
bool ft_currents_start(void) { return comes(&sense); }
void ft_currents_run(void) { }
void ft_pins_start(void) { }

/* ---- a tick ------------------------------------------------------------- */

static enum { BEFORE, TAKEN, BEGUN, DONE, HANDED, MISSED } at;
static bool in_time;

void ft_outputs_take_over(void)
{
    CLAIM(at == BEFORE);
    at = TAKEN;
}

void ft_outputs_begin(void)
{
    CLAIM(at == (FT_TICK_PRELOAD ? TAKEN : BEFORE));
    at = BEGUN;
}

void ft_app_tick(void)
{
    CLAIM(at == BEGUN);
    at = DONE;
}

bool ft_outputs_hand_over(void)
{
    CLAIM(at == DONE);
    at = HANDED;
    in_time = nondet_bool();
    return in_time;
}

void ft_app_missed(void)
{
    CLAIM(at == HANDED && !in_time);
    at = MISSED;
}

void ft_chip_safe(void) { safe = true; }

void ft_chip_outputs(bool enabled)
{
    CLAIM(!enabled);
    wanted_off++;
}

/* ---- the files of the proofs -------------------------------------------- */

#define for(...) for (__VA_ARGS__) \
    __CPROVER_assigns(turns, told_last) \
    __CPROVER_loop_invariant(turns <= FT_TICK_CYCLES) \
    __CPROVER_decreases(turns)
#include "ft_tick.c"
#undef for

/* The model ends where the processor would reset. */
#define for(...) if (again = true, true)
#include "ft_identity.c"
#undef for

/* For any register values, and for any unit that fails to start, the start ends
 * and reports each failed unit. The watchdog runs afterwards. The watchdog is
 * started, unlocked, set and fed, in this order, with values that its registers
 * can hold. If no unit drives motors while a debugger halts the processor, the
 * watchdog stops during the halt.
 * Run: unwind=2 contracts registers mechanisms=f405rg-4:voltage,f405rg-6:voltage,nucleo-g474re-6:voltage,damiao_arm,so101_sts */
void prove_start_tells(void)
{
    uint32_t errors;

    ANYTHING(ft_kept);
    key = 0;
    drivers = port = sense = others = true;
    errors = ft_chip_start();
    CLAIM((errors & errors_of_clock) == errors_of_clock);
    CLAIM(((errors & FT_CHIP_DRIVER) == 0u) == drivers);
    CLAIM(((errors & FT_CHIP_PORT) == 0u) == port);
    CLAIM(((errors & FT_CHIP_SENSE) == 0u) || !sense);
    CLAIM(others || (errors & (FT_CHIP_TIMER | FT_CHIP_UPDATE)) != 0u);
    CLAIM(key == 3u && IWDG->keys[0] == IWDG_KR_START);
    CLAIM(IWDG->keys[1] == IWDG_KR_UNLOCK);
    CLAIM(IWDG->keys[2] == IWDG_KR_FEED);
    CLAIM(IWDG->PR <= 6u && IWDG->RLR <= 0xFFFu);
    CLAIM(STOPS_IN_HALT == FT_HALT_STOPS);
    CLAIM(ft_chip_reset_cause() <= FT_RESET_OTHER);
    CLAIM(ft_kept.crash_check == 0u && ft_kept.word == 0u);
    END;
}

/* A tick takes the measurements, computes, and passes its duties to the timers,
 * in this order. Passing the duties too late is reported as a missed tick. The
 * only value that is written to the watchdog is the key that feeds it. If a
 * unit continues to drive motors while a debugger halts the processor, the
 * watchdog also continues, for any setting of the debugger.
 * Run: unwind=2 contracts registers mechanisms=f405rg-4:voltage,f405rg-6:voltage */
void prove_tick_order(void)
{
    key = 0;
    at = BEFORE;
    if (nondet_bool()) {
        ft_chip_run();
        ft_chip_feed_watchdog();
        CLAIM(key == 1u && IWDG->keys[0] == IWDG_KR_FEED);
        CLAIM(FT_HALT_STOPS || !STOPS_IN_HALT);
    } else {
#if !FT_TICK_PRELOAD
        ft_boundary_interrupt();
        CLAIM(at == TAKEN && SCB->ICSR == SCB_ICSR_PENDSVSET);
        at = BEFORE;
#endif
        ft_tick_interrupt();
        CLAIM(at == (in_time ? HANDED : MISSED) && key == 0u);
    }
    END;
}

/* Enabling any interrupt of the chip writes the priority byte and the enable
 * bit of this interrupt.
 * Run: unwind=2 mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage */
void prove_interrupt_enable(void)
{
    const uint32_t n = below(FT_VECTOR_COUNT), priority = below(16u);

    ft_interrupt_enable(n, priority);
    CLAIM(at_priority[n] == priority << 4);
    CLAIM(at_iser[n / 32u] == 1u << (n % 32u));
    END;
}

/* A crash, or a failure of the clock or supply, is reported once. The stored
 * words are part of the report if their check sum is correct. The stored word
 * for the next start is returned once. The boot loader is entered by a reset,
 * with the outputs off.
 * Run: unwind=14 registers mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage */
void prove_start_kept(void)
{
    ft_history h;
    uint32_t word, check;

    again = safe = false;
    wanted_off = 0;
    ANYTHING(ft_kept);
    word = ft_kept.word;
    check = ft_kept.word_check;
    ft_history_start();
    (void)ft_read_kept();
    CLAIM(ft_chip_remembered() == (check == ~word ? word : 0u));
    CLAIM(ft_read_kept() == FT_CHIP_GOOD && ft_chip_remembered() == 0u);
    CLAIM(ft_kept.resets_check == ~ft_kept.resets);
    ft_chip_history(&h);
    CLAIM(h.resets == ft_kept.resets);
    ft_leave_if_asked();
    CLAIM(ft_kept.leave_check != FT_LEAVE_CHECK);
    if (ft_chip_has_loader()) {
        ft_chip_leave();
        CLAIM(again && safe && wanted_off == 1u);
        CLAIM(ft_kept.leave_check == FT_LEAVE_CHECK);
    }
    END;
}
