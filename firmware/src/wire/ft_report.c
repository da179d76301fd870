/* STATUS, IDENT, ABOUT and the telemetry block; see ft_report.h. */
#include "ft_report.h"

#include "ft_chip.h"     /* ft_chip_reset_cause, ft_chip_history */
#include "ft_config.h"   /* FT_RING */
#include "ft_digest.h"   /* FT_DIGEST_BYTES, FT_NAME, ... */
#include "ft_loops.h"    /* ft_loops_mode */
#include "ft_position.h" /* ft_position_to_wire */
#include "ft_state.h"    /* ft, ft_target */

#include <string.h> /* memcpy, memset, strlen */

#define RATE_OF_U ((ft_real)(2u * FT_TICK_HZ))
#define TRIES 4 /* to copy without a tick in between */

const ft_telemetry_map ft_telemetry = {
    ft.tau, ft.law.torque, ft.law.duty, ft.seen.u, ft.seen.q, &ft.motion.now,
    &ft.tick,
#if FT_STEP_MODES > 1
    &ft.step.mode,
#else
    0,
#endif
    &ft.step, sizeof ft.step,
};

static uint32_t last_fault;      /* latched before the last reset */

/* Keep what was known before the reset, before anything is latched anew; a
 * crash left no time to write it down. */
void ft_report_start(uint32_t chip_errors)
{
    last_fault = (chip_errors & FT_CHIP_CRASHED) != 0u ? FT_FAULT_HARD_FAULT
                                                       : ft_chip_remembered();
}

/* Copy one number per joint. */
static inline void copy_reals(float to[FT_JOINTS],
                              const ft_real from[FT_JOINTS])
{
#ifdef FT_REAL_IS_DOUBLE
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        to[j] = (float)from[j];
#else
    memcpy(to, from, sizeof(float) * FT_JOINTS);
#endif
}

