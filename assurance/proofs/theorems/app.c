/* The order of calls in the tick and the main loop, ft_app.c, and the safety
 * check before duties reach the chip. Every other module is replaced by a stub
 * that may do anything within its contract. */
#include "proof.h"

#include "ft_app.c"
#include "ft_config.c"

/* ---- observations ------------------------------------------------------ */

static uint32_t given;   /* number of times that the chip got duties */
static bool torque_free; /* the last duties were all zero */
static uint32_t fed;     /* number of times that the watchdog was fed */
static bool linked, watched; /* both have run in this main loop cycle */
static bool judged;      /* the tick has checked for faults */
static bool off;         /* outputs were switched off before anything else */

void ft_chip_duties(const float duty[])
{
    uint32_t j;

    CLAIM(judged);
    given++;
    torque_free = true;
    for (j = 0; j < FT_JOINTS; j++)
        torque_free = torque_free && duty[j] == 0.0f;
}

void ft_chip_feed_watchdog(void)
{
    CLAIM(linked && watched);
    fed++;
}

void ft_safety_tick(ft_safety *s, ft_control *c, const ft_safety_input *in,
                    uint32_t motion_event)
{
    CLAIM(in->sensors == &ft.sensors && in->found == &ft.found);
    judged = true;
    s->source = nondet_u8();
    s->state = nondet_u8();
}

void ft_port_idle(const ft_port_ends *e)
{
    linked = true;
}

void ft_watch_idle(ft_alarms *a, ft_sensors *s, uint32_t tick,
                   const ft_real torque[FT_JOINTS])
{
    CLAIM(linked);
    watched = true;
}

/* ---- other stubs -------------------------------------------------------- */

ft_observer nondet_observer(void);
ft_findings nondet_findings(void);
ft_sample nondet_sample(void);
ft_lab nondet_lab(void);
ft_law nondet_law(void);
ft_step_state nondet_step(void);

volatile bool ft_capture_on;

void ft_chip_encoders(int32_t counts[])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        counts[j] = nondet_i32();
}

bool ft_chip_estop(void) { return nondet_bool(); }
float ft_chip_bus_voltage(void) { return nondet_float(); }
uint32_t ft_chip_cycles(void) { return nondet_u32(); }
void ft_chip_outputs(bool enabled) { off = !enabled; }
void ft_chip_leave(void) { }
void ft_chip_show(uint32_t state, uint32_t tick) { }
void ft_chip_wait(void) { }

void ft_observer_tick(ft_observer *o, const int32_t counts[FT_JOINTS],
                      const ft_real from[FT_JOINTS],
                      const ft_real to[FT_JOINTS], ft_findings *found)
{
    *o = nondet_observer();
    *found = nondet_findings();
}

uint32_t ft_motion_tick(ft_motion *m)
{
    m->next = nondet_sample();
    return nondet_u32();
}

uint32_t ft_follow_tick(ft_follow *f, ft_motion *m, const ft_step_state *s)
{
    m->next = nondet_sample();
    return nondet_u32();
}

void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS])
{
    m->next = nondet_sample();
}

uint32_t ft_lab_plan(ft_lab *lab, const ft_lab_input *in, ft_findings *found)
{
    *lab = nondet_lab();
    *found = nondet_findings();
    return nondet_u32();
}

void ft_lab_law(const ft_lab *lab, uint32_t state, ft_law *l,
                const ft_law_input *in, ft_findings *found)
{
    *l = nondet_law();
    *found = nondet_findings();
}

void ft_law_tick(ft_law *l, const ft_law_input *in, ft_findings *found)
{
    *l = nondet_law();
    *found = nondet_findings();
}

void ft_law_rest(ft_law *l) { *l = nondet_law(); }

void ft_step(ft_step_state *t, const ft_sample *next, ft_real tau[FT_JOINTS])
{
}

void ft_capture_tick(const ft_control *c, uint32_t tick, uint32_t state)
{
    CLAIM(tick == ft.time.tick && state == ft.safety.state);
}

#if FT_STEP_CLOSED
bool ft_step_reach(ft_step_state *t, const ft_turn q[FT_JOINTS],
                   uint32_t steps)
{
    CLAIM(steps == 1u && ft.safety.source == FT_SOURCE_OFF);
    *t = nondet_step();
    return nondet_bool();
}
#endif

/* ---- drives on buses ---------------------------------------------------- */

#if FT_BUS_DRIVES > 0

static uint32_t begun, heard, formed; /* number of calls in this tick */

void ft_bus_begin(ft_bus *b)
{
    CLAIM(b == &ft.bus && heard == 0u);
    begun++;
}

