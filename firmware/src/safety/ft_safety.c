/* The safety states; see ft_safety.h. */
#include "ft_safety.h"

#include "ft_chip.h"       /* ft_chip_outputs, ft_chip_safe */
#include "ft_conditions.h" /* ft_conditions, ft_faults */
#include "ft_config.h"     /* FT_HOST_TIMEOUT */
#include "ft_loops.h"      /* ft_loops_first_mode */
#include "ft_state.h"      /* ft */

/* ---- actions ---------------------------------------------------------- */

static void nothing(void)
{
}

/* Clear what the last motion left in the flags. */
static void forget_last_motion(void)
{
    ft.safety.flags &= FT_FLAG_HOMED | FT_FLAG_OUTPUTS | FT_FLAG_OVERLAY
                       | FT_FLAG_SEEKING;
    ft.safety.reason = 0;
}

/* Let the step and the law start at rest where the joints are now. Without
 * outputs the motion stays there anyway. */
static void hold_here(void)
{
    if (ft.safety.drive != FT_DRIVE_OFF)
        ft_motion_hold(&ft.motion, ft.seen.q);
    ft_step_start(&ft.step, ft.seen.q);
    ft_law_start(&ft.law);
}

static void outputs_on(void)
{
    ft_chip_outputs(true);
    ft.safety.flags |= FT_FLAG_OUTPUTS;
}

/* Let the brakes open, now that the joints are held. */
static void open_brakes(void)
{
    if (!FT_BRAKE || ft.safety.released)
        return;
    ft_chip_brake(true);
    ft.safety.released = true;
    ft.safety.opening = FT_BRAKE_OPENS;
}

/* Let the brakes close; the joints are held until they have. */
static void close_brakes(void)
{
    if (!FT_BRAKE || ft.safety.closing != 0u)
        return;
    ft_chip_brake(false);
    ft.safety.closing = FT_BRAKE_CLOSES;
}

/* Hold the position measured now, in the first mode. */
static void arm(void)
{
    forget_last_motion();
    ft.motion.mode = 0;
    ft_loops_first_mode(&ft.step);
    hold_here();
    outputs_on();
    open_brakes();
}

/* The brakes are the first to be let go. */
static void outputs_off(void)
{
    ft_chip_safe();
    ft_chip_outputs(false);
    ft.safety.released = false;
    ft.safety.opening = ft.safety.closing = 0;
    ft_motion_forget(&ft.motion);
    ft.safety.flags &= (uint8_t)~(FT_FLAG_OUTPUTS | FT_FLAG_SEEKING);
    ft.safety.coming = FT_FAULT_NONE;
    ft.safety.reaction = FT_REACTION_COAST;
}

/* Short-circuit the motors: no voltage, outputs stay on. */
static void brake(void)
{
    ft_chip_brake(false);
    ft_motion_forget(&ft.motion);
    ft.safety.flags &= (uint8_t)~FT_FLAG_SEEKING;
    ft.safety.coming = FT_FAULT_NONE;
}

/* Stop where the joints are, and stay there. */
static void stay(void)
{
    ft_motion_forget(&ft.motion);
    hold_here();
    ft.safety.coming = FT_FAULT_NONE;
}

/* Return whether the joints can be held: they move by the law. */
static bool can_hold(void)
{
    return ft.safety.drive == FT_DRIVE_PATH || ft.safety.drive == FT_DRIVE_JOG
           || ft.safety.state == FT_STATE_FLOAT;
}

/* Switch the outputs off; where brakes can take over, once they have. */
static void disarm(void)
{
    if (!FT_BRAKE) {
        outputs_off();
        return;
    }
    stay();
    close_brakes();
}

/* React to a fault as the mechanism file says for its class. A later fault
 * can only take away more. Where there are brakes, joints are held until these
 * have closed, and no longer; so they are before they may coast, if all that
 * holds them is well. */
static void react(void)
{
    uint8_t how = ft.safety.asked;

    if (FT_BRAKE && how == FT_REACTION_COAST && ft.safety.gentle)
        how = FT_REACTION_HOLD;
    if (how == FT_REACTION_HOLD && !can_hold())
        how = FT_REACTION_COAST;
    if (ft.safety.state == FT_STATE_FAULT && how >= ft.safety.reaction)
        return;
    ft.safety.reaction = how;
    if (how == FT_REACTION_COAST)
        outputs_off();
    else if (how == FT_REACTION_BRAKE)
        brake();
    else
        stay();
    if (how == FT_REACTION_HOLD)
        close_brakes();
}

