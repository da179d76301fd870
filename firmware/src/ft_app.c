/* The application: the control tick and the main loop. */
#include "ft_app.h"

#include "ft_bus.h"     /* ft_bus_begin, ft_bus_hear, ... */
#include "ft_chip.h"    /* ft_chip_encoders, ft_chip_duties, ... */
#include "ft_config.h"  /* ft_start_pose */
#include "ft_port.h"    /* ft_port_idle, ft_capture_tick, ft_telemetry */
#include "ft_loops.h"   /* ft_loops_follow, ft_loops_lost */
#include "ft_state.h"   /* ft_state */
#include "ft_watch.h"   /* ft_watch_idle */

ft_state ft;

static const ft_safety_input safety_input = {
    &ft.safety, &ft.sensors, &ft.found, &ft.control.seen, &ft.control.motion,
    &ft.control.closed,
    FT_IF(FT_DRIVES, &ft.bus,)
};
static const ft_port_ends port_ends = {
    &ft.safety, &ft.control, &ft.time, &ft.sensors,
    FT_IF(FT_DRIVES, &ft.bus,)
};

const ft_telemetry_map ft_telemetry = {
    ft.control.tau, ft.control.law.torque, ft.control.law.duty,
    ft.control.seen.u, ft.control.seen.q, &ft.control.motion.now,
    &ft.time.tick,
    FT_IF(FT_MODED, &ft.control.step.mode) FT_UNLESS(FT_MODED, 0),
    &ft.control.step, sizeof ft.control.step,
    &ft.safety.state, &ft.safety.fault,
};

/* ---- the tick --------------------------------------------------------- */

/* Read the chip's measurements. */
static void sample(int32_t counts[FT_JOINTS], ft_sensors *s)
{
    ft_chip_encoders(counts);
    s->estop = ft_chip_estop();
    s->bus_voltage = ft_chip_bus_voltage();
}

/* Compute positions and velocities. */
static void observe(ft_control *c, const int32_t counts[FT_JOINTS],
                    uint32_t tick, ft_findings *found)
{
    static const ft_findings nothing = FT_FOUND_NOTHING;
    ft_motion *m = &c->motion;

    if (found->any || tick == 0u)
        *found = nothing;
    ft_observer_tick(&c->seen, counts, m->now->u,
                     ft_motion_after(m, m->now)->u, found);
}

/* Sample the motion of a lab mode. */
static uint32_t plan_lab(ft_control *c, const ft_safety *s,
                         const int32_t counts[FT_JOINTS], uint32_t tick,
                         ft_findings *found)
{
    const ft_lab_input in = {
        s->state, tick, s->opening != 0u, counts,
        c->law.torque, &c->seen, &c->step, &c->motion,
    };

    return ft_lab_plan(&c->lab, &in, found);
}

/* Sample the motion; with outputs off, targets are the joints' positions. */
static uint32_t plan(ft_control *c, const ft_safety *s, uint32_t source,
                     const int32_t counts[FT_JOINTS], uint32_t tick,
                     ft_findings *found)
{
    if (source == FT_SOURCE_PATH)
        return ft_motion_tick(&c->motion);
    if (source == FT_SOURCE_FOLLOW)
        return ft_follow_tick(&c->follow, &c->motion, &c->step);
    if (source != FT_SOURCE_OFF)
        return plan_lab(c, s, counts, tick, found);
    ft_motion_hold(&c->motion, c->seen.q);
    return FT_MOTION_NOTHING;
}

/* Compute tau_ID for the interval of this duty. With outputs off, follow the
 * measured joints, so that the loops are closed at ARM. */
static void step(ft_control *c, uint32_t source, ft_findings *found)
{
    if (source == FT_SOURCE_OFF) {
        c->closed = ft_loops_follow(&c->step, c->seen.q);
        return;
    }
    if (FT_RARELY(!ft_loops_step(&c->step, &c->motion, c->tau)))
        ft_found(found, &found->misfit, FT_NO_JOINT);
    if (FT_RARELY(ft_loops_lost(&c->step)))
        ft_found(found, &found->parted, FT_NO_JOINT);
}

/* Return the input of this tick's law. */
static inline ft_law_input law_input(const ft_control *c,
                                     const int32_t counts[FT_JOINTS],
                                     uint32_t tick, float bus_voltage)
{
    const ft_motion *m = &c->motion;
    const ft_law_input in = {
        m->before->u, m->newest->u, c->tau, m->now, &c->seen, counts,
        tick, (ft_real)bus_voltage,
    };

    return in;
}

/* Apply the law of a lab mode. */
static void law_lab(ft_control *c, uint32_t state,
                    const int32_t counts[FT_JOINTS], uint32_t tick,
                    float bus_voltage, ft_findings *found)
{
    const ft_law_input in = law_input(c, counts, tick, bus_voltage);

    ft_lab_law(&c->lab, state, &c->law, &in, found);
}

/* Compute torques within their limits, and duties. */
static void law(ft_control *c, const ft_safety *s, uint32_t source,
                const int32_t counts[FT_JOINTS], uint32_t tick,
                float bus_voltage, ft_findings *found)
{
    if (source == FT_SOURCE_OFF) {
        ft_law_rest(&c->law);
    } else if (source == FT_SOURCE_LAB) {
        law_lab(c, s->state, counts, tick, bus_voltage, found);
    } else {
        const ft_law_input in = law_input(c, counts, tick, bus_voltage);

        ft_law_tick(&c->law, &in, found);
    }
}

