/* The safety states, safety/ft_safety.c, and their tables in ft_conditions.c.
 *
 * All modules that it calls are stubs. The chip reports any values, and reports
 * the same values during one tick. The stubs for the motion and the lab modes
 * record their requests. `commanded` is the last request to the outputs of the
 * chip. One invariant, well(), holds after the start. Every tick keeps the
 * invariant, so it holds in every reachable state. */
#include "proof.h"

#include "ft_conditions.c"
#include "ft_config.c"
#include "ft_safety.c"

#define CODES (sizeof ft_reaction / sizeof ft_reaction[0])

static ft_safety s;
static ft_control c;
static ft_sensors sensors;
static ft_findings found_;
#if FT_BUS_DRIVES > 0
static ft_bus bus;
static const ft_safety_input in = { &s, &sensors, &found_, &c.seen, &c.motion,
                                    &c.closed, &bus };
#else
static const ft_safety_input in = { &s, &sensors, &found_, &c.seen, &c.motion,
                                    &c.closed };
#endif

/* ---- the chip --------------------------------------------------------- */

static bool commanded; /* outputs, as the tick has requested */
static bool dropped;   /* the outputs were off at some time in the tick */
static struct {
    bool enabled, supply, ready, loader, zero, constants, code;
    uint32_t current, joint, cause;
    uint32_t silent, ailing, wrong; /* joints with drives in this state */
} chip;

void ft_chip_outputs(bool enabled)
{
    commanded = enabled;
    dropped = dropped || !enabled;
}

void ft_chip_safe(void) { ft_chip_outputs(false); }
void ft_chip_brake(bool open) { }
void ft_chip_remember(uint32_t word) { }
bool ft_chip_outputs_enabled(void) { return commanded && chip.enabled; }
bool ft_chip_supply_good(void) { return chip.supply; }
bool ft_chip_drivers_ready(void) { return chip.ready; }
bool ft_chip_has_loader(void) { return chip.loader; }
uint32_t ft_chip_reset_cause(void) { return chip.cause; }
bool ft_watch_constants(void) { return chip.constants; }
bool ft_watch_code(void) { return chip.code; }

uint32_t ft_chip_current_fault(uint32_t *joint)
{
    *joint = chip.joint;
    return chip.current;
}

bool ft_chip_current_zero(uint32_t *joint)
{
    *joint = chip.joint;
    return chip.zero;
}

#if FT_BUS_DRIVES > 0

uint32_t ft_bus_heard_of(const ft_bus *b)
{
    CLAIM(b == &bus);
    return chip.silent;
}

uint32_t ft_bus_well(const ft_bus *b)
{
    CLAIM(b == &bus);
    return chip.ailing;
}

uint32_t ft_bus_set_right(const ft_bus *b)
{
    CLAIM(b == &bus);
    return chip.wrong;
}

#endif

/* ---- the motion, the step, the law, the lab modes ---------------------- */

void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS])
{
    m->rested = FT_MOTION_SLOTS;
}

void ft_motion_forget(ft_motion *m)
{
    m->phase = FT_MOTION_IDLE;
    m->queue.flush = true;
}

void ft_motion_brake(ft_motion *m) { m->brake = true; }
void ft_motion_resume(ft_motion *m) { m->phase = FT_MOTION_RUNNING; }
bool ft_motion_playable(const ft_motion *m) { return m->queue.open; }

const ft_pair *ft_motion_start(ft_motion *m)
{
    m->phase = FT_MOTION_RUNNING;
    return m->queue.entry;
}

void ft_step_start(ft_step_state *t, const ft_turn q[FT_JOINTS]) { }

void ft_step_take(ft_step_state *t, const ft_pair pairs[FT_STEP_PAIRS]) { }

void ft_law_start(ft_law *l) { }

bool ft_law_overlay(ft_law *l, uint32_t joint, const uint8_t share[3])
{
    CLAIM(joint < FT_JOINTS && share[0] >= FT_OVERLAY_LEAST
          && share[0] <= FT_OVERLAY_MOST);
    return nondet_bool();
}

