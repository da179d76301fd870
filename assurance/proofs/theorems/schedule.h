/* The schedule of bus/ft_bus.c in any state, as CAN and wires of servos have it
 * in common. A harness that includes this defines the last place that a drive
 * can report (LAST_PLACE), and the most torque that is carried on
 * (MOST_CARRIED). */
#ifndef PROOF_SCHEDULE_H
#define PROOF_SCHEDULE_H

#include "proof.h"

static ft_bus bus;
static ft_control control;
static bool homed[FT_JOINTS];
static int32_t counts[FT_JOINTS];

ft_bus_drive nondet_drive(void);

/* ---- neighbours --------------------------------------------------------- */

/* Return whether a place is within half a turn of the joint's drive. */
static bool within_half(uint32_t joint, int64_t wire)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (ft_drive[i].joint == joint)
            return wire >= -128 * (int64_t)ft_drive[i].turn
                   && wire < 128 * (int64_t)ft_drive[i].turn;
    return false;
}

void ft_observer_place(ft_observer *o, uint32_t joint, int64_t wire)
{
    CLAIM(joint < FT_JOINTS);
    CLAIM(within_half(joint, wire));
    o->q[joint] = (ft_turn)wire;
}

ft_gains ft_law_gains(const ft_law *l, uint32_t joint)
{
    const ft_gains g = { nondet_float(), nondet_float(), nondet_float() };

    (void)l;
    CLAIM(joint < FT_JOINTS);
    return g;
}

/* ---- the invariant ------------------------------------------------------ */

/* Return whether what the observer was given is a place, or beyond it by one
 * guess a tick that the drive did not answer in. */
static bool near(const ft_bus_drive *d, uint32_t j)
{
    const int64_t most = (int64_t)ft_joint[j].counts * d->age;

    return d->fed >= -most && d->fed <= (int64_t)LAST_PLACE + most;
}

/* Return whether the setting that is asked for is the file's to say. */
static bool to_write(const ft_bus_drive *d, uint32_t i)
{
    const uint32_t step = step_of(d, i);

    return step < ft_dialect_steps(i) && ft_dialect_writes(i, step);
}

static bool drive_well(const ft_bus_drive *d, uint32_t i)
{
    return d->state <= (uint8_t)FT_BUS_FAULTED
           && d->asked <= ft_dialect_steps(i) && d->position <= LAST_PLACE
           && d->age <= FT_SILENT_TICKS
           && __builtin_fabsf(d->carried) <= MOST_CARRIED(i)
           && (!d->travel.begun || d->travel.position <= LAST_PLACE)
           && (!d->writes || to_write(d, i))
           && (!d->held || near(d, ft_drive[i].joint));
}

static bool well(void)
{
    bool all = true;
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        all = all && drive_well(&bus.drive[i], i);
    return all;
}

static void any_state(void)
{
    ANYTHING(bus);
    ANYTHING(control);
    ANYTHING(homed);
    ANYTHING(counts);
    control.motion.now = &control.motion.due[0];
    control.motion.before = &control.motion.due[FT_MOTION_SLOTS - 2u];
    control.motion.newest = &control.motion.due[FT_MOTION_SLOTS - 1u];
    GIVEN(well());
}

/* Return whether a drive's state is what it was, or what is made of one that
 * has forgotten a setting. */
static bool same_state(const ft_bus_drive *d, const ft_bus_drive *was)
{
    return d->state == was->state
           || (was->enabled && d->state == (uint8_t)FT_BUS_SEEN);
}

/* Return whether a frame changed nothing of a drive but what it may. */
static bool kept(const ft_bus_drive *d, const ft_bus_drive *was)
{
    return d->held == was->held && d->questions == was->questions
           && d->enabled == was->enabled && d->age == was->age
           && d->lost == was->lost && d->waited == was->waited
           && d->fed == was->fed && d->travel.begun == was->travel.begun
           && d->travel.position == was->travel.position
           && (!was->answered || d->answered)
           && (d->answered || (d->position == was->position
                               && same_state(d, was)))
           && (was->enabled || d->sure == was->sure);
}

/* Let frames have come: what they change is anything that is well, all else
 * stays. */
static void any_frames(void)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++) {
        ft_bus_drive *d = &bus.drive[i], was = *d;

        *d = nondet_drive();
        d->carried = was.carried;
        d->travel = was.travel;
        GIVEN(kept(d, &was));
    }
    GIVEN(well());
}

#endif