void ft_bus_hear(ft_bus *b, ft_observer *seen, bool homed[FT_JOINTS],
                 int32_t counts[FT_JOINTS])
{
    uint32_t j;

    CLAIM(b == &ft.bus && begun == 1u);
    heard++;
    for (j = 0; j < FT_JOINTS; j++) {
        homed[j] = nondet_bool();
        counts[j] = nondet_i32();
    }
}

void ft_bus_find(const ft_bus *b, ft_findings *found)
{
    CLAIM(heard == 1u && !judged);
    *found = nondet_findings();
}

/* Drives get the state in which the tick ends. */
void ft_bus_form(ft_bus *b, const ft_control *c, uint32_t source, bool on,
                 uint32_t tick)
{
    CLAIM(b == &ft.bus && c == &ft.control && judged);
    CLAIM(source == ft.safety.source && tick == ft.time.tick);
    CLAIM(on == ((ft.safety.flags & FT_FLAG_OUTPUTS) != 0u));
    formed++;
}

void ft_safety_met(ft_safety *s)
{
    CLAIM(s == &ft.safety && heard == 1u && !judged);
}

#endif

/* ---- the start ----------------------------------------------------------- */

static uint32_t started; /* number of started modules */

void ft_report_start(uint32_t chip_errors)
{
    CLAIM(off && started == 0u); /* before the start latches any fault */
    started++;
}

void ft_motion_clear(ft_motion *m)
{
    CLAIM(off && m == &ft.control.motion);
    started++;
}

void ft_port_start(void) { started++; }

void ft_law_boot(ft_law *l)
{
    CLAIM(l == &ft.control.law);
    started++;
}

void ft_observer_set(ft_observer *o, const int64_t wire[FT_JOINTS])
{
    CLAIM(o == &ft.control.seen
          && __CPROVER_r_ok(wire, FT_JOINTS * sizeof *wire));
    started++;
}

void ft_safety_start(ft_safety *s, ft_control *c, uint32_t chip_errors)
{
    CLAIM(off && s == &ft.safety && c == &ft.control && started == 5u);
    started++;
}

static void any_state(void)
{
    ft_motion *m = &ft.control.motion;

    ANYTHING(ft);
    ft_capture_on = nondet_bool();
    m->now = m->newest = m->before = m->due;
}

/* In every tick the chip gets its duties once, after the check for faults. The
 * duties are all zero unless the state at the end of the tick permits torque.
 * The tick counter rises by one in each tick and wraps from its largest value
 * to 0. Drives on buses get this state once, after the board has processed
 * their answers.
 * Run: unwind=5 mechanisms=three_link,drives,five_bar */
void prove_app_outputs(void)
{
    uint32_t before;

    any_state();
    before = ft.time.tick;
    ft_app_tick();
    CLAIM(given == 1u);
    CLAIM(torque_free || ft.safety.source != FT_SOURCE_OFF);
    CLAIM(ft.time.tick == before + 1u);
#if FT_BUS_DRIVES > 0
    CLAIM(begun == 1u && heard == 1u && formed == 1u);
#endif
    END;
}

/* A cycle of the main loop feeds the watchdog only if the tick counter has
 * changed since the last feed, and only after the link and the watch have run.
 * If the tick stops running, the watchdog is never fed again. The theorem holds
 * for any value of the tick counter.
 * Run: unwind=5 */
void prove_app_watchdog(void)
{
    uint32_t rounds, tick;

    any_state();
    ft_app_idle(); /* the last feed was in this tick */
    tick = ft.time.tick;
    fed = 0;
    for (rounds = 0; rounds < 2u; rounds++) {
        linked = watched = false;
        ft_app_idle();
        CLAIM(fed == 0u);
    }
    linked = watched = false;
    ft.time.tick = nondet_u32();
    ft_app_idle();
    CLAIM(fed == (ft.time.tick != tick ? 1u : 0u));
    END;
}

/* The start switches the outputs off before anything else. The start keeps the
 * data from before the reset, and checks the chip after all other modules have
 * started. A missed tick raises an alarm and changes no state.
 * Run: unwind=5 */
void prove_app_start(void)
{
    ft_safety before;

    any_state();
    off = false;
    ft_app_start(nondet_u32());
    CLAIM(off && started == 6u);
    before = ft.safety;
    ft_app_missed();
    CLAIM(ft.safety.alarms.set.of[FT_ALARM_MISSED] == 1u);
    CLAIM(ft.safety.state == before.state && ft.safety.source == before.source
          && ft.safety.flags == before.flags
          && ft.safety.fault == before.fault);
    END;
}