void ft_observer_set(ft_observer *o, const int64_t wire[FT_JOINTS]) { }

void ft_lab_rest(ft_lab *lab) { lab->wanted = lab->velocity = FT_C(0.0); }
void ft_lab_float(ft_lab *lab, float per_cent)
{
    CLAIM(per_cent >= 0.0f && per_cent <= 80.0f);
}

static bool rests(const ft_lab *lab)
{
    return lab->wanted == FT_C(0.0) && lab->velocity == FT_C(0.0);
}

/* Check that requests to the lab modes are within the joint's bounds. */
void ft_lab_jog(ft_lab *lab, uint32_t joint, ft_real velocity)
{
    CLAIM(joint < FT_JOINTS
          && ft_size(velocity) <= ft_lab_joint[joint].jog_velocity);
    lab->joint = (uint8_t)joint;
}

void ft_lab_seek(ft_lab *lab, uint32_t joint)
{
    CLAIM(joint < FT_JOINTS && ft_lab_joint[joint].seek != FT_SEEK_NONE);
    lab->joint = (uint8_t)joint;
}

void ft_lab_probe(ft_lab *lab, uint32_t joint, ft_real torque)
{
    CLAIM(joint < FT_JOINTS
          && ft_size(torque) <= ft_lab_joint[joint].probe_torque);
    CLAIM(rests(lab));
    lab->joint = (uint8_t)joint;
}

void ft_lab_release(ft_lab *lab) { lab->wanted = FT_C(0.0); }

void ft_follow_begin(ft_follow *f, const int64_t held[FT_JOINTS],
                     uint32_t delay, uint32_t frame)
{
    f->stop = false;
}

void ft_follow_stop(ft_follow *f) { f->stop = true; }

#if FT_PARK

#define MOST FT_REACTION_PARK
#define LEFT s.parking

void ft_follow_park(ft_follow *f, const int64_t held[FT_JOINTS])
{
    f->stop = false;
    f->parks = true;
}

#else
#define MOST FT_REACTION_HOLD
#define LEFT 1u
#endif

#if FT_YIELDS

static bool quiet; /* result of ft_contact_quiet in this tick */

/* Return false while a contact lasts: see the theorem contact_returns. */
bool ft_contact_quiet(ft_contact *f, const ft_observer *seen)
{
    quiet = f->way == FT_FELT_AWAY && !f->touched && nondet_bool();
    return quiet;
}

/* Return whether an arm on the way to its parking pose waits at a contact. */
static bool waits(void)
{
    return s.state == FAULT && s.reaction == FT_REACTION_PARK
           && c.contact.way == FT_FELT_AWAY && c.follow.stop;
}

#endif
#if FT_RETURN

void ft_contact_give_way(ft_contact *f)
{
    f->way = nondet_bool() ? FT_FELT_AWAY : FT_FELT_STAYS;
}

void ft_follow_keep(ft_follow *f, const int64_t place[FT_JOINTS]) { }

void ft_follow_return(ft_follow *f, const int64_t held[FT_JOINTS])
{
    f->stop = false;
    f->parks = true;
}

/* Return whether the present state allows the arm's reaction to a contact:
 * yielding, or moving back afterwards. */
static bool returns(void)
{
    const uint8_t way = c.contact.way;

    return way == 0u || waits() || (s.state == FOLLOW && way == FT_FELT_BACK)
           || (s.state == FLOAT
               && (way == FT_FELT_AWAY || way == FT_FELT_STAYS));
}

#elif FT_YIELDS
#define returns() (c.contact.way == 0u || waits())
#else
#define returns() true
#endif

int64_t ft_observer_turned(const ft_observer *o, uint32_t joint, ft_turn q)
{
    CLAIM(joint < FT_JOINTS);
    return (int64_t)q;
}

/* ---- the invariant ----------------------------------------------------- */