/* Detect external torques while the motors are driven. */
static void detect_contact(ft_control *c, uint32_t source, uint32_t tick,
                           float bus_voltage, ft_findings *found)
{
    const ft_contact_input in = {
        &c->seen, &c->motion, &c->law, &c->step, tick, (ft_real)bus_voltage,
    };

    if (source == FT_SOURCE_OFF)
        ft_contact_rest(ft_control_contact(c));
    else
        ft_contact_tick(ft_control_contact(c), &in, found);
}

#if FT_DRIVES

/* Send the frames of the last tick, and process the drives' answers. */
static void hear(ft_control *c, ft_safety *s, const ft_sensors *sensors,
                 int32_t counts[FT_JOINTS])
{
    (void)sensors;
#if FT_WIRES > 0
    ft.bus.supply = (float)sensors->bus_voltage;
#endif
    ft_bus_begin(&ft.bus);
    ft_bus_hear(&ft.bus, &c->seen, s->homed, counts);
    ft_safety_met(s);
}

/* Find joints whose drives are silent or report an error. */
static void find(ft_findings *found)
{
    ft_bus_find(&ft.bus, found);
}

/* Form the frames for drives, which disable them while outputs are off. */
static void tell(const ft_control *c, const ft_safety *s, uint32_t tick)
{
    ft_bus_form(&ft.bus, c, s->source, ft_safety_powered(s), tick);
#if FT_WIRES > 0 && FT_CUTOFF
    ft_bus_supply(&ft.bus, s->state, s->fault);
#endif
}

#else

static inline void hear(ft_control *c, ft_safety *s,
                        const ft_sensors *sensors, int32_t counts[FT_JOINTS])
{
    (void)c;
    (void)s;
    (void)sensors;
    (void)counts;
}

static inline void find(ft_findings *found)
{
    (void)found;
}

static inline void tell(const ft_control *c, const ft_safety *s, uint32_t tick)
{
    (void)c;
    (void)s;
    (void)tick;
}

#endif

/* Give the duties to the chip; zero after a tick without torque. */
static void output(const ft_law *l, bool armed)
{
    static const float none[FT_JOINTS] = { 0.0f };

    ft_chip_duties(armed ? l->duty : none);
}

/* Count the tick and its cycles. */
static void account(ft_time *t, uint32_t since)
{
    t->cycles = ft_chip_cycles() - since;
    if (t->cycles > t->cycles_max)
        t->cycles_max = t->cycles;
    t->tick++;
}

/* Run the control interrupt. */
void ft_app_tick(void)
{
    uint32_t since = ft_chip_cycles(), event, source = ft.safety.source;
    int32_t counts[FT_JOINTS];

    sample(counts, &ft.sensors);
    hear(&ft.control, &ft.safety, &ft.sensors, counts);
    observe(&ft.control, counts, ft.time.tick, &ft.found);
    find(&ft.found);
    event = plan(&ft.control, &ft.safety, source, counts, ft.time.tick,
                 &ft.found);
    step(&ft.control, source, &ft.found);
    law(&ft.control, &ft.safety, source, counts, ft.time.tick,
        ft.sensors.bus_voltage, &ft.found);
    if (FT_CONTACT)
        detect_contact(&ft.control, source, ft.time.tick,
                       ft.sensors.bus_voltage, &ft.found);
    ft_safety_tick(&ft.safety, &ft.control, &safety_input, event);
    output(&ft.control.law, ft_safety_armed(&ft.safety));
    tell(&ft.control, &ft.safety, ft.time.tick);
    if (ft_capture_on)
        ft_capture_tick(&ft.control, ft.time.tick, ft.safety.state);
    account(&ft.time, since);
}

/* Note that a tick was still running when the next tick was due. */
void ft_app_missed(void)
{
    ft.safety.alarms.set.of[FT_ALARM_MISSED] = 1u;
}

/* ---- start and main loop ---------------------------------------------- */

/* Pass the self-test. The outputs stay off. */
void ft_app_start(uint32_t chip_errors)
{
    ft_chip_outputs(false);
    ft_report_start(chip_errors);
    ft_motion_clear(&ft.control.motion);
    ft_port_start();
    ft_law_boot(&ft.control.law);
    ft_observer_set(&ft.control.seen, ft_start_pose);
    ft_safety_start(&ft.safety, &ft.control, chip_errors);
}

/* Feed the watchdog if the tick has run since the last feed. Both the tick and
 * the main loop must run, since the main loop calls this function. */
static void feed_watchdog(uint32_t tick)
{
    static uint32_t fed;

    if (tick == fed)
        return;
    fed = tick;
    ft_chip_feed_watchdog();
}

/* Enter the ROM's boot loader 0.1 s after STATUS has reported LEAVING. */
static void leave(uint32_t tick, uint32_t state)
{
    static uint32_t since;

    if (state != FT_STATE_LEAVING)
        since = tick;
    else if (tick - since >= FT_TICK_HZ / 10u)
        ft_chip_leave();
}

/* Run one round of the main loop. */
void ft_app_idle(void)
{
    ft_port_idle(&port_ends);
    ft_watch_idle(&ft.safety.alarms, &ft.sensors, ft.time.tick,
                  ft.control.law.torque);
    feed_watchdog(ft.time.tick);
    ft_chip_show(ft.safety.state, ft.time.tick);
    leave(ft.time.tick, ft.safety.state);
    ft_chip_wait();
}