/* Copy one velocity per joint, rad/s or m/s, from half increments. */
static inline void copy_rates(float to[FT_JOINTS],
                              const ft_real from[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        to[j] = (float)(from[j] * RATE_OF_U);
}

/* Copy where the joints are, and where they should be: the short way on. */
static void copy_positions(ft_msg_status *s, const ft_turn target[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        uint32_t away = (uint32_t)ft_position_to_wire(target[j])
                        - (uint32_t)ft_position_to_wire(ft.seen.q[j]);

        s->position[j] = ft_observer_wire(&ft.seen, j);
        s->target[j] = s->position[j] + (int32_t)away;
    }
}

/* Take the limit bits gathered so far; one more bit may be lost to a tick in
 * between, and acts again in the next one. */
static uint16_t take_limits(void)
{
    uint32_t taken = ft.law.limits;

    ft.law.limits = 0;
    return (uint16_t)taken;
}

static void copy_safety(ft_msg_status *s)
{
    s->state = ft.safety.state;
    s->fault = ft.safety.fault;
    s->fault_joint = ft.safety.fault_joint;
    s->refusal = ft.safety.refusal;
    s->refusal_joint = ft.safety.refusal_joint;
    s->command_token = ft.safety.token;
    s->flags = ft.safety.flags;
    s->unhomed = (uint8_t)ft_safety_unhomed();
    s->mode = (uint8_t)ft_loops_mode(&ft.step);
}

static void copy_motion(ft_msg_status *s)
{
    s->credit = (uint16_t)ft_motion_credit(&ft.motion);
    s->buffered = (uint16_t)ft_motion_buffered(&ft.motion);
    s->knots_played = ft.motion.played;
    s->pace = (float)ft.motion.pace.half / (float)FT_HALF_ONE;
}

/* Return thousandths, within what fits; a number that is none is largest. */
static int32_t in_millis(float x)
{
    if (!(x < 2e6f))
        return INT32_MAX;
    return x > -2e6f ? (int32_t)(x * 1000.0f) : INT32_MIN;
}

static void copy_board(ft_msg_status *s)
{
    s->bus_mv = ft.bus_voltage < 65.0f ? (uint16_t)in_millis(ft.bus_voltage)
                                       : UINT16_MAX;
    s->temperature = in_millis(ft.temperature);
    s->cycles = ft.cycles;
    s->cycles_max = ft.cycles_max;
    s->driver_status = ft_chip_driver_status();
    s->line_errors = (uint16_t)ft_chip_line_errors();
}

/* Return a number of the wire as its bits. */
static uint32_t bits(float x)
{
    uint32_t word;

    memcpy(&word, &x, sizeof word);
    return word;
}

/* Return one word of what the last tick has left, FT_REPORT_WORDS of them. */
uint32_t ft_report_word(uint32_t word)
{
    const uint32_t j = word % FT_JOINTS;
    const ft_target *target = ft.motion.now;

    switch (word / FT_JOINTS) {
    case 0: return bits((float)ft.tau[j]);
    case 1: return bits((float)ft.law.torque[j]);
    case 2: return bits(ft.law.duty[j]);
    case 3: return bits((float)(ft.seen.u[j] * RATE_OF_U));
    case 4: return bits((float)(target->u[j] * RATE_OF_U));
    case 5: return (uint32_t)ft_position_to_wire(ft.seen.q[j]);
    case 6: return (uint32_t)ft_position_to_wire(target->q[j]);
    default: return ft.tick;
    }
}

static void copy_telemetry(ft_msg_status *s)
{
    const ft_target *target = ft.motion.now;

    s->tick = ft.tick > 0u ? ft.tick - 1u : 0u;
    copy_positions(s, target->q);
    copy_rates(s->rate, ft.seen.u);
    copy_rates(s->target_rate, target->u);
    copy_reals(s->torque_ff, ft.tau);
    copy_reals(s->torque, ft.law.torque);
    memcpy(s->duty, ft.law.duty, sizeof s->duty);
    memcpy(s->ku, ft.law.overlay[0], sizeof s->ku);
    memcpy(s->kv, ft.law.overlay[1], sizeof s->kv);
    memcpy(s->ki, ft.law.overlay[2], sizeof s->ki);
}

/* Fill in all that the tick knows, all of it of the same tick. */
void ft_report_status(ft_msg_status *s)
{
    uint32_t tick, tries = 0;

    do {
        tick = ft.tick;
        copy_safety(s);
        copy_motion(s);
        copy_board(s);
        copy_telemetry(s);
    } while (tick != ft.tick && ++tries < TRIES);
    s->limits = take_limits();
}

/* Copy a text, zero padded. */
static void copy_text(uint8_t *to, size_t room, const char *text)
{
    size_t length = strlen(text);

    memset(to, 0, room);
    memcpy(to, text, length < room ? length : room);
}

/* Say who this board is. */
void ft_report_ident(ft_msg_ident *m)
{
    static const uint8_t digest[] = FT_DIGEST_BYTES;

    m->protocol = FT_PROTOCOL;
    memcpy(m->digest, digest, sizeof m->digest);
    copy_text(m->name, sizeof m->name, FT_NAME);
    copy_text(m->board, sizeof m->board, FT_BOARD);
    m->joints = FT_JOINTS;
    m->rate_hz = FT_TICK_HZ;
    m->knot_hz = FT_KNOT_HZ;
    m->ring = (uint16_t)FT_RING;
    m->reset_cause = (uint8_t)ft_chip_reset_cause();
    m->last_fault = (uint8_t)last_fault;
}

/* Say which chip this is and what has happened to it. */
void ft_report_about(ft_msg_about *m)
{
    ft_history h;

    ft_chip_history(&h);
    memcpy(m->unique, h.unique, sizeof m->unique);
    copy_text(m->version, sizeof m->version, FT_VERSION);
    m->uptime = ft.tick / FT_TICK_HZ;
    m->resets = (uint16_t)(h.resets < UINT16_MAX ? h.resets : UINT16_MAX);
    memcpy(m->faults, ft.safety.latched, sizeof m->faults);
    m->options = h.options;
    m->crash = (uint8_t)h.exception;
    m->pc = h.pc;
    m->lr = h.lr;
    m->psr = h.psr;
    m->cfsr = h.cfsr;
    m->hfsr = h.hfsr;
    m->address = h.address;
}