/* Return whether the outputs are on in a state. */
static bool driving(uint32_t state)
{
    return state == HOLD || state == TRACK || state == HOMING || state == FLOAT
           || state == JOG || state == PROBE || state == CLOSING
           || state == FOLLOW || state == HELD;
}

/* Return whether a fault is stored only in states that allow a fault. An arm
 * that is held for the next host has the fault HOST_LOST and no motion. */
static bool latched_well(void)
{
    if (s.state == HELD)
        return s.fault == FT_FAULT_HOST_LOST && s.coming != FT_FAULT_HOST_LOST
               && c.motion.phase == FT_MOTION_IDLE;
    return s.fault == FT_FAULT_NONE || s.state == FAULT || s.state == ESTOP
           || s.state == LEAVING;
}

/* Return whether the state keeps the invariant. */
static bool well(void)
{
    bool faulty = s.state == FAULT && s.reaction != FT_REACTION_COAST;
    bool held = s.state == FAULT && s.reaction == FT_REACTION_HOLD;
    bool lies = s.state == FAULT && s.reaction == FT_REACTION_PARK;

    return s.state < FT_STATES && s.reaction <= MOST
           && (s.reaction != FT_REACTION_PARK || (s.state == FAULT && LEFT > 0u))
           && commanded == (driving(s.state) || faulty)
           && commanded == ((s.flags & FT_FLAG_OUTPUTS) != 0u)
           && s.source == (held ? FT_SOURCE_PATH
                           : lies ? FT_SOURCE_FOLLOW : source_of[s.state])
           && s.fault < CODES && s.coming < CODES
           && (s.state != FAULT || s.fault != FT_FAULT_NONE) && latched_well()
           && (s.state == CLOSING) == (s.closing != 0u && s.state != FAULT)
           && (FT_BRAKE || (s.closing == 0u && s.opening == 0u))
           && (!FT_BRAKE || s.state != HELD)
           && (s.state != PROBE || rests(&c.lab)) && !s.gentle && returns()
           && c.lab.joint < FT_JOINTS;
}

/* Return whether all zeros are known, if the state requires zeros. */
static bool homed_if_led(void)
{
    bool led = s.state == HOLD || s.state == TRACK || s.state == FLOAT
               || s.state == JOG || s.state == FOLLOW || s.state == HELD;

    return !led || ft_safety_unhomed(&s) == FT_NO_JOINT;
}

/* Set all variables to any values that keep the invariant. */
static void any_state(void)
{
    ANYTHING(s);
    ANYTHING(sensors);
    ANYTHING(found_);
    ANYTHING(chip);
    ANYTHING(c);
    commanded = nondet_bool();
    c.motion.queue.tail = 0; /* all slots of the ring are equal */
    c.motion.now = c.motion.newest = c.motion.before = c.motion.due;
    GIVEN(well() && homed_if_led());
    s.request.posted = false; /* see the theorem safety_requests */
}

/* Return any event that a tick of the motion or of a lab mode may return. */
static uint32_t any_event(void)
{
    uint32_t event = nondet_u32();

    GIVEN(event == FT_MOTION_NOTHING || event == FT_EVENT_PASSED
          || event == FT_EVENT_PAUSED || event == FT_EVENT_ENDED);
    return event;
}

/* Request one event by the host, in a separate branch. */
static void ask_for(uint32_t asked)
{
    uint32_t event;

    for (event = 0; event <= FT_EVENT_FOLLOW + 1u; event++)
        if (asked == event) {
            s.request.event = (uint8_t)event;
            take_request(&s, &c, &in);
        }
}

/* For any report of the chip, the start ends in a state that keeps the
 * invariant, with the outputs off.
 * Run: unwind=12 mechanisms=three_link,braked */
void prove_safety_start(void)
{
    ANYTHING(chip);
    ft_safety_start(&s, &c, nondet_u32());
    CLAIM(well() && homed_if_led());
    CLAIM(!commanded && (s.state == DISARMED || s.state == FAULT));
    END;
}

