/* The application: the control tick and the main loop. */
#include "ft_app.h"

#include "ft_capture.h" /* ft_capture_tick */
#include "ft_chip.h"    /* ft_chip_encoders, ft_chip_duties, ... */
#include "ft_config.h"  /* ft_start_pose */
#include "ft_link.h"    /* ft_link_idle */
#include "ft_loops.h"   /* ft_loops_follow, ft_loops_lost */
#include "ft_report.h"  /* ft_report_start */
#include "ft_state.h"   /* ft */
#include "ft_watch.h"   /* ft_watch_idle */

ft_state ft;

/* ---- the tick --------------------------------------------------------- */

/* Read what the chip measures. */
static void sample(int32_t counts[FT_JOINTS])
{
    ft_chip_encoders(counts);
    ft.estop = ft_chip_estop();
    ft.bus_voltage = ft_chip_bus_voltage();
}

/* Form positions and rates. */
static void observe(const int32_t counts[FT_JOINTS])
{
    static const ft_findings nothing = FT_FOUND_NOTHING;
    ft_motion *m = &ft.motion;

    if (ft.found.any || ft.tick == 0u)
        ft.found = nothing;
    ft_observer_tick(&ft.seen, counts, m->now->u,
                     ft_motion_after(m, m->now)->u, &ft.found);
}

/* Sample the motion; without outputs it stays where the joints are. */
static uint32_t plan(uint32_t drive, const int32_t counts[FT_JOINTS])
{
    if (drive == FT_DRIVE_PATH)
        return ft_motion_tick(&ft.motion);
    if (drive != FT_DRIVE_OFF)
        return ft_lab_plan(&ft.lab, &ft.motion, counts, &ft.found);
    ft_motion_hold(&ft.motion, ft.seen.q);
    return FT_MOTION_NOTHING;
}

/* Form tau_ID of the interval this tick's duty is held over. Without outputs
 * closed loops follow the joints, so that they are closed when it is wanted. */
static void step(uint32_t drive)
{
    if (drive == FT_DRIVE_OFF) {
        ft.closed = ft_loops_follow(&ft.step, ft.seen.q);
        return;
    }
    if (FT_RARELY(!ft_loops_step(&ft.step, &ft.motion, ft.tau)))
        ft_found(&ft.found, &ft.found.misfit, FT_NO_JOINT);
    if (FT_RARELY(ft_loops_lost(&ft.step)))
        ft_found(&ft.found, &ft.found.parted, FT_NO_JOINT);
    if (FT_STEP_EXACT_AT_KNOTS && ft.motion.pairs != 0)
        ft_step_take(&ft.step, ft.motion.pairs);
}

/* Form torques within their limits, and duties. */
static void law(uint32_t drive, const int32_t counts[FT_JOINTS])
{
    const ft_motion *m = &ft.motion;
    const ft_law_input in = {
        m->before->u, m->newest->u, ft.tau, m->now, &ft.seen, counts, ft.tick,
        (ft_real)ft.bus_voltage,
    };

    if (drive == FT_DRIVE_OFF)
        ft_law_rest(&ft.law);
    else if (drive == FT_DRIVE_LAB)
        ft_lab_law(&ft.lab, &ft.law, &in, &ft.found);
    else
        ft_law_tick(&ft.law, &in, &ft.found);
}

/* Give the duties to the chip: nothing unless the outputs are meant to be on
 * after all that this tick brought. */
static void output(bool armed)
{
    static const float none[FT_JOINTS] = { 0.0f };

    ft_chip_duties(armed ? ft.law.duty : none);
}

/* Count the tick and what it cost. */
static void account(uint32_t since)
{
    ft.cycles = ft_chip_cycles() - since;
    if (ft.cycles > ft.cycles_max)
        ft.cycles_max = ft.cycles;
    ft.tick++;
}

/* The control interrupt. */
void ft_app_tick(void)
{
    uint32_t since = ft_chip_cycles(), event, drive = ft.safety.drive;
    int32_t counts[FT_JOINTS];

    sample(counts);
    observe(counts);
    event = plan(drive, counts);
    step(drive);
    law(drive, counts);
    ft_safety_tick(event);
    output(ft_safety_armed());
    if (ft_capture_on)
        ft_capture_tick();
    account(since);
}

/* A tick was not done when the next one came. */
void ft_app_missed(void)
{
    ft.safety.alarms.of[FT_ALARM_MISSED] = 1u;
}

/* ---- start and main loop ---------------------------------------------- */

/* Pass the self-test; outputs stay off. */
void ft_app_start(uint32_t chip_errors)
{
    ft_chip_outputs(false);
    ft_report_start(chip_errors);
    ft_motion_clear(&ft.motion);
    ft_link_start();
    ft_law_boot(&ft.law);
    ft_observer_set(&ft.seen, ft_start_pose);
    ft_safety_start(chip_errors);
}

/* Feed the watchdog if the tick has moved since it was fed last; that the
 * link task has, is shown by being here. */
static void feed_watchdog(void)
{
    static uint32_t fed;
    uint32_t tick = ft.tick;

    if (tick == fed)
        return;
    fed = tick;
    ft_chip_feed_watchdog();
}

/* On to the boot loader in ROM, once the host has been told. */
static void leave(void)
{
    static uint32_t since;

    if (ft.safety.state != FT_STATE_LEAVING)
        since = ft.tick;
    else if (ft.tick - since >= FT_TICK_HZ / 10u)
        ft_chip_leave();
}

/* One round of the main loop. */
void ft_app_idle(void)
{
    ft_link_idle();
    ft_watch_idle();
    feed_watchdog();
    leave();
    ft_chip_wait();
}