static void home(void)
{
    uint32_t j;

    ft_observer_set(&ft.seen, ft.safety.request.position);
    for (j = 0; j < FT_JOINTS; j++)
        ft.safety.homed[j] = true;
    ft.safety.flags |= FT_FLAG_HOMED;
    ft_motion_forget(&ft.motion); /* it was to begin where the joints seemed */
}

/* ---- actions of the lab modes ------------------------------------------ */

static void let_float(void)
{
    ft_motion_forget(&ft.motion);
    ft_lab_float(&ft.lab, ft.safety.request.value);
}

static void jog(void)
{
    const ft_request *r = &ft.safety.request;

    if (ft.safety.state != FT_STATE_JOG) {
        forget_last_motion();
        ft_motion_forget(&ft.motion);
        ft_lab_rest(&ft.lab);
    }
    ft_lab_jog(&ft.lab, r->joint, (ft_real)r->value);
}

static void jog_no_more(void)
{
    ft_lab_release(&ft.lab);
}

static void seek(void)
{
    if (ft.safety.state == FT_STATE_DISARMED) {
        hold_here();
        outputs_on();
        open_brakes();
    }
    ft.safety.homed[ft.safety.request.joint] = false;
    ft.safety.flags &= (uint8_t)~FT_FLAG_HOMED;
    ft.safety.flags |= FT_FLAG_SEEKING;
    ft_lab_seek(&ft.lab, ft.safety.request.joint);
}

/* The joint sought for has been given its place. */
static void found(void)
{
    ft.safety.homed[ft.lab.joint] = true;
    if (ft_safety_unhomed() == FT_NO_JOINT)
        ft.safety.flags |= FT_FLAG_HOMED;
    ft_motion_forget(&ft.motion);
}

static void sought(void)
{
    ft.safety.flags &= (uint8_t)~FT_FLAG_SEEKING;
}

static void probe(void)
{
    const ft_request *r = &ft.safety.request;

    if (ft.safety.state == FT_STATE_DISARMED) {
        hold_here();
        outputs_on();
        ft_lab_rest(&ft.lab);
    }
    ft_lab_probe(&ft.lab, r->joint, (ft_real)r->value);
}

static void overlay(void)
{
    const ft_request *r = &ft.safety.request;

    if (ft_law_overlay(&ft.law, r->joint, r->gains))
        ft.safety.flags |= FT_FLAG_OVERLAY;
    else
        ft.safety.flags &= (uint8_t)~FT_FLAG_OVERLAY;
}

/* ---- actions of motions ------------------------------------------------ */

/* Play from the start of the buffered motion, which is within a tolerance of
 * where the joints are held: the step goes on at rest from there. */
static void play(void)
{
    forget_last_motion();
    ft_step_take(&ft.step, ft_motion_entry(&ft.motion));
    ft_motion_start(&ft.motion);
}

/* Slow down along the path because of STOP. */
static void stop(void)
{
    if (ft.safety.reason == 0u)
        ft.safety.reason = FT_FLAG_STOPPED;
    ft_motion_brake(&ft.motion);
}

static void resume(void)
{
    forget_last_motion();
    ft_motion_resume(&ft.motion);
}

static void flush(void)
{
    forget_last_motion();
    ft_motion_forget(&ft.motion);
}

static void host_silent(void)
{
    ft.safety.reason = FT_FLAG_HOST_SILENT;
    ft_motion_brake(&ft.motion);
}

/* Say why the motion came to rest before its end. */
static void pause(void)
{
    ft.safety.flags |= ft.motion.underrun ? (uint8_t)FT_FLAG_UNDERRUN
                                          : ft.safety.reason;
}

static void finish(void)
{
    ft.safety.flags |= FT_FLAG_ENDED;
}

/* Forget the fault; the next start is a fresh one. */
static void clear(void)
{
    outputs_off();
    ft.safety.fault = FT_FAULT_NONE;
    ft.safety.fault_joint = FT_NO_JOINT;
    ft.safety.alarms.of[FT_ALARM_MISSED] = 0;
    ft.safety.alarms.of[FT_ALARM_KNOT] = 0;
    ft_chip_remember(0);
}