/* After any request in any state, the outputs are on only in the states of
 * safety_states, and requests to the lab modes are within the joint's bounds.
 * No request switches the outputs on in BOOT, CHECK, FAULT, ESTOP or LEAVING.
 * While the e-stop loop is open, a request changes ESTOP only to LEAVING. A
 * pending request is answered once, with its token. A joint is probed only if
 * it is at rest. Assumes: the compensated fraction of friction is not negative,
 * as in the byte of the message.
 * Run: unwind=53 mechanisms=three_link,braked,parked,f405rg-4:current,drives,five_bar */
void prove_safety_requests(void)
{
    bool open, on, posted;
    uint32_t asked = nondet_u32(), state;
    uint8_t token, was;

    any_state();
    s.request.posted = posted = nondet_bool();
    token = s.request.token;
    was = s.token;
    GIVEN(!(s.request.value < 0.0f));
    open = sensors.estop && s.state == ESTOP;
    on = commanded;
    state = s.state;
    ask_for(asked);
    CLAIM(well());
    CLAIM(homed_if_led());
    GIVEN(asked <= FT_EVENT_FOLLOW + 1u);
    CLAIM(!s.request.posted && s.token == (posted ? token : was));
    CLAIM(!open || s.state == ESTOP || s.state == LEAVING);
    CLAIM(state == DISARMED || driving(state) || on || !commanded);
    END;
}

/* The outputs are on in HOLD, TRACK, HOMING, FLOAT, JOG, PROBE, CLOSING,
 * FOLLOW, HELD, and in a FAULT that brakes, holds or moves to the parking pose.
 * In other states the outputs are off, after every tick, for any measurement,
 * finding and request. The source of torque is the one that the table gives for
 * the state. If an arm is held or hand-guided, all its zeros are known.
 * Assumes: the motion of the tick returns no event, or PASSED, PAUSED or ENDED,
 * as ft_motion.c, ft_follow.c and ft_lab.c do. The theorem safety_requests
 * concerns the requests, which are processed last in a tick.
 * Run: unwind=27 mechanisms=three_link,braked,parked,feeling,returning */
void prove_safety_states(void)
{
    any_state();
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(well());
    CLAIM(homed_if_led());
    END;
}

/* If an arm is held for the next host (HELD), the request ARM transfers it to
 * this host while the outputs stay on. The fault HOST_LOST is then cleared, and
 * no motion of the previous host remains. Of all other requests only DISARM has
 * an effect, and no request moves the arm.
 * Run: unwind=53 mechanisms=three_link,drives */
void prove_safety_takes_over(void)
{
    uint32_t asked = nondet_u32();

    any_state();
    GIVEN(s.state == HELD && asked <= FT_EVENT_FOLLOW + 1u);
    s.request.posted = true;
    dropped = false;
    ask_for(asked);
    CLAIM(dropped == (asked == FT_COMMAND_DISARM));
    CLAIM(s.state == (asked == FT_COMMAND_ARM      ? HOLD
                      : asked == FT_COMMAND_DISARM ? DISARMED : HELD));
    CLAIM((s.refusal == FT_REFUSAL_NONE)
          == (asked == FT_COMMAND_ARM || asked == FT_COMMAND_DISARM));
    CLAIM(s.state != HOLD || (s.fault == FT_FAULT_NONE && commanded
                              && c.motion.phase == FT_MOTION_IDLE));
    END;
}

/* A tick leaves HELD only because of the e-stop, or because of a fault other
 * than HOST_LOST. This fault is then reported. Until then the outputs stay on.
 * Assumes: the motion returns an event as in safety_states.
 * Run: unwind=27 mechanisms=three_link,drives */
void prove_safety_held(void)
{
    any_state();
    GIVEN(s.state == HELD);
    dropped = false;
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(s.state == HELD
          ? !dropped && s.fault == FT_FAULT_HOST_LOST
          : s.state == ESTOP
            || (s.state == FAULT && s.fault != FT_FAULT_HOST_LOST));
    END;
}

