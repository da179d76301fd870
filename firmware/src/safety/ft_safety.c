/* The safety states; see ft_safety.h. */
#include "ft_safety.h"

#include "ft_chip.h"       /* ft_chip_outputs, ft_chip_safe */
#include "ft_conditions.h" /* ft_conditions, ft_faults */
#include "ft_config.h"     /* FT_HOST_TIMEOUT */
#include "ft_loops.h"      /* ft_loops_first_mode */
#include "ft_number.h"     /* FT_UNROLL */

/* ---- time limit of parking ---------------------------------------------- */

#if FT_PARK

/* Return whether a fault concerns only the host. */
static bool of_host(uint32_t code)
{
    return code == FT_FAULT_HOST_LOST || code == FT_FAULT_KNOT;
}

/* Set the time limit of parking, and whether parking may pause. */
static void set_time(ft_safety *s)
{
    s->parking = FT_PARK_TICKS;
    s->hasty = !of_host(s->fault);
}

/* Note a further fault of an arm that parks. Parking may then not pause any
 * more, unless the fault concerns only the host. */
static void hurry(ft_safety *s, uint32_t code)
{
    s->hasty = s->hasty || !of_host(code);
}

/* Return whether parking may pause during a contact. */
static bool has_time(const ft_safety *s)
{
    return !s->hasty;
}

/* Count a tick of parking. Return whether it was the last tick. */
static bool passed(ft_safety *s)
{
    return --s->parking == 0u;
}

#else

static inline void set_time(ft_safety *s)
{
    (void)s;
}

static inline void hurry(ft_safety *s, uint32_t code)
{
    (void)s;
    (void)code;
}

static inline bool has_time(const ft_safety *s)
{
    (void)s;
    return false;
}

static inline bool passed(ft_safety *s)
{
    (void)s;
    return false;
}

#endif

/* ---- actions ---------------------------------------------------------- */

static void nothing(ft_safety *s, ft_control *c)
{
    (void)s;
    (void)c;
}

/* Clear the flags of the last motion. */
static void forget_last_motion(ft_safety *s)
{
    s->flags &= FT_FLAG_HOMED | FT_FLAG_OUTPUTS | FT_FLAG_OVERLAY
                       | FT_FLAG_SEEKING;
    s->reason = 0;
}

/* Start dynamics and law at rest, at the joints' positions, where the motion
 * already is while the outputs are off. */
static void hold_here(const ft_safety *s, ft_control *c)
{
    if (s->source != FT_SOURCE_OFF)
        ft_motion_hold(&c->motion, c->seen.q);
    ft_step_start(&c->step, c->seen.q);
    ft_law_start(&c->law);
}

static void outputs_on(ft_safety *s)
{
    ft_chip_outputs(true);
    s->flags |= FT_FLAG_OUTPUTS;
}

/* Open the brakes. From now on the control law holds the joints. */
static void open_brakes(ft_safety *s)
{
    if (!FT_BRAKE || s->released)
        return;
    ft_chip_brake(true);
    s->released = true;
    s->opening = FT_BRAKE_OPENS;
}

/* Close the brakes. The law holds the joints until the brakes have closed. */
static void close_brakes(ft_safety *s)
{
    if (!FT_BRAKE || s->closing != 0u)
        return;
    ft_chip_brake(false);
    s->closing = FT_BRAKE_CLOSES;
}

/* Hold the measured positions, in the first mode. */
static void arm(ft_safety *s, ft_control *c)
{
    forget_last_motion(s);
    c->motion.mode = 0;
    ft_loops_first_mode(&c->step);
    hold_here(s, c);
    outputs_on(s);
    open_brakes(s);
}

/* Switch the outputs off. The brakes close first. */
static void outputs_off(ft_safety *s, ft_control *c)
{
    ft_chip_safe();
    ft_chip_outputs(false);
    s->released = false;
    s->opening = s->closing = 0;
    ft_motion_forget(&c->motion);
    s->flags &= (uint8_t)~(FT_FLAG_OUTPUTS | FT_FLAG_SEEKING);
    s->coming = FT_FAULT_NONE;
    s->reaction = FT_REACTION_COAST;
}

/* Short-circuit the motors: zero voltage with the outputs on. */
static void brake(ft_safety *s, ft_control *c)
{
    ft_chip_brake(false);
    ft_motion_forget(&c->motion);
    s->flags &= (uint8_t)~FT_FLAG_SEEKING;
    s->coming = FT_FAULT_NONE;
}