/* ---- the table -------------------------------------------------------- */

typedef struct {
    void (*act)(void); /* 0: not possible in this state */
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
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [TRACK] = {
        [FT_COMMAND_DISARM] = { disarm, DISARMED },
        [FT_COMMAND_STOP] = { stop, TRACK },
        [FT_EVENT_PAUSED] = { pause, HOLD },
        [FT_EVENT_ENDED] = { finish, HOLD },
        [FT_EVENT_SILENT] = { host_silent, TRACK },
        [FT_EVENT_FAULT] = { react, FAULT },
        [FT_EVENT_ESTOP] = { outputs_off, ESTOP },
    },
    [FAULT] = {
        [FT_COMMAND_DISARM] = { outputs_off, FAULT },
        [FT_COMMAND_CLEAR] = { clear, DISARMED },
        [FT_COMMAND_LOADER] = { outputs_off, LEAVING },
        [FT_EVENT_PASSED] = { outputs_off, FAULT },
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
};

/* Why a command is not possible in a state: here, or WRONG_STATE. */
static const uint8_t refusal_of[FT_STATES] = {
    [FAULT] = FT_REFUSAL_FAULT_LATCHED,
    [ESTOP] = FT_REFUSAL_ESTOP_ACTIVE,
};

/* What makes the torques in a state. */
static const uint8_t drive_of[FT_STATES] = {
    [HOLD] = FT_DRIVE_PATH,  [TRACK] = FT_DRIVE_PATH, [JOG] = FT_DRIVE_JOG,
    [HOMING] = FT_DRIVE_LAB, [FLOAT] = FT_DRIVE_LAB,  [PROBE] = FT_DRIVE_LAB,
    [CLOSING] = FT_DRIVE_PATH,
};

/* ---- events ----------------------------------------------------------- */

/* Return whether knots are wanted. */
bool ft_safety_takes_knots(void)
{
    return (ft_safety_armed() || ft.safety.state == DISARMED)
           && ft.safety.state != FAULT && ft.safety.coming == FT_FAULT_NONE
           && ft.safety.alarms.of[FT_ALARM_KNOT] == 0u;
}

/* Return the first joint that has no zero, FT_NO_JOINT if each has one. */
uint32_t ft_safety_unhomed(void)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        if (!ft.safety.homed[j])
            return j;
    return FT_NO_JOINT;
}

/* Let an event happen, if the state knows it. What disarms waits for brakes
 * that close. */
void ft_safety_event(uint32_t event)
{
    const cell *c = &table[ft.safety.state][event];

    if (c->act == 0)
        return;
    c->act();
    ft.safety.state = c->next == DISARMED && ft.safety.closing != 0u ? CLOSING
                                                                     : c->next;
    ft.safety.drive = drive_of[ft.safety.state];
    if (c->next == FAULT && ft.safety.reaction == FT_REACTION_HOLD)
        ft.safety.drive = FT_DRIVE_PATH;
}

/* Refuse the last command for a reason. */
static void refuse(uint8_t refusal, uint32_t joint)
{
    ft.safety.refusal = refusal;
    ft.safety.refusal_joint = (uint8_t)joint;
}

/* Return whether all that a command asks for is so; refuse it if not. */
static bool permitted(uint32_t event)
{
    const ft_condition *c, *end = ft_conditions + ft_conditions_count;

    for (c = ft_conditions; c < end && c->event <= event; c++) {
        uint32_t joint = c->event == event ? c->check() : FT_GOOD;

        if (joint != FT_GOOD) {
            refuse(c->refusal, joint);
            return false;
        }
    }
    return true;
}

/* Do a command of the host, or refuse it by name. */
static void command(uint32_t event)
{
    uint8_t why = refusal_of[ft.safety.state];

    refuse(FT_REFUSAL_NONE, FT_NO_JOINT);
    if (event == 0u || event > FT_EVENT_GAINS)
        refuse(FT_REFUSAL_UNKNOWN, FT_NO_JOINT);
    else if (table[ft.safety.state][event].act == 0)
        refuse(why != 0u ? why : FT_REFUSAL_WRONG_STATE, FT_NO_JOINT);
    else if (permitted(event))
        ft_safety_event(event);
}

/* Take the command that the link has posted, once. */
static void take_request(void)
{
    ft_request *r = &ft.safety.request;

    if (!r->posted)
        return;
    command(r->event);
    ft.safety.token = r->token;
    r->posted = false;
}