/* In the tick in which the e-stop loop is open, the outputs are switched off
 * and the source of torque is OFF, from every state.
 * Run: unwind=27 mechanisms=three_link,braked,parked */
void prove_safety_estop(void)
{
    any_state();
    sensors.estop = true;
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(!commanded && s.source == FT_SOURCE_OFF);
    CLAIM(s.state == ESTOP || s.state == LEAVING);
    END;
}

/* Return whether a fault first stops the arm, which is still controllable. */
static bool stops_first(uint32_t fault_)
{
    return fault_ == FT_FAULT_OVERLOAD || fault_ == FT_FAULT_HOST_LOST
           || fault_ == FT_FAULT_KNOT || fault_ == FT_FAULT_LOW_SUPPLY
           || (FT_PARK_HEAT && fault_ == FT_FAULT_OVER_TEMPERATURE);
}

/* Return whether a rule of the table requires safe outputs now. Rules of supply
 * and drivers apply while the outputs are on. Rules of joints apply while the
 * joints produce torque. */
static bool must_go(const ft_fault_rule *f)
{
    bool counts = f->where == FT_ALWAYS || (f->where == FT_POWERED && commanded)
                  || ft_safety_armed(&s);

    return !stops_first(f->fault) && counts && f->check(&in) != FT_GOOD;
}

/* Return whether the tick's faults have the form that ft_found() gives. */
static bool noted(void)
{
    const ft_findings *f = &found_;

#if FT_BUS_DRIVES > 0
    if (!f->any && !(f->cut == FT_GOOD && f->silent == FT_GOOD
                     && f->ailing == FT_GOOD))
        return false;
#endif
    return f->any || (f->jump == FT_GOOD && f->fast == FT_GOOD
                      && f->wild == FT_GOOD && f->beyond == FT_GOOD
                      && f->astray == FT_GOOD && f->stuck == FT_GOOD
                      && f->lost == FT_GOOD && f->parted == FT_GOOD
                      && f->misfit == FT_GOOD);
}

/* Any fault of the table leads to safe outputs within the same tick, except
 * OVERLOAD, HOST_LOST, KNOT, LOW_SUPPLY, and overheating if the arm moves to
 * its parking pose because of it. Safe outputs are off. Outputs brake or hold
 * instead if the mechanism's file says so for the class of the fault. Faults of
 * supply and drivers have an effect while the outputs are on, faults of joints
 * while the joints produce torque, faults of memory and missed ticks always. A
 * fault with the reaction coast switches the outputs off, even if another fault
 * brakes or holds. The theorem excludes one case: a fault of the joints does
 * not end braking, because braking does not use the joints' sensors.
 * Assumes: faults are recorded by ft_found(), and a fault of a current has a
 * number that ft_chip.h defines.
 * Run: unwind=27 mechanisms=three_link,braked,parked,f405rg-4:current,drives,five_bar,biped */
void prove_safety_faults(void)
{
    uint32_t i = nondet_u32();

    any_state();
    GIVEN(i < ft_faults_count && noted() && must_go(&ft_faults[i]));
    GIVEN(chip.current == FT_CURRENT_GOOD || !chip.enabled);
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(!commanded
          || (s.state == FAULT && s.reaction != FT_REACTION_COAST));
    CLAIM(s.source == FT_SOURCE_OFF
          || (s.state == FAULT && s.reaction == FT_REACTION_HOLD));
    CLAIM(ft_reaction[ft_faults[i].fault] != FT_REACTION_COAST || !commanded
          || (ft_faults[i].where == FT_OF_JOINTS
              && s.reaction == FT_REACTION_BRAKE));
    END;
}

#if FT_PARK

