/* Tables of the conditions of commands and of faults, and their checks. */
#include "ft_conditions.h"

#include "ft_chip.h"     /* FT_CHIP_CLOCK, ft_chip_outputs_enabled */
#include "ft_config.h"   /* ft_joint */
#include "ft_number.h"   /* ft_size */
#include "ft_position.h" /* ft_position_difference */
#include "ft_step.h"     /* FT_STEP_CLOSED */
#include "ft_watch.h"    /* ft_watch_constants, ft_watch_code */

/* ---- checks of every tick ----------------------------------------------- */

/* NaN counts as a low voltage and as a high voltage. */
static bool low(const ft_sensors *sensors)
{
    return !((ft_real)sensors->bus_voltage >= FT_BUS_LOW);
}

static bool high(const ft_sensors *sensors)
{
    return !((ft_real)sensors->bus_voltage <= FT_BUS_HIGH);
}

static bool host_gone(const ft_safety *s)
{
    return s->silent > FT_HOST_LOST;
}

/* ---- checks ----------------------------------------------------------- */

static uint32_t has_loader(const ft_safety_input *in)
{
    (void)in;
    return ft_chip_has_loader() ? FT_GOOD : FT_NO_JOINT;
}

/* Check that the outputs are off, not on for a fault that brakes or holds. */
static uint32_t no_outputs(const ft_safety_input *in)
{
    return (in->safety->flags & FT_FLAG_OUTPUTS) == 0u ? FT_GOOD : FT_NO_JOINT;
}

static uint32_t homed(const ft_safety_input *in)
{
    uint32_t joint = ft_safety_unhomed(in->safety);

    return joint == FT_NO_JOINT ? FT_GOOD : joint;
}

/* Check that the arm is not parking. */
static FT_MAYBE_UNUSED uint32_t not_parking(const ft_safety_input *in)
{
    return in->safety->reaction != FT_REACTION_PARK ? FT_GOOD : FT_NO_JOINT;
}

/* Check that the supply is high enough for arming, else it would park. */
static FT_MAYBE_UNUSED uint32_t supply_lasts(const ft_safety_input *in)
{
    bool good = (ft_real)in->sensors->bus_voltage >= FT_PARK_VOLTS;

    return good ? FT_GOOD : FT_NO_JOINT;
}