/* ---- faults ----------------------------------------------------------- */

/* Take a fault: the first one is kept, and outlives a reset. */
static void fault(uint32_t code, uint32_t joint)
{
    if (ft.safety.fault == FT_FAULT_NONE) {
        ft.safety.fault = (uint8_t)code;
        ft.safety.fault_joint = (uint8_t)joint;
        ft_chip_remember(code);
        if (ft.safety.latched[code] < UINT8_MAX)
            ft.safety.latched[code]++;
    }
    ft.safety.asked = ft_reaction[code];
    ft_safety_event(FT_EVENT_FAULT);
}

/* Take a fault that leaves sensors, drivers and law good, at rest. */
static void gentle_fault(uint32_t code, uint32_t joint)
{
    ft.safety.gentle = true;
    fault(code, joint);
    ft.safety.gentle = false;
}

/* Return whether the targets are at rest, those under way too. */
static bool at_rest(void)
{
    return ft.safety.state != TRACK && ft.safety.state != JOG
           && ft_motion_settled(&ft.motion);
}

/* Stop on the path first if there is a motion, and take the fault then. */
static void fault_at_rest(uint32_t code, uint32_t joint)
{
    if (at_rest()) {
        gentle_fault(code, joint);
        return;
    }
    if (ft.safety.coming == FT_FAULT_NONE) {
        ft.safety.coming = (uint8_t)code;
        ft.safety.coming_joint = (uint8_t)joint;
    }
    ft_motion_brake(&ft.motion);
    ft_lab_release(&ft.lab);
}

/* Take the fault that waited for the motion to come to rest. */
static void take_coming(void)
{
    if (ft.safety.coming != FT_FAULT_NONE && at_rest())
        gentle_fault(ft.safety.coming, ft.safety.coming_joint);
}

/* Look for faults, in the order of the table: the first is latched, a later
 * one may ask for more to be done. */
static void look_for_faults(void)
{
    const uint32_t kinds = ft_suspects(ft_safety_armed());
    const ft_fault_rule *f, *end = ft_faults + ft_faults_count;
    uint32_t joint;

    if (kinds == 0u)
        return;
    for (f = ft_faults; f < end; f++) {
        if ((f->where & kinds) == 0u)
            continue;
        if ((f->where & (FT_ARMED | FT_OF_JOINTS)) != 0u
            && !ft_safety_armed())
            continue;
        joint = f->check();
        if (joint == FT_GOOD)
            continue;
        if (f->reaction == FT_STOP)
            fault_at_rest(f->fault, joint);
        else
            fault(f->fault, joint);
    }
}

/* Count how long the host has been silent; the state says what that means. */
static void listen_for_host(void)
{
    uint32_t silent = ft.safety.silent;

    if (silent <= FT_HOST_LOST)
        ft.safety.silent = ++silent;
    if (silent > FT_HOST_TIMEOUT)
        ft_safety_event(FT_EVENT_SILENT);
}

/* Let the brakes' time pass. */
static void await_brakes(void)
{
    if (ft.safety.opening != 0u)
        ft.safety.opening--;
    if (ft.safety.closing != 0u && --ft.safety.closing == 0u)
        ft_safety_event(FT_EVENT_PASSED);
}

/* ---- start and tick --------------------------------------------------- */

/* Pass BOOT and CHECK, or end in FAULT. */
void ft_safety_start(uint32_t chip_errors)
{
    uint32_t code = ft_fault_of_start(chip_errors);

    ft.safety.fault_joint = ft.safety.refusal_joint = FT_NO_JOINT;
    ft_safety_event(FT_EVENT_PASSED);
    if (code != FT_FAULT_NONE)
        fault(code, FT_NO_JOINT);
    else
        ft_safety_event(FT_EVENT_PASSED);
}

/* Let happen what this tick brings: what the motion did, the e-stop, faults,
 * and last what the host asks for. */
void ft_safety_tick(uint32_t motion_event)
{
    if (motion_event != 0u)
        ft_safety_event(motion_event);
    take_coming();
    if (FT_BRAKE)
        await_brakes();
    if (ft.estop)
        ft_safety_event(FT_EVENT_ESTOP);
    look_for_faults();
    listen_for_host();
    take_request();
}