/* Stop at the joints' positions, and hold them. */
static void stay(ft_safety *s, ft_control *c)
{
    ft_motion_forget(&c->motion);
    hold_here(s, c);
    s->coming = FT_FAULT_NONE;
}

/* Return whether the control law can hold the joints in this state. */
static bool can_hold(const ft_safety *s)
{
    return s->source == FT_SOURCE_PATH || s->source == FT_SOURCE_JOG
           || s->source == FT_SOURCE_FOLLOW || s->state == FT_STATE_FLOAT;
}

/* Switch the outputs off, in an arm with brakes once these have closed. */
static void disarm(ft_safety *s, ft_control *c)
{
    if (!FT_BRAKE) {
        outputs_off(s, c);
        return;
    }
    stay(s, c);
    close_brakes(s);
}

/* Give the held positions, including whole turns. */
static void where_held(const ft_control *c, int64_t q[FT_JOINTS])
{
    const ft_target *held = c->motion.newest;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        q[j] = ft_observer_turned(&c->seen, j, held->q[j]);
}

/* Move the joints from the held positions to the parking pose. */
static FT_MAYBE_UNUSED void lie_down(ft_safety *s, ft_control *c)
{
    int64_t q[FT_JOINTS];

    (void)s;
    where_held(c, q);
    ft_follow_park(&c->follow, q);
    if (FT_WAITS)
        ft_control_contact(c)->way = 0;
}

/* Begin to park. */
static void park(ft_safety *s, ft_control *c)
{
    lie_down(s, c);
    set_time(s);
}

/* Switch the outputs off, since the joints are parked or the time limit is
 * over. In an arm with brakes, wait until the brakes have closed. */
static FT_MAYBE_UNUSED void lie(ft_safety *s, ft_control *c)
{
    if (s->reaction != FT_REACTION_PARK)
        return;
    if (!FT_BRAKE) {
        outputs_off(s, c);
        return;
    }
    s->reaction = FT_REACTION_HOLD;
    stay(s, c);
    close_brakes(s);
}

/* Wait at the positions to which a contact has pushed the joints. */
static FT_MAYBE_UNUSED void await_way(ft_safety *s, ft_control *c)
{
    if (s->reaction != FT_REACTION_PARK)
        return;
    hold_here(s, c);
    lie_down(s, c);
    ft_follow_stop(&c->follow);
    ft_control_contact(c)->way = FT_FELT_AWAY;
}

/* Return the reaction to a fault, limited to the reactions that are possible
 * now. If the law cannot hold the joints, the joints coast. While the brakes
 * are still opening, the arm is held and does not park. */
static uint8_t possible(const ft_safety *s, uint8_t how)
{
    if (FT_BRAKE && how == FT_REACTION_COAST && s->gentle)
        how = FT_REACTION_HOLD;
    if (how >= FT_REACTION_HOLD && !can_hold(s))
        return FT_REACTION_COAST;
    return how == FT_REACTION_PARK && s->opening != 0u
               ? (uint8_t)FT_REACTION_HOLD : how;
}

/* React to a fault as the mechanism file says for its class. A later fault
 * never weakens the reaction. In an arm with brakes, the law holds the joints
 * until the brakes have closed. An arm with brakes also waits before it coasts,
 * if the fault was latched at rest. */
static void react(ft_safety *s, ft_control *c)
{
    const uint8_t how = possible(s, s->asked);

    if (s->state == FT_STATE_FAULT && how >= s->reaction)
        return;
    s->reaction = how;
    if (how == FT_REACTION_COAST)
        outputs_off(s, c);
    else if (how == FT_REACTION_BRAKE)
        brake(s, c);
    else
        stay(s, c);
    if (how == FT_REACTION_HOLD)
        close_brakes(s);
    if (FT_PARK && how == FT_REACTION_PARK)
        park(s, c);
}

static void home(ft_safety *s, ft_control *c)
{
    uint32_t j;

    ft_observer_set(&c->seen, s->request.position);
    for (j = 0; j < FT_JOINTS; j++)
        s->homed[j] = true;
    s->flags |= FT_FLAG_HOMED;
    ft_motion_forget(&c->motion); /* its step begins at the old positions */
}

/* ---- actions of the lab modes ------------------------------------------ */

static void let_float(ft_safety *s, ft_control *c)
{
    if (FT_RETURN)
        ft_control_contact(c)->way = 0;
    ft_motion_forget(&c->motion);
    ft_lab_float(&c->lab, s->request.value);
}