static FT_MAYBE_UNUSED uint32_t supply_not_low(const ft_safety_input *in)
{
    return ft_safety_sags(in->safety) > FT_PARK_SAGS ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t estop_released(const ft_safety_input *in)
{
    return in->sensors->estop ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t bus_not_low(const ft_safety_input *in)
{
    return low(in->sensors) ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t bus_not_high(const ft_safety_input *in)
{
    return high(in->sensors) ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t supply_good(const ft_safety_input *in)
{
    (void)in;
    return ft_chip_supply_good() ? FT_GOOD : FT_NO_JOINT;
}

static uint32_t bus_in_range(const ft_safety_input *in)
{
    const uint32_t under = bus_not_low(in);

    return under != FT_GOOD ? under : bus_not_high(in);
}

/* Check the main loop's alarm about the board's temperature. */
static uint32_t not_hot(const ft_safety_input *in)
{
    uint8_t alarm = in->safety->alarms.set.of[FT_ALARM_BOARD];

    return alarm == FT_FAULT_OVER_TEMPERATURE ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t not_overloaded(const ft_safety_input *in)
{
    uint8_t alarm = in->safety->alarms.set.of[FT_ALARM_BOARD];

    return alarm == FT_FAULT_OVERLOAD ? in->safety->alarms.warm_joint : FT_GOOD;
}

static uint32_t drivers_well(const ft_safety_input *in)
{
    uint8_t alarm = in->safety->alarms.set.of[FT_ALARM_BOARD];

    return alarm == FT_FAULT_DRIVER ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t drivers_ready(const ft_safety_input *in)
{
    (void)in;
    return ft_chip_drivers_ready() ? FT_GOOD : FT_NO_JOINT;
}

/* Check that the sensors read no current while the outputs are off. */
static FT_MAYBE_UNUSED uint32_t current_zero(const ft_safety_input *in)
{
    uint32_t joint;

    (void)in;
    return ft_chip_current_zero(&joint) ? FT_GOOD : joint;
}

/* Return the joint if the chip has switched the outputs off for this cause. */
static FT_MAYBE_UNUSED uint32_t dropped_for(uint32_t cause)
{
    uint32_t joint, found = ft_chip_current_fault(&joint);

    return found == cause ? joint : FT_GOOD;
}

static FT_MAYBE_UNUSED uint32_t current_bounded(const ft_safety_input *in)
{
    (void)in;
    return dropped_for(FT_CURRENT_OVER);
}

static FT_MAYBE_UNUSED uint32_t current_told(const ft_safety_input *in)
{
    (void)in;
    return dropped_for(FT_CURRENT_SENSOR);
}

static FT_MAYBE_UNUSED uint32_t current_sign(const ft_safety_input *in)
{
    (void)in;
    return dropped_for(FT_CURRENT_SIGN);
}

static FT_MAYBE_UNUSED uint32_t current_comes(const ft_safety_input *in)
{
    (void)in;
    return dropped_for(FT_CURRENT_LOOP);
}

#if FT_DRIVES

/* Check drives on buses before arming. */
static uint32_t drives_there(const ft_safety_input *in)
{
    return ft_bus_heard_of(in->bus);
}

static uint32_t drives_well(const ft_safety_input *in)
{
    return ft_bus_well(in->bus);
}

static uint32_t drives_set(const ft_safety_input *in)
{
    return ft_bus_set_right(in->bus);
}

/* Check drives on buses while the arm is armed. */
static uint32_t buses_on(const ft_safety_input *in)
{
    return in->found->cut;
}

static uint32_t drives_heard(const ft_safety_input *in)
{
    return in->found->silent;
}

static uint32_t drives_enabled(const ft_safety_input *in)
{
    return in->found->ailing;
}

#endif

static FT_MAYBE_UNUSED uint32_t brakes_open(const ft_safety_input *in)
{
    return in->safety->opening == 0u ? FT_GOOD : FT_NO_JOINT;
}

static FT_MAYBE_UNUSED uint32_t brakes_closed(const ft_safety_input *in)
{
    return in->safety->closing == 0u ? FT_GOOD : FT_NO_JOINT;
}

/* Refuse a probe in an arm with brakes. All brakes open together, and a probe
 * holds no joint, so the arm would fall. */
static FT_MAYBE_UNUSED uint32_t nothing_braked(const ft_safety_input *in)
{
    (void)in;
    return FT_NO_JOINT;
}

static uint32_t constants_whole(const ft_safety_input *in)
{
    uint8_t alarm = in->safety->alarms.set.of[FT_ALARM_MEMORY];

    return alarm == FT_FAULT_CONFIGURATION ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t code_whole(const ft_safety_input *in)
{
    uint8_t alarm = in->safety->alarms.set.of[FT_ALARM_MEMORY];

    return alarm == FT_FAULT_CODE ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t stack_whole(const ft_safety_input *in)
{
    uint8_t alarm = in->safety->alarms.set.of[FT_ALARM_MEMORY];

    return alarm == FT_FAULT_STACK ? FT_NO_JOINT : FT_GOOD;
}

/* Check that no joint is farther outside its limits than half of POSITION's
 * margin. A joint that was held at a limit, as a closed gripper is, lies a
 * little outside when its motor is off. */
static uint32_t near_limits(const ft_safety_input *in)
{
    const int32_t *at = in->seen->coarse;
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_joint_config *c = &ft_joint[j];
        uint32_t above = (uint32_t)at[j] - (uint32_t)c->lower;
        uint32_t spare = (uint32_t)c->margin / 2u;

        if (above > c->room && above - c->room > spare && 0u - above > spare)
            return j;
    }
    return FT_GOOD;
}

static FT_MAYBE_UNUSED uint32_t loops_closed(const ft_safety_input *in)
{
    return *in->closed ? FT_GOOD : FT_NO_JOINT;
}

static uint32_t standing(const ft_safety_input *in)
{
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++)
        if (!(ft_size(in->seen->u[j]) <= ft_joint[j].rest))
            return j;
    return FT_GOOD;
}

static uint32_t startable(const ft_safety_input *in)
{
    const ft_motion *m = in->motion;

    return m->phase == FT_MOTION_IDLE && ft_motion_playable(m)
               ? FT_GOOD : FT_NO_JOINT;
}

/* Check that the motion begins at the joints' present targets. */
static uint32_t starts_here(const ft_safety_input *in)
{
    const ft_motion *m = in->motion;
    const ft_segment *g = ft_queue_tail(&m->queue);
    const ft_target *held = m->newest;
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        ft_turn away = ft_position_difference(g->joint[j].q0, held->q[j]);

        if (ft_position_size(away) > ft_joint[j].start)
            return j;
    }
    return FT_GOOD;
}

static uint32_t resumable(const ft_safety_input *in)
{
    const ft_motion *m = in->motion;

    return m->phase == FT_MOTION_PAUSED && !m->queue.flush
               ? FT_GOOD : FT_NO_JOINT;
}

/* Check that no fault waits for the joints to come to rest. */
static uint32_t nothing_coming(const ft_safety_input *in)
{
    return in->safety->coming == FT_FAULT_NONE ? FT_GOOD : FT_NO_JOINT;
}

/* Refuse FOLLOW for flexible links or dependent driven joints. */
static FT_MAYBE_UNUSED uint32_t cannot_follow(const ft_safety_input *in)
{
    (void)in;
    return FT_NO_JOINT;
}

/* Check that the request's joint exists. */
static uint32_t known_joint(const ft_safety_input *in)
{
    uint32_t joint = in->safety->request.joint;

    return joint < FT_JOINTS ? FT_GOOD : FT_NO_JOINT;
}

/* Check that the request's value is within the joint's limit. */
static uint32_t within(const ft_safety_input *in, ft_real most)
{
    bool good = ft_size((ft_real)in->safety->request.value) <= most;

    return good ? FT_GOOD : in->safety->request.joint;
}

static uint32_t friction_allowed(const ft_safety_input *in)
{
    return in->safety->request.value <= 80.0f ? FT_GOOD : FT_NO_JOINT;
}

static uint32_t jog_allowed(const ft_safety_input *in)
{
    if (known_joint(in) != FT_GOOD)
        return FT_NO_JOINT;
    return within(in, ft_lab_joint[in->safety->request.joint].jog_velocity);
}

/* Check that a probe begins with zero torque. A probe request that is repeated
 * after a reset then starts no probe. */
static uint32_t probe_allowed(const ft_safety_input *in)
{
    bool begins = in->safety->state != FT_STATE_PROBE;

    if (known_joint(in) != FT_GOOD)
        return FT_NO_JOINT;
    if (begins)
        return within(in, FT_C(0.0));
    return within(in, ft_lab_joint[in->safety->request.joint].probe_torque);
}

static uint32_t sought_for(const ft_safety_input *in)
{
    uint32_t joint = in->safety->request.joint;

    return ft_lab_joint[joint].seek == FT_SEEK_NONE ? joint : FT_GOOD;
}

static uint32_t overlay_allowed(const ft_safety_input *in)
{
    const ft_request *r = &in->safety->request;
    uint32_t i;

    if (known_joint(in) != FT_GOOD)
        return FT_NO_JOINT;
    for (i = 0; i < 3u; i++)
        if (r->gains[i] < FT_OVERLAY_LEAST || r->gains[i] > FT_OVERLAY_MOST)
            return r->joint;
    return FT_GOOD;
}

/* Check that the fault may be cleared without a reset. */
static uint32_t fault_mended(const ft_safety_input *in)
{
    switch (in->safety->fault) {
    case FT_FAULT_CLOCK:
    case FT_FAULT_CRYSTAL:
    case FT_FAULT_CHIP:
    case FT_FAULT_CONVERTER:
    case FT_FAULT_PWM_UPDATE:
    case FT_FAULT_TICK_TIMER:
    case FT_FAULT_CONFIGURATION:
    case FT_FAULT_CODE:
    case FT_FAULT_STACK:
        return FT_NO_JOINT;
    default:
        return FT_GOOD;
    }
}

static uint32_t tick_in_time(const ft_safety_input *in)
{
    uint8_t missed = in->safety->alarms.set.of[FT_ALARM_MISSED];

    return missed != 0u ? FT_NO_JOINT : FT_GOOD;
}

/* Findings of the tick; see ft_findings.h. */
static uint32_t finite(const ft_safety_input *in)
{
    return in->found->wild;
}

static uint32_t counts_possible(const ft_safety_input *in)
{
    return in->found->jump;
}

static uint32_t not_stuck(const ft_safety_input *in)
{
    return in->found->stuck;
}

static uint32_t not_too_fast(const ft_safety_input *in)
{
    return in->found->fast;
}

static uint32_t not_far_outside(const ft_safety_input *in)
{
    return in->found->beyond;
}
static uint32_t following(const ft_safety_input *in)
{
    return in->found->astray;
}

static uint32_t zero_found(const ft_safety_input *in)
{
    return in->found->lost;
}

static FT_MAYBE_UNUSED uint32_t loops_regular(const ft_safety_input *in)
{
    return in->found->parted;
}

static FT_MAYBE_UNUSED uint32_t mode_fits(const ft_safety_input *in)
{
    return in->found->misfit;
}

static uint32_t knots_good(const ft_safety_input *in)
{
    bool bad = in->safety->alarms.set.of[FT_ALARM_KNOT] != 0u;

    return bad ? in->safety->alarms.knot_joint : FT_GOOD;
}

static uint32_t host_there(const ft_safety_input *in)
{
    return host_gone(in->safety) ? FT_NO_JOINT : FT_GOOD;
}

static uint32_t outputs_as_commanded(const ft_safety_input *in)
{
    (void)in;
    return ft_chip_outputs_enabled() ? FT_GOOD : FT_NO_JOINT;
}

/* ---- tables ----------------------------------------------------------- */

/* The first condition that fails refuses a request that the state allows. ARM
 * has a separate table, since its many rows would slow other requests. If a row
 * cannot fail in an image, the image does not contain it. */
const ft_condition ft_conditions_of_arm[] = {
    { FT_COMMAND_ARM, FT_REFUSAL_ESTOP_ACTIVE, estop_released },
    FT_IF(FT_DRIVES,
    { FT_COMMAND_ARM, FT_REFUSAL_DRIVE_SILENT, drives_there },
    { FT_COMMAND_ARM, FT_REFUSAL_DRIVE_FAULT, drives_well },
    { FT_COMMAND_ARM, FT_REFUSAL_DRIVE_SETTING, drives_set },)
    { FT_COMMAND_ARM, FT_REFUSAL_NOT_HOMED, homed },
    { FT_COMMAND_ARM, FT_REFUSAL_SUPPLY, supply_good },
    { FT_COMMAND_ARM, FT_REFUSAL_BUS_VOLTAGE, bus_in_range },
    FT_IF(FT_PARK_SUPPLY,
    { FT_COMMAND_ARM, FT_REFUSAL_BUS_VOLTAGE, supply_lasts },)
    { FT_COMMAND_ARM, FT_REFUSAL_OVER_TEMPERATURE, not_hot },
    { FT_COMMAND_ARM, FT_REFUSAL_OVERLOAD, not_overloaded },
    { FT_COMMAND_ARM, FT_REFUSAL_DRIVER, drivers_well },
    { FT_COMMAND_ARM, FT_REFUSAL_DRIVER_NOT_READY, drivers_ready },
    FT_IF(FT_CURRENT_LOOPS,
    { FT_COMMAND_ARM, FT_REFUSAL_CURRENT_SENSOR, current_zero },)
    { FT_COMMAND_ARM, FT_REFUSAL_OUTSIDE_LIMITS, near_limits },
    { FT_COMMAND_ARM, FT_REFUSAL_MOVING, standing },
    FT_IF(FT_STEP_CLOSED,
    { FT_COMMAND_ARM, FT_REFUSAL_LOOPS_OPEN, loops_closed },)
    { FT_NO_EVENT, FT_REFUSAL_NONE, 0 },
};

/* Conditions of all requests except ARM, in the order of events. */
const ft_condition ft_conditions[] = {
    { FT_COMMAND_START, FT_REFUSAL_FAULT_LATCHED, nothing_coming },
    FT_IF(FT_BRAKE,
    { FT_COMMAND_START, FT_REFUSAL_BRAKE, brakes_open },)
    { FT_COMMAND_START, FT_REFUSAL_NOTHING_BUFFERED, startable },
    { FT_COMMAND_START, FT_REFUSAL_START_POSE, starts_here },
    { FT_COMMAND_RESUME, FT_REFUSAL_FAULT_LATCHED, nothing_coming },
    { FT_COMMAND_RESUME, FT_REFUSAL_NOTHING_BUFFERED, resumable },
    { FT_COMMAND_CLEAR, FT_REFUSAL_ESTOP_ACTIVE, estop_released },
    { FT_COMMAND_CLEAR, FT_REFUSAL_FAULT_LATCHED, fault_mended },
    FT_IF(FT_PARK,
    { FT_COMMAND_CLEAR, FT_REFUSAL_PARKING, not_parking },)
    FT_IF(FT_BRAKE,
    { FT_COMMAND_CLEAR, FT_REFUSAL_BRAKE, brakes_closed },)
    { FT_COMMAND_LOADER, FT_REFUSAL_WRONG_STATE, no_outputs },
    { FT_COMMAND_LOADER, FT_REFUSAL_NO_LOADER, has_loader },
    { FT_EVENT_HOME, FT_REFUSAL_MOVING, standing },
    { FT_EVENT_FLOAT, FT_REFUSAL_FAULT_LATCHED, nothing_coming },
    FT_IF(FT_BRAKE,
    { FT_EVENT_FLOAT, FT_REFUSAL_BRAKE, brakes_open },)
    { FT_EVENT_FLOAT, FT_REFUSAL_OUT_OF_BOUNDS, friction_allowed },
    { FT_EVENT_JOG, FT_REFUSAL_FAULT_LATCHED, nothing_coming },
    FT_IF(FT_BRAKE,
    { FT_EVENT_JOG, FT_REFUSAL_BRAKE, brakes_open },)
    { FT_EVENT_JOG, FT_REFUSAL_OUT_OF_BOUNDS, jog_allowed },
    { FT_EVENT_SEEK, FT_REFUSAL_OUT_OF_BOUNDS, known_joint },
    { FT_EVENT_SEEK, FT_REFUSAL_NO_SEEKING, sought_for },
    { FT_EVENT_SEEK, FT_REFUSAL_SUPPLY, supply_good },
    FT_IF(FT_DRIVES,
    { FT_EVENT_SEEK, FT_REFUSAL_DRIVE_SILENT, drives_there },
    { FT_EVENT_SEEK, FT_REFUSAL_DRIVE_FAULT, drives_well },
    { FT_EVENT_SEEK, FT_REFUSAL_DRIVE_SETTING, drives_set },)
    { FT_EVENT_SEEK, FT_REFUSAL_BUS_VOLTAGE, bus_in_range },
    { FT_EVENT_SEEK, FT_REFUSAL_OVER_TEMPERATURE, not_hot },
    { FT_EVENT_SEEK, FT_REFUSAL_OVERLOAD, not_overloaded },
    { FT_EVENT_SEEK, FT_REFUSAL_DRIVER, drivers_well },
    { FT_EVENT_SEEK, FT_REFUSAL_DRIVER_NOT_READY, drivers_ready },
    FT_IF(FT_CURRENT_LOOPS,
    { FT_EVENT_SEEK, FT_REFUSAL_CURRENT_SENSOR, current_zero },)
    { FT_EVENT_SEEK, FT_REFUSAL_MOVING, standing },
    FT_IF(FT_STEP_CLOSED,
    { FT_EVENT_SEEK, FT_REFUSAL_LOOPS_OPEN, loops_closed },)
    FT_IF(FT_BRAKE,
    { FT_EVENT_PROBE, FT_REFUSAL_BRAKE, nothing_braked },)
    { FT_EVENT_PROBE, FT_REFUSAL_OUT_OF_BOUNDS, probe_allowed },
    { FT_EVENT_PROBE, FT_REFUSAL_SUPPLY, supply_good },
    FT_IF(FT_DRIVES,
    { FT_EVENT_PROBE, FT_REFUSAL_DRIVE_SILENT, drives_there },
    { FT_EVENT_PROBE, FT_REFUSAL_DRIVE_FAULT, drives_well },
    { FT_EVENT_PROBE, FT_REFUSAL_DRIVE_SETTING, drives_set },)
    { FT_EVENT_PROBE, FT_REFUSAL_BUS_VOLTAGE, bus_in_range },
    { FT_EVENT_PROBE, FT_REFUSAL_OVER_TEMPERATURE, not_hot },
    { FT_EVENT_PROBE, FT_REFUSAL_OVERLOAD, not_overloaded },
    { FT_EVENT_PROBE, FT_REFUSAL_DRIVER, drivers_well },
    { FT_EVENT_PROBE, FT_REFUSAL_DRIVER_NOT_READY, drivers_ready },
    FT_IF(FT_CURRENT_LOOPS,
    { FT_EVENT_PROBE, FT_REFUSAL_CURRENT_SENSOR, current_zero },)
    FT_IF(FT_STEP_CLOSED,
    { FT_EVENT_PROBE, FT_REFUSAL_LOOPS_OPEN, loops_closed },)
    { FT_EVENT_GAINS, FT_REFUSAL_OUT_OF_BOUNDS, overlay_allowed },
    FT_UNLESS(FT_FOLLOW,
    { FT_EVENT_FOLLOW, FT_REFUSAL_NO_FOLLOWING, cannot_follow },)
    { FT_EVENT_FOLLOW, FT_REFUSAL_FAULT_LATCHED, nothing_coming },
    FT_IF(FT_BRAKE,
    { FT_EVENT_FOLLOW, FT_REFUSAL_BRAKE, brakes_open },)
    { FT_NO_EVENT, FT_REFUSAL_NONE, 0 },
};

/* The first fault found in this table is latched, so causes stand before
 * effects: a missing bus voltage also makes duties NaN. */
const ft_fault_rule ft_faults[] = {
    { FT_FAULT_CONFIGURATION, FT_ALWAYS, FT_OFF, constants_whole },
    { FT_FAULT_CODE, FT_ALWAYS, FT_OFF, code_whole },
    { FT_FAULT_STACK, FT_ALWAYS, FT_OFF, stack_whole },
    { FT_FAULT_TICK_OVERRUN, FT_ALWAYS, FT_OFF, tick_in_time },
    FT_IF(FT_CURRENT_LOOPS,
    { FT_FAULT_OVER_CURRENT, FT_POWERED, FT_OFF, current_bounded },
    { FT_FAULT_CURRENT_SENSOR, FT_POWERED, FT_OFF, current_told },
    { FT_FAULT_CURRENT_SIGN, FT_POWERED, FT_OFF, current_sign },
    { FT_FAULT_CURRENT_LOOP, FT_POWERED, FT_OFF, current_comes },)
    { FT_FAULT_BREAK, FT_POWERED, FT_OFF, outputs_as_commanded },
    { FT_FAULT_UNDER_VOLTAGE, FT_POWERED, FT_OFF, bus_not_low },
    { FT_FAULT_OVER_VOLTAGE, FT_POWERED, FT_OFF, bus_not_high },
    FT_IF(FT_STEP_CLOSED,
    { FT_FAULT_LOOPS_SINGULAR, FT_OF_JOINTS, FT_OFF, loops_regular },)
    FT_IF(FT_MODED,
    { FT_FAULT_MODE, FT_OF_JOINTS, FT_OFF, mode_fits },)
    FT_IF(FT_DRIVES,
    { FT_FAULT_BUS_OFF, FT_POWERED, FT_OFF, buses_on },
    { FT_FAULT_DRIVE_FAULT, FT_POWERED, FT_OFF, drives_enabled },
    { FT_FAULT_DRIVE_SILENT, FT_POWERED, FT_OFF, drives_heard },)
    { FT_FAULT_NOT_FINITE, FT_OF_JOINTS, FT_OFF, finite },
    { FT_FAULT_ENCODER, FT_OF_JOINTS, FT_OFF, counts_possible },
    { FT_FAULT_ENCODER_STUCK, FT_OF_JOINTS, FT_OFF, not_stuck },
    { FT_FAULT_HOMING, FT_OF_JOINTS, FT_OFF, zero_found },
    { FT_FAULT_OVERSPEED, FT_OF_JOINTS, FT_OFF, not_too_fast },
    { FT_FAULT_POSITION, FT_OF_JOINTS, FT_OFF, not_far_outside },
    { FT_FAULT_FOLLOWING, FT_OF_JOINTS, FT_OFF, following },
    { FT_FAULT_OVER_TEMPERATURE, FT_POWERED, FT_PARK_HEAT ? FT_STOP : FT_OFF,
      not_hot },
    { FT_FAULT_DRIVER, FT_POWERED, FT_OFF, drivers_well },
    { FT_FAULT_OVERLOAD, FT_ARMED, FT_STOP, not_overloaded },
    FT_IF(FT_PARK_SUPPLY,
    { FT_FAULT_LOW_SUPPLY, FT_ARMED, FT_STOP, supply_not_low },)
    { FT_FAULT_HOST_LOST, FT_ARMED, FT_STOP, host_there },
    { FT_FAULT_KNOT, FT_OF_KNOTS, FT_STOP, knots_good },
};
const uint32_t ft_faults_count = sizeof ft_faults / sizeof ft_faults[0];

/* Return the classes of faults for which an alarm is set from outside the tick.
 * A bad knot counts only once, since the arm stops because of it. */
static uint32_t alarms(const ft_safety *s)
{
    const ft_alarms *a = &s->alarms;
    uint32_t kinds = 0;

    if (a->set.any == 0u)
        return 0;
    if ((a->set.of[FT_ALARM_MISSED] | a->set.of[FT_ALARM_MEMORY]) != 0)
        kinds = FT_ALWAYS;
    if (a->set.of[FT_ALARM_BOARD] != 0u)
        kinds |= FT_ALWAYS | FT_POWERED | FT_ARMED;
    if (a->set.of[FT_ALARM_KNOT] != 0u && s->coming == FT_FAULT_NONE)
        kinds |= FT_OF_KNOTS;
    return kinds;
}

/* Return the classes of faults that are checked in a state. */
uint32_t ft_counting(const ft_safety *s)
{
    uint32_t kinds = FT_ALWAYS | FT_OF_KNOTS;

    if (ft_safety_powered(s))
        kinds |= FT_POWERED;
    if (ft_safety_armed(s))
        kinds |= FT_ARMED | FT_OF_JOINTS;
    return kinds;
}

/* Return the classes of faults that the tick's numbers may indicate. */
static uint32_t signs(const ft_safety *s, const ft_safety_input *in)
{
    uint32_t kinds = 0;

    if (!ft_safety_powered(s))
        return 0;
    if (in->found->any)
        kinds = FT_POWERED | FT_OF_JOINTS;
    if (host_gone(s) || low(in->sensors) || high(in->sensors)
        || !ft_chip_outputs_enabled()
        || (FT_PARK_SUPPLY && ft_safety_sags(s) > FT_PARK_SAGS))
        kinds |= FT_POWERED | FT_ARMED;
    return kinds;
}

/* Return the classes of faults that must be checked, as bits. */
uint32_t ft_suspects(const ft_safety *s, const ft_safety_input *in)
{
    uint32_t kinds = alarms(s) | signs(s, in);

    return kinds != 0u ? kinds & ft_counting(s) : 0u;
}

/* Errors of the chip at its start. Causes are listed before their effects. */
static const struct {
    uint32_t errors, fault;
} faults_of_chip[] = {
    { FT_CHIP_SUPPLY, FT_FAULT_SUPPLY },
    { FT_CHIP_CLOCK, FT_FAULT_CLOCK },
    { FT_CHIP_CRYSTAL, FT_FAULT_CRYSTAL },
    { FT_CHIP_TIMER | FT_CHIP_PORT | FT_CHIP_DRIVER, FT_FAULT_CHIP },
    { FT_CHIP_SENSE, FT_FAULT_CONVERTER },
    { FT_CHIP_UPDATE, FT_FAULT_PWM_UPDATE },
    { FT_CHIP_TICK, FT_FAULT_TICK_TIMER },
};

/* Return the fault of the start, or FT_FAULT_NONE. A changed flash is reported
 * first, since all other reports are then unreliable. */
uint32_t ft_fault_of_start(uint32_t chip_errors)
{
    uint32_t i;

    if (!ft_watch_constants())
        return FT_FAULT_CONFIGURATION;
    if (!ft_watch_code())
        return FT_FAULT_CODE;
    for (i = 0; i < sizeof faults_of_chip / sizeof faults_of_chip[0]; i++) {
        if ((chip_errors & faults_of_chip[i].errors) != 0u)
            return faults_of_chip[i].fault;
    }
    if ((chip_errors & FT_CHIP_CRASHED) != 0u)
        return FT_FAULT_HARD_FAULT;
    if (ft_chip_reset_cause() == FT_RESET_WATCHDOG)
        return FT_FAULT_WATCHDOG;
    return FT_FAULT_NONE;
}