/* An arm that moves to its parking pose makes progress in every tick. After the
 * tick its motors are off, brake, or hold until the brakes have closed, or the
 * remaining time is shorter than before. The arm may also wait for a contact to
 * end. The arm does not wait if overheating or low supply started this motion.
 * A further fault with the same reaction neither stops the arm nor restarts the
 * motion.
 * Assumes: the motion returns an event as in safety_states.
 * Run: unwind=27 mechanisms=parked */
void prove_safety_lies(void)
{
    uint32_t left;
    bool hasty;

    any_state();
    GIVEN(s.reaction == FT_REACTION_PARK);
    GIVEN(ft_reaction[s.coming] != FT_REACTION_PARK);
    left = s.parking;
    hasty = s.hasty;
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(s.reaction != FT_REACTION_PARK
          || ((s.parking < left
               || (s.parking == left && !hasty && c.contact.way != 0u))
              && ft_reaction[s.coming] != FT_REACTION_PARK));
    END;
}

#endif

#if FT_WAITS

/* An arm that moves to its parking pose and is touched stops in the same tick,
 * and remains stopped in every tick of the contact. The arm stops at its
 * measured position, or its motors are off, brake, or hold until the brakes
 * have closed. The arm continues only in a tick in which it has been at rest
 * without a contact for the time in contact_returns.
 * Assumes: the motion returns an event as in safety_states.
 * Run: unwind=27 mechanisms=parked,returning */
void prove_safety_gives_way(void)
{
    bool waited;

    any_state();
    GIVEN(s.reaction == FT_REACTION_PARK);
    waited = c.contact.way != 0u;
    quiet = false;
    ft_safety_tick(&s, &c, &in, any_event());
    CLAIM(s.reaction != FT_REACTION_PARK || !c.contact.touched
          || c.follow.stop);
    CLAIM(s.reaction != FT_REACTION_PARK || !waited || c.follow.stop || quiet);
    END;
}

#endif

#if FT_RETURN

/* An arm that has yielded to a contact returns only when no contact is
 * detected. While the arm returns, only a contact makes it yield again. If the
 * arm is stopped while it returns, no path can be resumed.
 * Assumes: the motion returns an event as in safety_states.
 * Run: unwind=27 mechanisms=returning */
void prove_safety_returns(void)
{
    uint32_t event, state, way;

    any_state();
    way = c.contact.way;
    state = s.state;
    quiet = false;
    event = any_event();
    ft_safety_tick(&s, &c, &in, event);
    CLAIM(state != FLOAT || s.state != FOLLOW || quiet);
    CLAIM(state != FOLLOW || s.state != FLOAT || c.contact.touch);
    CLAIM(way == 0u || s.state != HOLD
          || (way == FT_FELT_BACK && event == FT_EVENT_ENDED)
          || c.motion.phase == FT_MOTION_IDLE);
    END;
}

#endif

/* The board expects knots only in states in which the arm may play them or is
 * disarmed. The board expects no knot after a faulty knot, or while a fault is
 * present or about to be reported.
 * Run: unwind=10 */
void prove_safety_knots(void)
{
    any_state();
    if (ft_safety_takes_knots(&s)) {
        CLAIM(s.state == DISARMED || s.source != FT_SOURCE_OFF);
        CLAIM(s.state != FAULT && s.coming == FT_FAULT_NONE
              && s.alarms.set.of[FT_ALARM_KNOT] == 0u);
    }
    END;
}

#if FT_BUS_DRIVES > 0

/* After a tick in which drives were connected or disconnected, the flag HOMED
 * states whether every joint has its zero. No other flag changes.
 * Run: unwind=10 mechanisms=drives */
void prove_safety_met(void)
{
    uint8_t flags;

    any_state();
    flags = s.flags;
    ft_safety_met(&s);
    CLAIM(((s.flags & FT_FLAG_HOMED) != 0u)
          == (ft_safety_unhomed(&s) == FT_NO_JOINT));
    CLAIM(((s.flags ^ flags) & (uint8_t)~FT_FLAG_HOMED) == 0u);
    END;
}

#endif