/* Store the position to which the arm will return. */
static void keep_place(ft_control *c)
{
    int64_t place[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        place[j] = ft_observer_turned(&c->seen, j, c->motion.next.q[j]);
    ft_follow_keep(&c->follow, place);
}

/* Leave the path because of a contact. */
static void leave_path(ft_safety *s, ft_control *c)
{
    if (ft_control_contact(c)->way == 0u) {
        keep_place(c);
        ft_motion_leave(&c->motion);
        forget_last_motion(s);
    }
    ft_contact_give_way(ft_control_contact(c));
}

/* Give way to a contact: the motors only support the arm's weight. */
static FT_MAYBE_UNUSED void give_way(ft_safety *s, ft_control *c)
{
    if (FT_RETURN) {
        leave_path(s, c);
    } else {
        forget_last_motion(s);
        ft_motion_forget(&c->motion);
    }
    ft_lab_float(&c->lab, 0.0f);
}

/* Return to the stored position, since the contact is over. */
static FT_MAYBE_UNUSED void go_back(ft_safety *s, ft_control *c)
{
    int64_t q[FT_JOINTS];

    hold_here(s, c);
    where_held(c, q);
    ft_follow_return(&c->follow, q);
    ft_control_contact(c)->way = FT_FELT_BACK;
    ft_control_contact(c)->tries++;
}

static void jog(ft_safety *s, ft_control *c)
{
    const ft_request *r = &s->request;

    if (s->state != FT_STATE_JOG) {
        forget_last_motion(s);
        ft_motion_forget(&c->motion);
        ft_lab_rest(&c->lab);
    }
    ft_lab_jog(&c->lab, r->joint, (ft_real)r->value);
}

static void jog_no_more(ft_safety *s, ft_control *c)
{
    (void)s;
    ft_lab_release(&c->lab);
}

static void seek(ft_safety *s, ft_control *c)
{
    if (s->state == FT_STATE_DISARMED) {
        hold_here(s, c);
        outputs_on(s);
        open_brakes(s);
    }
    s->homed[s->request.joint] = false;
    s->flags &= (uint8_t)~FT_FLAG_HOMED;
    s->flags |= FT_FLAG_SEEKING;
    ft_lab_seek(&c->lab, s->request.joint);
}

/* Note that the zero of the sought joint has been found. */
static void found(ft_safety *s, ft_control *c)
{
    s->homed[c->lab.joint] = true;
    if (ft_safety_unhomed(s) == FT_NO_JOINT)
        s->flags |= FT_FLAG_HOMED;
    ft_motion_forget(&c->motion);
}

static void sought(ft_safety *s, ft_control *c)
{
    (void)c;
    s->flags &= (uint8_t)~FT_FLAG_SEEKING;
}

static void probe(ft_safety *s, ft_control *c)
{
    const ft_request *r = &s->request;

    if (s->state == FT_STATE_DISARMED) {
        hold_here(s, c);
        outputs_on(s);
        ft_lab_rest(&c->lab);
    }
    ft_lab_probe(&c->lab, r->joint, (ft_real)r->value);
}

static void overlay(ft_safety *s, ft_control *c)
{
    const ft_request *r = &s->request;

    if (ft_law_overlay(&c->law, r->joint, r->gains))
        s->flags |= FT_FLAG_OVERLAY;
    else
        s->flags &= (uint8_t)~FT_FLAG_OVERLAY;
}

/* ---- actions of motions ------------------------------------------------ */

/* Play the buffered motion, which must begin near the held positions. The
 * inverse dynamics continue at rest from there. */
static void play(ft_safety *s, ft_control *c)
{
    forget_last_motion(s);
    ft_step_take(&c->step, ft_motion_start(&c->motion));
}

/* Slow down along the path because of STOP. */
static void stop(ft_safety *s, ft_control *c)
{
    if (s->reason == 0u)
        s->reason = FT_FLAG_STOPPED;
    ft_motion_brake(&c->motion);
}

static void resume(ft_safety *s, ft_control *c)
{
    forget_last_motion(s);
    ft_motion_resume(&c->motion);
}

static void flush(ft_safety *s, ft_control *c)
{
    forget_last_motion(s);
    ft_motion_forget(&c->motion);
}

/* Hold the joints until the next host connects. Drop the last host's motion. */
static void keep(ft_safety *s, ft_control *c)
{
    flush(s, c);
    s->coming = FT_FAULT_NONE;
}

static void host_silent(ft_safety *s, ft_control *c)
{
    s->reason = FT_FLAG_HOST_SILENT;
    ft_motion_brake(&c->motion);
}

/* Set the flag with the reason why the motion came to rest early. */
static void pause(ft_safety *s, ft_control *c)
{
    s->flags |= c->motion.underrun ? (uint8_t)FT_FLAG_UNDERRUN
                                          : s->reason;
}

/* Note the end of a motion, which is a stop after giving way. */
static void finish(ft_safety *s, ft_control *c)
{
    if (!FT_RETURN || ft_control_contact(c)->way == 0u)
        s->flags |= FT_FLAG_ENDED;
    else if (c->motion.phase == FT_MOTION_PAUSED)
        s->flags |= FT_FLAG_STOPPED;
}

/* ---- actions of FOLLOW -------------------------------------------------- */

/* Follow targets from the held positions, including whole turns. */
static void follow(ft_safety *s, ft_control *c)
{
    int64_t q[FT_JOINTS];

    where_held(c, q);
    forget_last_motion(s);
    ft_motion_forget(&c->motion);
    ft_follow_begin(&c->follow, q, s->request.delay, s->request.frame);
}

/* Brake because of STOP. */
static void follow_no_more(ft_safety *s, ft_control *c)
{
    if (s->reason == 0u)
        s->reason = FT_FLAG_STOPPED;
    ft_follow_stop(&c->follow);
}

/* Brake because the host is silent. */
static void nothing_heard(ft_safety *s, ft_control *c)
{
    s->reason = FT_FLAG_HOST_SILENT;
    ft_follow_stop(&c->follow);
}

/* Set the flag with the reason why the joints came to rest before an END. */
static void run_out(ft_safety *s, ft_control *c)
{
    if (FT_RETURN && ft_control_contact(c)->way != 0u)
        ft_motion_forget(&c->motion); /* the arm is not on the path */
    s->flags |= s->reason != 0u || !c->follow.starved
                    ? s->reason : (uint8_t)FT_FLAG_UNDERRUN;
}

/* Forget the fault. If the arm was held, it stays held. */
static void take_over(ft_safety *s, ft_control *c)
{
    (void)c;
    s->fault = FT_FAULT_NONE;
    s->fault_joint = FT_NO_JOINT;
    s->alarms.set.of[FT_ALARM_MISSED] = 0;
    s->alarms.set.of[FT_ALARM_KNOT] = 0;
    ft_chip_remember(0);
}

/* Switch the outputs off, and forget the fault. */
static void clear(ft_safety *s, ft_control *c)
{
    outputs_off(s, c);
    take_over(s, c);
}

/* ---- the table -------------------------------------------------------- */

typedef struct {
    void (*act)(ft_safety *s, ft_control *c); /* 0: ignored */
    uint8_t next;
} cell;

#define BOOT FT_STATE_BOOT
#define CHECK FT_STATE_CHECK
#define DISARMED FT_STATE_DISARMED
#define HOLD FT_STATE_HOLD
#define TRACK FT_STATE_TRACK
#define FAULT FT_STATE_FAULT
#define ESTOP FT_STATE_ESTOP
#define HOMING FT_STATE_HOMING
#define FLOAT FT_STATE_FLOAT
#define JOG FT_STATE_JOG
#define PROBE FT_STATE_PROBE
#define CLOSING FT_STATE_CLOSING
#define LEAVING FT_STATE_LEAVING
#define FOLLOW FT_STATE_FOLLOW
#define HELD FT_STATE_HELD

/* Reactions to a contact: the state's usual stop, or giving way. */
#define TOUCH(stops, on) \
    FT_IF(FT_STOPS, [FT_EVENT_TOUCH] = { stops, on },) \
    FT_IF(FT_GIVES_WAY, [FT_EVENT_TOUCH] = { give_way, FLOAT },)

static const cell table[FT_STATES][FT_EVENTS] = {
    [BOOT] = {
        [FT_COMMAND_DISARM] = { nothing, BOOT },
        [FT_EVENT_PASSED] = { nothing, CHECK },
        [FT_EVENT_FAULT] = { outputs_off, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [CHECK] = {
        [FT_COMMAND_DISARM] = { nothing, CHECK },
        [FT_EVENT_PASSED] = { nothing, DISARMED },
        [FT_EVENT_FAULT] = { outputs_off, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [DISARMED] = {
        [FT_COMMAND_ARM] = { arm, HOLD },
        [FT_COMMAND_DISARM] = { nothing, DISARMED },
        [FT_COMMAND_FLUSH] = { flush, DISARMED },
        [FT_COMMAND_LOADER] = { outputs_off, LEAVING },
        [FT_EVENT_HOME] = { home, DISARMED },
        [FT_EVENT_SEEK] = { seek, HOMING },
        [FT_EVENT_PROBE] = { probe, PROBE },
        [FT_EVENT_GAINS] = { overlay, DISARMED },
        [FT_EVENT_FAULT] = { outputs_off, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [HOLD] = {
        [FT_COMMAND_DISARM] = { disarm, DISARMED },
        [FT_COMMAND_START] = { play, TRACK },
        [FT_COMMAND_STOP] = { nothing, HOLD },
        [FT_COMMAND_RESUME] = { resume, TRACK },
        [FT_COMMAND_FLUSH] = { flush, HOLD },
        [FT_EVENT_FLOAT] = { let_float, FLOAT },
        [FT_EVENT_JOG] = { jog, JOG },
        [FT_EVENT_GAINS] = { overlay, HOLD },
        [FT_EVENT_FOLLOW] = { follow, FOLLOW },
        [FT_EVENT_LEFT] = { keep, HELD },
        TOUCH(nothing, HOLD)
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [TRACK] = {
        [FT_COMMAND_DISARM] = { disarm, DISARMED },
        [FT_COMMAND_STOP] = { stop, TRACK },
        [FT_EVENT_PAUSED] = { pause, HOLD },
        [FT_EVENT_ENDED] = { finish, HOLD },
        [FT_EVENT_SILENT] = { host_silent, TRACK },
        TOUCH(stop, TRACK)
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [FAULT] = {
        [FT_COMMAND_DISARM] = { outputs_off, FAULT },
        [FT_COMMAND_CLEAR] = { clear, DISARMED },
        [FT_COMMAND_LOADER] = { outputs_off, LEAVING },
        [FT_EVENT_PASSED] = { outputs_off, FAULT },
        FT_IF(FT_PARK, [FT_EVENT_ENDED] = { lie, FAULT },)
        FT_IF(FT_WAITS, [FT_EVENT_TOUCH] = { await_way, FAULT },
                        [FT_EVENT_FREE] = { lie_down, FAULT },)
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [ESTOP] = {
        [FT_COMMAND_DISARM] = { nothing, ESTOP },
        [FT_COMMAND_CLEAR] = { clear, DISARMED },
        [FT_COMMAND_LOADER] = { outputs_off, LEAVING },
        [FT_EVENT_FAULT] = { nothing, ESTOP },
        [FT_EVENT_ESTOP] = { nothing, ESTOP },
    },
    [HOMING] = {
        [FT_COMMAND_ARM] = { arm, HOLD },
        [FT_COMMAND_DISARM] = { outputs_off, DISARMED },
        [FT_COMMAND_STOP] = { outputs_off, DISARMED },
        [FT_EVENT_SEEK] = { seek, HOMING },
        [FT_EVENT_PASSED] = { found, HOMING },
        [FT_EVENT_PAUSED] = { sought, HOMING },
        [FT_EVENT_SILENT] = { outputs_off, DISARMED },
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [FLOAT] = {
        [FT_COMMAND_DISARM] = { disarm, DISARMED },
        [FT_COMMAND_STOP] = { stay, HOLD },
        [FT_EVENT_FLOAT] = { let_float, FLOAT },
        FT_IF(FT_RETURN, [FT_EVENT_FREE] = { go_back, FOLLOW },)
        [FT_EVENT_SILENT] = { stay, HOLD },
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [JOG] = {
        [FT_COMMAND_DISARM] = { disarm, DISARMED },
        [FT_COMMAND_STOP] = { jog_no_more, JOG },
        [FT_EVENT_JOG] = { jog, JOG },
        [FT_EVENT_PAUSED] = { nothing, HOLD },
        [FT_EVENT_SILENT] = { jog_no_more, JOG },
        TOUCH(jog_no_more, JOG)
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [PROBE] = {
        [FT_COMMAND_DISARM] = { outputs_off, DISARMED },
        [FT_COMMAND_STOP] = { outputs_off, DISARMED },
        [FT_EVENT_PROBE] = { probe, PROBE },
        [FT_EVENT_PAUSED] = { outputs_off, DISARMED },
        [FT_EVENT_SILENT] = { outputs_off, DISARMED },
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [CLOSING] = {
        [FT_COMMAND_DISARM] = { outputs_off, DISARMED },
        [FT_EVENT_PASSED] = { outputs_off, DISARMED },
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [LEAVING] = {
        [FT_COMMAND_DISARM] = { nothing, LEAVING },
        [FT_EVENT_FAULT] = { nothing, LEAVING },
        [FT_EVENT_ESTOP] = { nothing, LEAVING },
    },
    [FOLLOW] = {
        [FT_COMMAND_DISARM] = { disarm, DISARMED },
        [FT_COMMAND_STOP] = { follow_no_more, FOLLOW },
        [FT_EVENT_PAUSED] = { run_out, HOLD },
        [FT_EVENT_ENDED] = { finish, HOLD },
        [FT_EVENT_SILENT] = { nothing_heard, FOLLOW },
        TOUCH(follow_no_more, FOLLOW)
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [HELD] = {
        [FT_COMMAND_ARM] = { take_over, HOLD },
        [FT_COMMAND_DISARM] = { clear, DISARMED },
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
};

/* Reason to refuse a command that a state does not accept. For states that this
 * table leaves out, the reason is WRONG_STATE. */
static const uint8_t refusal_of[FT_STATES] = {
    [FAULT] = FT_REFUSAL_FAULT_LATCHED,
    [ESTOP] = FT_REFUSAL_ESTOP_ACTIVE,
};

/* Source of the torques in each state. */
static const uint8_t source_of[FT_STATES] = {
    [HOLD] = FT_SOURCE_PATH,  [TRACK] = FT_SOURCE_PATH, [JOG] = FT_SOURCE_JOG,
    [HOMING] = FT_SOURCE_LAB, [FLOAT] = FT_SOURCE_LAB,  [PROBE] = FT_SOURCE_LAB,
    [CLOSING] = FT_SOURCE_PATH, [FOLLOW] = FT_SOURCE_FOLLOW,
    [HELD] = FT_SOURCE_PATH,
};

/* ---- events ----------------------------------------------------------- */

/* Return whether knots are accepted. */
bool ft_safety_takes_knots(const ft_safety *s)
{
    return (ft_safety_armed(s) || s->state == DISARMED)
           && s->state != FAULT && s->state != HELD
           && s->coming == FT_FAULT_NONE
           && s->alarms.set.of[FT_ALARM_KNOT] == 0u;
}

/* Return the first joint without a zero, or FT_NO_JOINT. */
uint32_t ft_safety_unhomed(const ft_safety *s)
{
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++)
        if (!s->homed[j])
            return j;
    return FT_NO_JOINT;
}

#if FT_DRIVES

/* Set HOMED if every joint has its zero, which a restarted drive loses. */
void ft_safety_met(ft_safety *s)
{
    if (ft_safety_unhomed(s) == FT_NO_JOINT)
        s->flags |= FT_FLAG_HOMED;
    else
        s->flags &= (uint8_t)~FT_FLAG_HOMED;
}

#endif

/* Run an event's action if the state knows the event, and go to its next state.
 * DISARM waits until the brakes have closed. */
void ft_safety_event(ft_safety *s, ft_control *c, uint32_t event)
{
    const cell *to = &table[s->state][event];

    if (to->act == 0)
        return;
    to->act(s, c);
    s->state = to->next == DISARMED && s->closing != 0u ? CLOSING : to->next;
    s->source = source_of[s->state];
    if (to->next == FAULT && s->reaction == FT_REACTION_HOLD)
        s->source = FT_SOURCE_PATH;
    if (FT_PARK && to->next == FAULT && s->reaction == FT_REACTION_PARK)
        s->source = FT_SOURCE_FOLLOW;
    if (FT_YIELDS && s->state != FLOAT && s->state != FOLLOW
        && s->reaction != FT_REACTION_PARK)
        ft_control_contact(c)->way = 0;
}

/* Note the refusal of the last command. */
static void refuse(ft_safety *s, uint8_t refusal, uint32_t joint)
{
    s->refusal = refusal;
    s->refusal_joint = (uint8_t)joint;
}

/* Return whether all conditions of a command hold. If a condition fails, refuse
 * the command. In HELD the next host may take over the arm without
 * conditions. */
static bool permitted(ft_safety *s, const ft_safety_input *in, uint32_t event)
{
    const ft_condition *row =
        event == FT_COMMAND_ARM ? ft_conditions_of_arm : ft_conditions;

    if (s->state == HELD)
        return true;
    while (row->event < event)
        row++;
    for (; row->event == event; row++) {
        uint32_t joint = row->check(in);

        if (joint != FT_GOOD) {
            refuse(s, row->refusal, joint);
            return false;
        }
    }
    return true;
}

/* Execute a command of the host, or refuse it with a reason. */
static void command(ft_safety *s, ft_control *c, const ft_safety_input *in,
                    uint32_t event)
{
    uint8_t why = refusal_of[s->state];

    refuse(s, FT_REFUSAL_NONE, FT_NO_JOINT);
    if (event == 0u || event > FT_EVENT_FOLLOW)
        refuse(s, FT_REFUSAL_UNKNOWN, FT_NO_JOINT);
    else if (table[s->state][event].act == 0)
        refuse(s, why != 0u ? why : FT_REFUSAL_WRONG_STATE, FT_NO_JOINT);
    else if (permitted(s, in, event))
        ft_safety_event(s, c, event);
}

/* Execute a posted request once. */
static void take_request(ft_safety *s, ft_control *c,
                         const ft_safety_input *in)
{
    ft_request *r = &s->request;

    if (!r->posted)
        return;
    command(s, c, in, r->event);
    s->token = r->token;
    r->posted = false;
}

/* ---- faults ----------------------------------------------------------- */

/* Return whether this fault leaves the arm held for the next host. In an arm
 * with brakes, the brakes hold the arm instead. */
static bool stays_held(const ft_safety *s, uint32_t code)
{
    return !FT_BRAKE && code == FT_FAULT_HOST_LOST && s->state == HOLD
           && ft_reaction[code] == FT_REACTION_HOLD;
}

/* Latch a fault. The first fault stays latched, even over a reset. In HELD a
 * new fault replaces HOST_LOST. */
static void fault(ft_safety *s, ft_control *c, uint32_t code,
                  uint32_t joint)
{
    if (s->fault == FT_FAULT_NONE || s->state == HELD) {
        s->fault = (uint8_t)code;
        s->fault_joint = (uint8_t)joint;
        ft_chip_remember(code);
        if (s->latched[code] < UINT8_MAX)
            s->latched[code]++;
    }
    if (stays_held(s, code)) {
        ft_safety_event(s, c, FT_EVENT_LEFT);
        return;
    }
    s->asked = ft_reaction[code];
    ft_safety_event(s, c, FT_EVENT_FAULT);
}

/* Latch a fault at rest. Sensors, drivers and law are still good. Only an arm
 * with brakes distinguishes this fault from other faults. */
static void gentle_fault(ft_safety *s, ft_control *c, uint32_t code,
                         uint32_t joint)
{
    if (FT_BRAKE)
        s->gentle = true;
    fault(s, c, code, joint);
    if (FT_BRAKE)
        s->gentle = false;
}

/* Return whether all targets, also later ones, are at rest. */
static bool at_rest(const ft_safety *s, const ft_control *c)
{
    return s->state != TRACK && s->state != JOG && s->state != FOLLOW
           && ft_motion_settled(&c->motion);
}

/* Stop on the path first if there is a motion, then latch the fault. */
static void fault_at_rest(ft_safety *s, ft_control *c, uint32_t code,
                          uint32_t joint)
{
    if (at_rest(s, c)) {
        gentle_fault(s, c, code, joint);
        return;
    }
    if (s->coming == FT_FAULT_NONE) {
        s->coming = (uint8_t)code;
        s->coming_joint = (uint8_t)joint;
    }
    ft_motion_brake(&c->motion);
    ft_lab_release(&c->lab);
    ft_follow_stop(&c->follow);
}

/* Latch the fault that waited for rest. */
static void take_coming(ft_safety *s, ft_control *c)
{
    if (s->coming != FT_FAULT_NONE && at_rest(s, c))
        gentle_fault(s, c, s->coming, s->coming_joint);
}

/* Return whether a reaction is under way: held for a host, or parking. */
static bool dealt_with(const ft_safety *s, uint32_t code)
{
    if (!FT_BRAKE && code == FT_FAULT_HOST_LOST && s->state == HELD)
        return true;
    return FT_PARK && s->state == FT_STATE_FAULT
           && s->reaction == FT_REACTION_PARK
           && ft_reaction[code] == FT_REACTION_PARK;
}

/* Check the faults in the order of the table. The first fault is latched. A
 * later fault may cause a stronger reaction. While the outputs are off or the
 * motors brake, fewer classes of faults are checked. */
static void look_for_faults(ft_safety *s, ft_control *c, uint32_t kinds,
                            const ft_safety_input *in)
{
    const ft_fault_rule *f, *end = ft_faults + ft_faults_count;
    uint32_t joint;

    for (f = ft_faults; f < end; f++) {
        if ((f->where & kinds) == 0u)
            continue;
        joint = f->check(in);
        if (joint == FT_GOOD)
            continue;
        if (dealt_with(s, f->fault)) {
            hurry(s, f->fault);
            continue;
        }
        if (f->reaction == FT_STOP)
            fault_at_rest(s, c, f->fault, joint);
        else
            fault(s, c, f->fault, joint);
        kinds &= ft_counting(s);
    }
}

/* Count the ticks since the host's last frame, and react to silence. */
static void listen_for_host(ft_safety *s, ft_control *c)
{
    uint32_t silent = s->silent;

    if (silent <= FT_HOST_LOST)
        s->silent = ++silent;
    if (silent > FT_HOST_TIMEOUT)
        ft_safety_event(s, c, FT_EVENT_SILENT);
}

/* Count the ticks until the brakes have opened or closed. */
static void await_brakes(ft_safety *s, ft_control *c)
{
    if (s->opening != 0u)
        s->opening--;
    if (s->closing != 0u && --s->closing == 0u)
        ft_safety_event(s, c, FT_EVENT_PASSED);
}

/* Count down the time limit of parking, but not during a contact. */
static void await_rest(ft_safety *s, ft_control *c)
{
    if (s->reaction != FT_REACTION_PARK)
        return;
    if (FT_WAITS && has_time(s) && ft_control_contact(c)->way != 0u)
        return;
    if (passed(s))
        ft_safety_event(s, c, FT_EVENT_ENDED);
}

#if FT_PARK_SUPPLY

/* Count the ticks for which the supply has been low. */
static void count_sags(ft_safety *s, const ft_sensors *sensors)
{
    if ((ft_real)sensors->bus_voltage >= FT_PARK_VOLTS)
        s->sags = 0;
    else if (s->sags <= FT_PARK_SAGS)
        s->sags++;
}

#else

static inline void count_sags(const ft_safety *s, const ft_sensors *sensors)
{
    (void)s;
    (void)sensors;
}

#endif

/* Return whether the arm must react to a contact. Usually only a new contact
 * counts. While the arm parks, a contact counts for as long as it lasts. */
static bool felt(const ft_safety *s, const ft_contact *f)
{
    if (FT_WAITS && s->reaction == FT_REACTION_PARK)
        return f->touched && (!FT_STOPS || f->way == 0u);
    return f->touch && s->coming == FT_FAULT_NONE;
}

/* ---- start and tick --------------------------------------------------- */

/* Pass BOOT and CHECK, or end in FAULT. */
void ft_safety_start(ft_safety *s, ft_control *c, uint32_t chip_errors)
{
    uint32_t code = ft_fault_of_start(chip_errors);

    s->fault_joint = s->refusal_joint = FT_NO_JOINT;
    ft_safety_event(s, c, FT_EVENT_PASSED);
    if (code != FT_FAULT_NONE)
        fault(s, c, code, FT_NO_JOINT);
    else
        ft_safety_event(s, c, FT_EVENT_PASSED);
}

/* Process the events of a tick: first the motion's event, then contacts, the
 * e-stop and faults, and last the host's request. */
void ft_safety_tick(ft_safety *s, ft_control *c, const ft_safety_input *in,
                    uint32_t motion_event)
{
    uint32_t kinds;

    if (motion_event != 0u)
        ft_safety_event(s, c, motion_event);
    take_coming(s, c);
    if (FT_CONTACT && felt(s, ft_control_contact(c)))
        ft_safety_event(s, c, FT_EVENT_TOUCH);
    if (FT_YIELDS && ft_contact_quiet(ft_control_contact(c), &c->seen))
        ft_safety_event(s, c, FT_EVENT_FREE);
    if (FT_BRAKE)
        await_brakes(s, c);
    if (FT_PARK)
        await_rest(s, c);
    count_sags(s, in->sensors);
    if (in->sensors->estop)
        ft_safety_event(s, c, FT_EVENT_ESTOP);
    kinds = ft_suspects(s, in);
    if (kinds != 0u)
        look_for_faults(s, c, kinds, in);
    listen_for_host(s, c);
    take_request(s, c, in);
}
