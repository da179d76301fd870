/* STATUS, IDENT, ABOUT and the telemetry block; see ft_port.h. */
#include "ft_port.h"

#include "ft_chip.h"     /* ft_chip_reset_cause, ft_chip_history */
#include "ft_config.h"   /* FT_RING */
#include "ft_digest.h"   /* FT_DIGEST_BYTES, FT_NAME, ... */
#include "ft_loops.h"    /* ft_loops_mode */
#include "ft_position.h" /* ft_position_to_wire */
#include "ft_queue.h"    /* FT_STORED */

#include <string.h> /* memcpy, memset, strlen */

#define VELOCITY_OF_U ((ft_real)(2u * FT_TICK_HZ))
#define TRIES 4 /* attempts to copy without a tick in between */

static uint32_t last_fault;      /* fault latched before the last reset */

/* Keep the last fault before the reset. A crash could not store its fault. */
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
static inline void copy_velocities(float to[FT_JOINTS],
                              const ft_real from[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        to[j] = (float)(from[j] * VELOCITY_OF_U);
}

/* Copy the joints' positions, and the targets that are nearest to these
 * positions. */
static void copy_positions(ft_msg_status *s, const ft_observer *seen,
                           const ft_turn target[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        s->position[j] = ft_observer_wire(seen, j);
        s->target[j] = ft_observer_turned(seen, j, target[j]);
    }
}

static void copy_safety(ft_msg_status *s, const ft_safety *from)
{
    s->state = from->state;
    s->fault = from->fault;
    s->fault_joint = from->fault_joint;
    s->refusal = from->refusal;
    s->refusal_joint = from->refusal_joint;
    s->command_token = from->token;
    s->flags = from->flags;
    s->unhomed = (uint8_t)ft_safety_unhomed(from);
}

static void copy_motion(ft_msg_status *s, const ft_motion *m)
{
    s->credit = (uint16_t)ft_queue_credit(&m->queue);
    s->buffered = (uint16_t)ft_queue_buffered(&m->queue);
    s->knots_played = m->played;
    s->pace = (float)m->pace.half / (float)FT_HALF_ONE;
}

/* Return thousandths, clamped to int32_t. NaN gives the largest number. */
static int32_t in_millis(float x)
{
    if (!(x < 2e6f))
        return INT32_MAX;
    return x > -2e6f ? (int32_t)(x * 1000.0f) : INT32_MIN;
}

static void copy_board(ft_msg_status *s, const ft_sensors *from)
{
    s->bus_mv = from->bus_voltage < 65.0f
                    ? (uint16_t)in_millis(from->bus_voltage) : UINT16_MAX;
    s->temperature = in_millis(from->temperature);
    s->driver_status = ft_chip_driver_status();
    s->line_errors = (uint16_t)ft_chip_line_errors();
}

/* Return the bits of a float. */
static uint32_t bits(float x)
{
    uint32_t word;

    memcpy(&word, &x, sizeof word);
    return word;
}

/* Return one of the FT_REPORT_WORDS words of the last tick. */
uint32_t ft_report_word(const ft_control *c, uint32_t tick, uint32_t word)
{
    const uint32_t j = word % FT_JOINTS;
    const ft_target *target = c->motion.now;

    switch (word / FT_JOINTS) {
    case 0: return bits((float)c->tau[j]);
    case 1: return bits((float)c->law.torque[j]);
    case 2: return bits(c->law.duty[j]);
    case 3: return bits((float)(c->seen.u[j] * VELOCITY_OF_U));
    case 4: return bits((float)(target->u[j] * VELOCITY_OF_U));
    case 5: return (uint32_t)ft_position_to_wire(c->seen.q[j]);
    case 6: return (uint32_t)ft_position_to_wire(target->q[j]);
    default: return tick;
    }
}

static void copy_control(ft_msg_status *s, const ft_control *c)
{
    const ft_target *target = c->motion.now;

    s->mode = (uint8_t)ft_loops_mode(&c->step);
    copy_positions(s, &c->seen, target->q);
    copy_velocities(s->rate, c->seen.u);
    copy_velocities(s->target_rate, target->u);
    copy_reals(s->torque_ff, c->tau);
    copy_reals(s->torque, c->law.torque);
    memcpy(s->duty, c->law.duty, sizeof s->duty);
    memcpy(s->ku, c->law.overlay[0], sizeof s->ku);
    memcpy(s->kv, c->law.overlay[1], sizeof s->kv);
    memcpy(s->ki, c->law.overlay[2], sizeof s->ki);
}

/* Copy the last tick's number and cycles. */
static void copy_time(ft_msg_status *s, const ft_time *from)
{
    uint32_t tick = from->tick;

    s->tick = tick > 0u ? tick - 1u : 0u;
    s->cycles = from->cycles;
    s->cycles_max = from->cycles_max;
}

/* Fill in STATUS with numbers of the same tick. */
void ft_report_status(ft_msg_status *s, const ft_time *time,
                      const ft_sensors *sensors, const ft_safety *safety,
                      const ft_control *control)
{
    uint32_t tick, tries = 0;

    do {
        tick = time->tick;
        FT_STORED();
        copy_safety(s, safety);
        copy_motion(s, &control->motion);
        copy_board(s, sensors);
        copy_time(s, time);
        copy_control(s, control);
        FT_STORED();
    } while (tick != time->tick && ++tries < TRIES);
}

/* Fill in FOLLOWED, except for the limits that acted. */
void ft_report_followed(ft_msg_followed *m, const ft_follow *f, uint32_t tick)
{
    const ft_targets *t = &f->targets;
    const bool begun = t->begun && !f->fresh;
    uint32_t j;

    m->tick = tick;
    m->phase = f->phase;
    m->delay = begun ? t->in_force : 0u;
    m->frame = begun ? f->reference.spacing : 0u;
    m->ahead = begun ? (int32_t)(t->last - ft_follow_playing(f)) : 0;
    m->targets = f->fresh ? 0u : t->taken;
    m->late = f->fresh ? 0u : t->late;
    m->lost = f->fresh ? 0u : t->lost;
    m->refused = f->fresh ? 0u : t->refused;
    for (j = 0; j < FT_JOINTS; j++)
        m->behind[j] = (float)f->behind[j];
}

/* Copy a text, zero padded. */
static void copy_text(uint8_t *to, size_t room, const char *text)
{
    size_t length = strlen(text);

    memset(to, 0, room);
    memcpy(to, text, length < room ? length : room);
}

/* Fill in IDENT. */
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

/* Fill in FELT. */
void ft_report_felt(ft_msg_felt *m, const ft_contact *f, uint32_t tick)
{
    uint32_t j;

    m->tick = tick;
    m->touched = f->touched ? FT_FELT_TOUCH : 0u;
    if (FT_YIELDS)
        m->touched |= f->way;
    if (FT_STEP_CLOSED)
        m->touched |= f->blind ? FT_FELT_BLIND : 0u;
    m->joint = f->joint;
    m->touches = f->touches;
    m->touch_tick = f->touch_tick;
    for (j = 0; j < FT_JOINTS; j++)
        m->external[j] = (float)ft_contact_external(f, j);
    copy_reals(m->mean, f->mean);
    copy_reals(m->threshold, f->threshold);
}

#if FT_DRIVES

/* Copy one drive's state. */
static void copy_drive(ft_msg_drives *m, uint32_t i, const ft_bus *b)
{
    const ft_bus_drive *d = &b->drive[i];
    const uint32_t j = ft_drive[i].joint;

    m->state[j] = d->state;
    m->error[j] = d->ailed;
    m->warmth[j] = d->warmth;
    m->age[j] = (uint16_t)d->age;
    m->answers[j] = d->answers;
    m->lost[j] = d->lost;
    m->late[j] = d->late;
    m->setting[j] = (uint16_t)ft_bus_differs(b, i, &m->value[j]);
}

/* Fill in DRIVES. */
void ft_report_drives(ft_msg_drives *m, const ft_bus *b, uint32_t tick)
{
    ft_bus_health h;
    uint32_t i;

    memset(m, 0, sizeof *m);
    m->tick = tick;
    m->foreign = b->foreign;
    for (i = 0; i < FT_BUS_DRIVES; i++)
        copy_drive(m, i, b);
    for (i = 0; i < FT_BUSES; i++) {
        ft_bus_tell(b, i, &h);
        m->off[i] = h.off ? 1u : 0u;
        m->offs[i] = h.offs;
        m->sending[i] = h.sending;
        m->receiving[i] = h.receiving;
        m->stale[i] = h.stale;
        m->overruns[i] = h.overruns;
    }
}

#endif

/* Fill in ABOUT. */
void ft_report_about(ft_msg_about *m, const uint8_t latched[FT_FAULT_NUMBERS],
                     uint32_t tick)
{
    ft_history h;

    ft_chip_history(&h);
    memcpy(m->unique, h.unique, sizeof m->unique);
    copy_text(m->version, sizeof m->version, FT_VERSION);
    m->uptime = tick / FT_TICK_HZ;
    m->resets = (uint16_t)(h.resets < UINT16_MAX ? h.resets : UINT16_MAX);
    memcpy(m->faults, latched, sizeof m->faults);
    m->options = h.options;
    m->crash = (uint8_t)h.exception;
    m->pc = h.pc;
    m->lr = h.lr;
    m->psr = h.psr;
    m->cfsr = h.cfsr;
    m->hfsr = h.hfsr;
    m->address = h.address;
}
