/* Drives on buses; see ft_bus.h. */
#include "ft_bus.h"

#if FT_BUS_DRIVES > 0

#include "ft_chip.h"     /* ft_chip_bus_send, ft_chip_bus_take */
#include "ft_events.h"   /* FT_SOURCE_PATH */
#include "ft_families.h" /* ft_family_... */
#include "ft_messages.h" /* FT_FAULT_, FT_STATE_ */
#include "ft_position.h" /* ft_position_... */

#include <string.h> /* memcpy */

#define FRAMES_A_TICK 32u /* of one bus, at most */
#define CLEAR_TICKS (FT_TICK_HZ / 10u + 1u) /* between two attempts to clear
                                             * errors */
#define ANSWERED_NOW 2u /* `questions` with an answer due now */
#define AGAIN_TICKS (FT_TICK_HZ / 4u) /* between two questions about `again` */
#define ENABLES 4u /* enabling frames to a drive without reports of its state */
#define ALIKE 1e-4f /* of a range */
#define NEAR 0.02f  /* distance a hand may move a drive between answers, rad */
#define TENTH 0.1f
#define LOW 0.7f  /* lowest plausible servo supply, over the board's voltage */
#define HIGH 1.3f /* highest plausible servo supply */
#define ENABLE_TICKS (FT_TICK_HZ / 20u + 4u) /* time limit for enabling */

#define FIRST_WIRE (FT_BUSES - FT_WIRES) /* CAN buses come first */
#define IS_WIRE(bus) ((bus) + 1u > FIRST_WIRE) /* no comparison with zero */

/* ---- positions ---------------------------------------------------------- */

/* Wrap counts to within half a turn. */
static int32_t wrapped(int32_t counts, int32_t turn)
{
    const int32_t left = counts % turn;

    if (left >= turn - turn / 2)
        return left - turn;
    return left < -(turn / 2) ? left + turn : left;
}

/* Return the joint's position, rad, that a drive's position field encodes. An
 * extrapolated number may exceed the field. */
static float place_of(uint32_t i, int32_t position)
{
    const ft_drive_config *c = &ft_drive[i];

    return (float)position * c->step
           - (ft_family_counts(i) ? 0.0f : c->position);
}

/* Return a position number's distance from the drive's zero, half steps. */
static int64_t halves_of(uint32_t i, uint32_t position)
{
    const ft_drive_config *c = &ft_drive[i];

    if (ft_family_wraps(i))
        return 2 * (int64_t)wrapped((int32_t)position - c->zero / 2, c->wraps);
    return 2 * (int64_t)(int32_t)position - (int64_t)c->top - c->zero;
}

/* Return the steps from one position number of a drive to another. */
static int32_t went(uint32_t i, int32_t from, uint32_t to)
{
    const int32_t steps = (int32_t)(to - (uint32_t)from);

    return ft_family_wraps(i) ? wrapped(steps, ft_drive[i].wraps) : steps;
}

/* Shift a position by turns of its drive to within half a turn of the middle
 * of the joint's range. */
static int64_t within_turn(uint32_t i, int64_t wire)
{
    const ft_joint_config *joint = &ft_joint[ft_drive[i].joint];
    const int32_t middle = joint->lower + (int32_t)(joint->room / 2u);
    const int32_t turn = ft_drive[i].turn;
    const int32_t away = ft_position_coarse(wire) - middle + turn / 2;
    const int32_t turns = (away < 0 ? away - (turn - 1) : away) / turn;

    return wire - (int64_t)turns * turn * (1 << FT_COARSE);
}

/* Set the observer to the joint's position. The drive may start in any turn,
 * so the turn with the joint's limits is taken. A count is a step of the
 * position field, whose middle is the drive's zero. */
static void put(const ft_bus_drive *d, uint32_t i, ft_observer *seen)
{
    const uint32_t j = ft_drive[i].joint;
    const int64_t halves = halves_of(i, d->position);
    const int64_t wire = halves * ft_joint[j].step / ((int64_t)2 << FT_FINE);

    ft_observer_place(seen, j, within_turn(i, wire));
}

/* ---- settings ---------------------------------------------------------- */

/* Result of comparing an answer with a setting. */
typedef enum {
    OTHER, /* the answer is about another setting */
    RIGHT,
    WRONG
} verdict;

/* Return the row of a drive's setting. */
static const ft_setting_config *row_of(uint32_t i, uint32_t step)
{
    return &ft_setting[ft_drive[i].settings + step];
}

/* Form the frame that asks for a drive's setting. */
static void ask_setting(uint32_t i, uint32_t step, ft_frame *f)
{
    const ft_setting_config *s = row_of(i, step);

    ft_family_ask(i, f, s->number, s->size);
}

/* Form the frame that writes a drive's setting, without storing it. */
static void write_setting(uint32_t i, uint32_t step, ft_frame *f)
{
    const ft_setting_config *s = row_of(i, step);

    ft_family_write(i, f, s->number, s->size, s->value);
}

static float as_float(uint32_t bits)
{
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Return whether two numbers differ by at most a tolerance. */
static bool within(float a, float b, float most)
{
    return a - b <= most && b - a <= most;
}

/* Return whether a setting has the expected value. place: the joint's position
 * from the drive's states, rad. */
static bool right(const ft_setting_config *s, uint32_t value, float place)
{
    switch (s->rule) {
    case FT_RULE_ALIKE: /* a range, in the drive's unit */
        return within(as_float(value), as_float(s->value),
                      ALIKE * as_float(s->value));
    case FT_RULE_PLACE: return within(as_float(value), place, NEAR);
    case FT_RULE_AT_MOST: return value <= s->value;
    case FT_RULE_AT_LEAST: return value == 0u || value >= s->value;
    default: return ((value ^ s->value) & s->mask) == 0u;
    }
}

/* Compare an answer with the expected setting of a step. place: the joint's
 * position from the drive's last state, rad. */
static verdict judge_setting(uint32_t i, uint32_t step,
                             const ft_drive_said *said, float place)
{
    if (step >= ft_drive[i].steps || said->setting != row_of(i, step)->number)
        return OTHER;
    return right(row_of(i, step), said->value, place * ft_drive[i].gear)
               ? RIGHT : WRONG;
}

/* ---- answers ----------------------------------------------------------- */

/* Return whether a drive that has answered is enabled. */
static bool enabled(const ft_bus_drive *d, uint32_t i,
                    const ft_drive_said *said)
{
    if (ft_family_tells(i))
        return said->enabled;
    return d->enabled || d->waited >= ENABLES;
}

/* Return the state of a drive that has answered, and note its error. */
static uint8_t health_of(ft_bus_drive *d, uint32_t i,
                         const ft_drive_said *said)
{
    if (said->error != 0u) {
        d->ailed = said->error;
        return FT_BUS_FAULTED;
    }
    if (!enabled(d, i, said))
        return FT_BUS_SEEN;
    d->ailed = 0;
    return FT_BUS_ENABLED;
}

/* Process a drive's state. */
static void take_state(ft_bus_drive *d, uint32_t i, const ft_drive_said *said)
{
#ifdef FT_DOUBTS
    if (d->doubt != 0u) {
        d->late++;
        return;
    }
#endif
    if (d->answered)
        d->late++;
    d->answered = true;
    d->answers++;
    d->position = said->position;
    d->velocity = said->velocity;
    d->warmth = said->warmth;
#if FT_WIRES > 0
    d->volts = said->volts;
#endif
#if FT_POLLED
    if (ft_family_polled(i)) {
        d->state = d->health;
        return;
    }
#endif
    d->state = health_of(d, i, said);
}

#if FT_POLLED

/* Process a heartbeat. A silent drive stays silent until it answers. */
static void take_beat(ft_bus_drive *d, uint32_t i, const ft_drive_said *said)
{
    d->beat = 0;
    d->health = health_of(d, i, said);
    if (d->state != FT_BUS_SILENT)
        d->state = d->health;
}

#endif

/* Return the index of the setting about which the drive is asked next. */
static uint32_t step_of(const ft_bus_drive *d, uint32_t i)
{
    return d->asked < ft_drive[i].steps ? d->asked : ft_drive[i].again;
}

/* Process an enabled drive's answer about its volatile setting. */
static void take_again(ft_bus_drive *d, uint32_t i, const ft_drive_said *said)
{
    const verdict answer = judge_setting(i, ft_drive[i].forgets, said, 0.0f);

    d->sure |= answer == RIGHT;
    if (answer == WRONG)
        d->state = FT_BUS_SEEN; /* as after a restart */
}

/* Process a drive's answer about a setting. */
static void take_setting(ft_bus_drive *d, uint32_t i,
                         const ft_drive_said *said)
{
    const float at = place_of(i, (int32_t)d->position);
    const uint32_t step = step_of(d, i);
    const verdict answer = judge_setting(i, step, said, at);

    if (d->enabled)
        take_again(d, i, said);
    if (answer == OTHER)
        return;
    d->writes = answer == WRONG && row_of(i, step)->writes != 0u;
    d->differs = answer == WRONG ? said->setting : 0u;
    d->value = said->value;
    if (answer == WRONG)
        d->asked = (uint8_t)step;
    else if (step == d->asked)
        d->asked++;
}

#if FT_WIRES > 0 && FT_CUTOFF

#define ASKED_SINCE 2u /* ticks until answers show outputs off */

/* Note that a servo's motor is off. */
static void take_rest(const ft_bus *b, ft_bus_drive *d,
                      const ft_drive_said *said)
{
    if (!b->on && b->since >= ASKED_SINCE && said->rests)
        d->ran = false;
}

#endif

/* Process one frame of a bus. A remote frame is a question, not an answer. */
static void take(ft_bus *b, uint32_t bus, const ft_frame *f)
{
    ft_drive_said said;
    uint32_t i;

    said.volts = 0u; /* drives on CAN do not report volts */
    for (i = 0; i < FT_BUS_DRIVES; i++) {
        ft_drive_heard heard = ft_drive[i].bus == bus
                                       && (f->id & FT_FRAME_REMOTE) == 0u
                                   ? ft_family_hear(i, f, &said)
                                   : FT_HEARD_NOTHING;

        if (heard == FT_HEARD_STATE)
            take_state(&b->drive[i], i, &said);
        if (heard == FT_HEARD_SETTING)
            take_setting(&b->drive[i], i, &said);
#if FT_POLLED
        if (heard == FT_HEARD_BEAT)
            take_beat(&b->drive[i], i, &said);
#endif
#if FT_WIRES > 0 && FT_CUTOFF
        if (heard == FT_HEARD_SETTING && IS_WIRE(bus))
            take_rest(b, &b->drive[i], &said);
#endif
        b->drive[i].spoke |= heard == FT_HEARD_SETTING;
        if (heard != FT_HEARD_NOTHING)
            return;
    }
    b->foreign++;
}

/* Take the next frame from a bus. */
static bool next(ft_bus *b, uint32_t bus, ft_frame *f)
{
    (void)b;
#if FT_WIRES > 0
    if (IS_WIRE(bus))
        return ft_wire_next(&b->wire[bus - FIRST_WIRE], f);
#endif
#if FT_BUSES > FT_WIRES
    return ft_chip_bus_take(bus, f);
#else
    return false;
#endif
}

void ft_bus_tell(const ft_bus *b, uint32_t bus, ft_bus_health *h)
{
    (void)b;
#if FT_WIRES > 0
    if (IS_WIRE(bus)) {
        const ft_wire *w = &b->wire[bus - FIRST_WIRE];

        ft_chip_wire_health(bus - FIRST_WIRE, h);
        h->sending = (uint8_t)(w->echoes < UINT8_MAX ? w->echoes : UINT8_MAX);
        return;
    }
#endif
#if FT_BUSES > FT_WIRES
    ft_chip_bus_health(bus, h);
#endif
}

/* Process the frames from a bus, at most FRAMES_A_TICK. */
static void listen(ft_bus *b, uint32_t bus)
{
    ft_bus_health health;
    ft_frame f;
    uint32_t n;

    for (n = 0; n < FRAMES_A_TICK && next(b, bus, &f); n++)
        take(b, bus, &f);
    ft_bus_tell(b, bus, &health);
    b->off[bus] = health.off;
}

/* ---- lost and new drives ------------------------------------------------ */

/* Forget a drive. Another drive may replace it. A drive may also return after a
 * power cut, without the count of turns and the settings. */
static void forget(ft_bus_drive *d)
{
    d->held = false;
    d->sure = false;
    d->asked = 0;
    d->writes = false;
    d->differs = 0;
    ft_travel_forget(&d->travel);
}

/* Mark a drive as silent. */
static void silence(ft_bus_drive *d, bool homed[FT_JOINTS], uint32_t joint)
{
    if (d->state != FT_BUS_SILENT)
        homed[joint] = false;
    d->state = FT_BUS_SILENT;
#if FT_POLLED
    d->health = FT_BUS_SILENT;
#endif
    forget(d);
}

/* Count a missing answer. After too many, the drive counts as silent. */
static void miss(ft_bus_drive *d, bool homed[FT_JOINTS], uint32_t joint)
{
    if ((d->questions & ANSWERED_NOW) == 0u && !d->spoke)
        d->lost++;
    if (d->age < FT_SILENT_TICKS) {
        d->age++;
        return;
    }
    silence(d, homed, joint);
}

#if FT_POLLED

/* Count a tick without a heartbeat. */
static void wait_for_beat(ft_bus_drive *d, bool homed[FT_JOINTS],
                          uint32_t joint)
{
    if (d->beat < FT_BEAT_TICKS)
        d->beat++;
    else
        silence(d, homed, joint);
}

#endif

/* Return whether a drive has restarted. A drive counts as restarted in two
 * cases: the drive should be enabled but reports that it is disabled, or the
 * drive has lost a setting. */
static bool restarted(const ft_bus_drive *d)
{
    return d->enabled && d->state == FT_BUS_SEEN;
}

#ifdef FT_DOUBTS

#define DOUBT 2u /* ticks */

/* If an enabled drive on CAN has not answered, its answer may come late, and
 * all later answers would be late too. The board then leaves out one frame to
 * this drive, and believes no answer until the answer to a later frame. */
static void doubt(ft_bus_drive *d, uint32_t i)
{
    const bool asked = (d->questions & ANSWERED_NOW) == 0u && !d->spoke;

    if (d->doubt != 0u)
        d->doubt--;
    else if (!d->answered && d->enabled && asked && !IS_WIRE(ft_drive[i].bus))
        d->doubt = DOUBT;
}

/* Return whether the board leaves out the frames to a drive in this tick. */
static bool left_out(const ft_bus_drive *d)
{
    return d->doubt == DOUBT;
}

#else

#define left_out(d) false

#endif

/* Note whether a drive has answered, and whether it has restarted. */
static void note(ft_bus_drive *d, bool homed[FT_JOINTS], uint32_t joint)
{
    if (!d->answered)
        miss(d, homed, joint);
    else
        d->age = 0;
    if (restarted(d)) {
        homed[joint] = false;
        forget(d);
    }
}

/* Start to use a drive that answers. Its position is the joint's if the joint's
 * limits leave one turn. For any other joint the turn is unknown, even if a
 * zero was declared meanwhile. */
static void meet(ft_bus_drive *d, uint32_t i, ft_observer *seen,
                 bool homed[FT_JOINTS])
{
    d->held = true;
    d->fed = (int32_t)d->position;
    homed[ft_drive[i].joint] = ft_drive[i].placed != 0u;
    if (ft_drive[i].placed != 0u)
        put(d, i, seen);
}

/* Return the counts that a joint moves in a tick at its observed velocity, or
 * zero if this velocity is impossible. */
static int32_t guess(const ft_observer *seen, uint32_t j)
{
    const ft_real counts = FT_C(2.0) * seen->u[j] / ft_joint[j].count;

    return ft_size(counts) <= (ft_real)ft_joint[j].counts ? (int32_t)counts : 0;
}

/* Return the counts that a drive's joint has moved. Without an answer, the
 * joint is assumed to move on, until the next answer. */
static int32_t moved(ft_bus_drive *d, uint32_t i, const ft_observer *seen)
{
    int32_t counts;

    if (!d->held)
        return 0;
    counts = d->answered ? went(i, d->fed, d->position)
                         : guess(seen, ft_drive[i].joint);
    d->fed = d->answered ? (int32_t)d->position : d->fed + counts;
    return counts;
}

/* Compare velocities with positions if the drive reports no range. */
static void compare(ft_bus_drive *d, uint32_t i)
{
    const ft_drive_config *c = &ft_drive[i];

    if (!ft_family_velocity_known(i))
        ft_travel_tick(&d->travel, d->answered, d->position, d->velocity,
                       c->step, c->velocity);
}

/* Process all answers. counts: the movement of the drives' joints. */
void ft_bus_hear(ft_bus *b, ft_observer *seen, bool homed[FT_JOINTS],
                 int32_t counts[FT_JOINTS])
{
    uint32_t bus, i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        b->drive[i].answered = b->drive[i].spoke = false;
    for (bus = 0; bus < FT_BUSES; bus++)
        listen(b, bus);
    for (i = 0; i < FT_BUS_DRIVES; i++) {
        ft_bus_drive *d = &b->drive[i];

        note(d, homed, ft_drive[i].joint);
#ifdef FT_DOUBTS
        doubt(d, i);
#endif
#if FT_POLLED
        if (ft_family_polled(i))
            wait_for_beat(d, homed, ft_drive[i].joint);
#endif
        if (d->answered && !d->held)
            meet(d, i, seen, homed);
        counts[ft_drive[i].joint] = moved(d, i, seen);
        compare(d, i);
    }
}

/* Return whether a drive has an error, or is not enabled in time. */
static bool ails(const ft_bus_drive *d)
{
    return d->state == FT_BUS_FAULTED || d->waited > ENABLE_TICKS
           || (d->state == FT_BUS_SEEN && d->enabled);
}

/* Note findings while the outputs are on. */
void ft_bus_find(const ft_bus *b, ft_findings *found)
{
    uint32_t i;

    if (!b->on)
        return;
    for (i = FT_BUS_DRIVES; i-- > 0u;) {
        const ft_bus_drive *d = &b->drive[i];
        const uint32_t joint = ft_drive[i].joint;

        if (b->off[ft_drive[i].bus])
            ft_found(found, &found->cut, joint);
        if (d->state == FT_BUS_SILENT)
            ft_found(found, &found->silent, joint);
        if (ails(d))
            ft_found(found, &found->ailing, joint);
    }
}

/* ---- frames to drives -------------------------------------------------- */

/* Return whether a drive is asked about a setting in this tick. */
static bool asks(const ft_bus_drive *d, uint32_t i, uint32_t tick)
{
    const uint32_t steps = ft_drive[i].steps;

    if (d->state != FT_BUS_SEEN)
        return false;
    return d->asked < steps ? tick % 2u != 0u
                            : tick % AGAIN_TICKS == 0u && step_of(d, i) < steps;
}

/* Form the frame to a drive while the outputs are off. The first frame disables
 * the drive. Errors are cleared from time to time. An error that persists comes
 * back, and ARM is then refused. */
static void rest(ft_bus_drive *d, uint32_t i, uint32_t tick, ft_frame *f)
{
    const bool falls = d->enabled;

    d->waited = 0;
    d->enabled = false;
    d->sure = false;
    d->carried = 0.0f;
    if (d->state == FT_BUS_FAULTED && tick % CLEAR_TICKS == 0u)
        ft_family_disable(i, f, true);
    else if (asks(d, i, tick)) {
        if (d->writes)
            write_setting(i, step_of(d, i), f);
        else
            ask_setting(i, step_of(d, i), f);
        d->writes = false;
        d->questions |= 1u;
    } else {
        ft_family_disable(i, f, false);
        if (d->state == FT_BUS_SILENT)
            ft_family_wake(i, f, tick % CLEAR_TICKS);
        if (!falls)
            ft_family_release(i, f, tick);
#if FT_WIRES > 0 && FT_CUTOFF
        if (d->ran && d->state != FT_BUS_SILENT && IS_WIRE(ft_drive[i].bus))
            ft_family_look(i, f, tick, false);
#endif
    }
}

/* Return whether the board must ask a drive for a setting before it commands
 * the drive. The drive loses this setting at power-off. */
static bool setup_lost(const ft_bus_drive *d, uint32_t i)
{
    return !d->sure && ft_drive[i].forgets < ft_drive[i].steps;
}

/* Form the frame to a drive that is about to be commanded. Once the drive is
 * enabled, no frame enables it again. A drive that stays enabled has not lost
 * its power. The confirmed setting stays valid, since only a loss of power
 * changes the setting. */
static void start(ft_bus_drive *d, uint32_t i, uint32_t tick, ft_frame *f)
{
    static const ft_drive_target nothing = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
                                             0.0f, 0.0f, 0.0f, 0.0f };

    d->waited++;
    if (d->state != FT_BUS_ENABLED)
        ft_family_enable(i, f);
    else if (tick % 2u == 0u)
        ft_family_command(i, f, &nothing, &d->carried);
    else {
        ask_setting(i, ft_drive[i].forgets, f);
        d->questions |= 1u;
    }
    ft_family_look(i, f, tick, false);
}

/* Form the command for a drive that closes the position loop itself. The target
 * is the reference at the middle of the interval in which the drive executes
 * this command. The commanded torque is the law's torque without the feedback
 * terms, which the drive computes. */
static void close_loop(const ft_bus_drive *d, uint32_t i,
                       const ft_control *c, ft_drive_target *t)
{
    const uint32_t j = ft_drive[i].joint;
    const ft_motion *m = &c->motion;
    const ft_real unit = ft_joint[j].unit, sign = (ft_real)ft_drive[i].sign;
    const ft_gains g = ft_law_gains(&c->law, j);
    const ft_turn away = ft_position_difference(m->before->q[j],
                                                c->seen.q[j]);
    const ft_real both = m->before->u[j] + m->newest->u[j];
    const ft_real error = (ft_real)ft_position_difference(m->now->q[j],
                                                          c->seen.q[j]);
    const ft_real ours = g.ku * error
                         + g.kv * (m->now->u[j] - c->seen.u[j]);

    t->position = place_of(i, d->fed)
                  + (float)(sign * ((ft_real)away * unit + m->newest->u[j]));
    t->velocity = (float)(sign * both * (ft_real)FT_TICK_HZ);
    t->kp = (float)(g.ku * ft_joint[j].per_unit);
    t->kd = (float)(g.kv / (FT_C(2.0) * (ft_real)FT_TICK_HZ));
    t->torque = (float)(sign * (c->law.torque[j] - ours));
}

/* Return whether a joint is inside its limits. Outside the limits the board
 * closes the loop, since only the board's law suppresses torques that lead
 * farther outside. */
static bool inside(const ft_control *c, uint32_t j)
{
    return (uint32_t)c->seen.coarse[j] - (uint32_t)ft_joint[j].lower
           <= ft_joint[j].room;
}

#if FT_WIRES > 0

/* Convert a duty of the board's supply to the duty of a servo's supply that
 * gives the same voltage. The duty refers to the voltage that the board
 * measures. If the servo's reported voltage differs too much from the board's
 * measurement, the report is ignored. */
static float share(const ft_bus *b, const ft_bus_drive *d, float duty)
{
    const float told = TENTH * (float)d->volts;

    if (!(told > LOW * b->supply && told < HIGH * b->supply))
        return duty;
    return duty * b->supply / told;
}

#if FT_SERVO_LOOP

/* Return the distance from the seen position to a limit in the drive's
 * direction, rad. */
static float room(uint32_t i, const ft_control *c, int32_t limit)
{
    const uint32_t j = ft_drive[i].joint;
    const ft_real steps = (ft_real)(limit - c->seen.coarse[j]);

    return (float)(steps * (ft_real)(1 << FT_COARSE) * ft_joint[j].unit)
           * ft_drive[i].sign;
}

/* Convert the torque of a command to the duty that gives this torque at the
 * target's velocity. Set the range of the goal. The joint comes to rest where
 * the servo's loop carries the weight. This place must be inside the limits,
 * so only the weight may shift a goal beyond a limit. */
static void aim(const ft_bus *b, uint32_t i, const ft_control *c,
                ft_drive_target *t)
{
    const ft_drive_config *k = &ft_drive[i];
    const ft_bus_drive *d = &b->drive[i];
    const ft_joint_config *joint = &ft_joint[k->joint];
    const float ohm = (float)joint->resistance / b->supply;
    const float emf = (float)(joint->back_emf
                              * (c->motion.before->u[k->joint]
                                 + c->motion.newest->u[k->joint]));
    const float weight = share(b, d, ohm * (float)c->tau[k->joint]) * k->sign
                         * k->scale * k->step;
    const float at = place_of(i, d->fed) + weight;
    const float low = room(i, c, joint->lower), high = room(i, c, joint->upper);

    t->share = share(b, d, ohm * t->torque + k->sign * emf / b->supply);
    t->least = at + (low < high ? low : high);
    t->most = at + (low < high ? high : low);
}

#endif
#endif

/* Form the frame to a drive while the outputs are on. While no law makes
 * torques, the drives brake by pure damping. */
static void command(ft_bus *b, uint32_t i, const ft_control *c,
                    uint32_t source, uint32_t tick, ft_frame *f)
{
    ft_bus_drive *d = &b->drive[i];
    const uint32_t j = ft_drive[i].joint;
    ft_drive_target t = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
                          0.0f, 0.0f, 0.0f, 0.0f };

    t.seen = d->velocity;
#if FT_WIRES > 0
    t.share = ft_drive[i].sign * share(b, d, c->law.duty[j]);
#endif
#if FT_SERVO_LOOP
    t.position = place_of(i, d->fed);
#endif
    if (source == (uint32_t)FT_SOURCE_OFF)
        t.kd = ft_drive[i].damping;
    else if (ft_drive[i].closes != 0u && source != (uint32_t)FT_SOURCE_LAB
             && inside(c, j)) {
        close_loop(d, i, c, &t);
#if FT_SERVO_LOOP
        aim(b, i, c, &t);
#endif
    }
    else
        t.torque = ft_drive[i].sign * (float)c->law.torque[j];
    d->waited = 0;
    ft_family_command(i, f, &t, &d->carried);
    ft_family_look(i, f, tick, true);
}

/* Collect a bus's frames. Return their number. Frames that switch drives off
 * come first, since frames that collide may keep a question from being sent. */
static uint32_t gather(const ft_bus *b, uint32_t bus, ft_frame *frames)
{
    uint32_t i, count = 0;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (ft_drive[i].bus == bus && b->frame[i].size != 0u)
            frames[count++] = b->frame[i];
#if FT_POLLED
    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (ft_drive[i].bus == bus && ft_family_polled(i)
            && !left_out(&b->drive[i]))
            ft_family_poll(i, &frames[count++]);
#endif
    return count;
}

/* Send at once on every CAN bus, where drives may send at any time. */
static void send_at_once(ft_bus *b)
{
    (void)b;
#if FT_BUSES > FT_WIRES
    ft_frame frames[FT_BUS_DRIVES * (1 + FT_POLLED)];
    uint32_t bus;

    for (bus = 0; bus < FIRST_WIRE; bus++)
        ft_chip_bus_send(bus, frames, gather(b, bus, frames));
#endif
}

#if FT_WIRES > 0

/* Process the bytes received from a wire, and send the next frames. */
static void begin_wire(ft_bus *b, uint32_t wire)
{
    ft_wire *w = &b->wire[wire];
    ft_frame frames[FT_BUS_DRIVES];
    const uint32_t count = gather(b, FIRST_WIRE + wire, frames);

    ft_wire_came(w, ft_chip_wire_take(wire, w->in, sizeof w->in));
    if (count == 0u)
        return;
    ft_wire_pack(w, frames, count);
    ft_chip_wire_send(wire, w->out, w->size);
}

#endif

/* Form the next frame to every drive. A drive whose settings are not confirmed
 * stays off, even while the other drives brake. Frames that switch drives off
 * are sent immediately. On a wire (a half-duplex serial bus) all frames wait
 * for the next tick, since servos are still answering. */
void ft_bus_form(ft_bus *b, const ft_control *c, uint32_t source, bool on,
                 uint32_t tick)
{
    const bool falls = b->on && !on;
    uint32_t i;

    b->on = on;
#if FT_WIRES > 0 && FT_CUTOFF
    b->since = on ? 0u : b->since < ASKED_SINCE ? b->since + 1u : ASKED_SINCE;
#endif
    for (i = 0; i < FT_BUS_DRIVES; i++) {
        ft_bus_drive *d = &b->drive[i];

        d->questions = (uint8_t)(d->questions << 1);
        if (!on || d->asked < ft_drive[i].steps) {
            rest(d, i, tick, &b->frame[i]);
            continue;
        }
        d->enabled |= d->state == FT_BUS_ENABLED;
#if FT_WIRES > 0 && FT_CUTOFF
        d->ran |= IS_WIRE(ft_drive[i].bus);
#endif
        if (d->state != FT_BUS_ENABLED || setup_lost(d, i))
            start(d, i, tick, &b->frame[i]);
        else
            command(b, i, c, source, tick, &b->frame[i]);
        if (left_out(d))
            b->frame[i].size = 0u;
    }
    if (falls)
        send_at_once(b);
}

/* First process the bytes from each wire, since the echo of the sent bytes is
 * among them. Then send the frames that the last tick has formed. */
void ft_bus_begin(ft_bus *b)
{
#if FT_WIRES > 0
    uint32_t wire;

    for (wire = 0; wire < FT_WIRES; wire++)
        begin_wire(b, wire);
#endif
    send_at_once(b);
}

#if FT_WIRES > 0 && FT_CUTOFF

/* Return whether a servo may still run although it must be off or is silent. */
static bool may_be_running(const ft_bus *b)
{
    bool any = false;
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        any = any || (b->drive[i].ran
                      && (!b->on || b->drive[i].state == FT_BUS_SILENT));
    return any;
}

/* Note that the servos have no supply, so they are off and do not answer. */
static void mark_unpowered(ft_bus *b)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++) {
        if (!IS_WIRE(ft_drive[i].bus))
            continue;
        b->drive[i].ran = false;
        b->drive[i].age = FT_SILENT_TICKS;
    }
}

/* Return whether a fault contradicts the position or motion that a servo
 * reports. A contradiction shows that another servo may have answered. */
static bool contradicts_feedback(uint32_t fault)
{
    return fault == FT_FAULT_ENCODER || fault == FT_FAULT_ENCODER_STUCK
           || fault == FT_FAULT_FOLLOWING || fault == FT_FAULT_POSITION
           || fault == FT_FAULT_OVERSPEED;
}

/* Switch the servos' supply. Off, it stays off until no servo has power. */
void ft_bus_supply(ft_bus *b, uint32_t state, uint32_t fault)
{
    const bool misheard = state == FT_STATE_FAULT && !b->on
                          && contradicts_feedback(fault);

    ft_chip_servo_supply(ft_cutoff_tick(&b->cutoff, may_be_running(b),
                                        misheard ? FT_STATE_ESTOP : state));
    if (!b->cutoff.on)
        mark_unpowered(b);
}

/* Return whether a drive has no supply. */
static bool unpowered(const ft_bus *b, uint32_t i)
{
    return !b->cutoff.on && IS_WIRE(ft_drive[i].bus);
}

#else

#define unpowered(b, i) false /* no output switches the servos' supply */

#endif

/* ---- checks before arming ----------------------------------------------- */

uint32_t ft_bus_heard_of(const ft_bus *b)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (b->drive[i].state == FT_BUS_SILENT || b->off[ft_drive[i].bus]
            || unpowered(b, i))
            return ft_drive[i].joint;
    return FT_GOOD;
}

uint32_t ft_bus_well(const ft_bus *b)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (b->drive[i].state == FT_BUS_FAULTED)
            return ft_drive[i].joint;
    return FT_GOOD;
}

uint32_t ft_bus_set_right(const ft_bus *b)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (b->drive[i].asked < ft_drive[i].steps || b->drive[i].travel.wrong)
            return ft_drive[i].joint;
    return FT_GOOD;
}

uint32_t ft_bus_differs(const ft_bus *b, uint32_t i, uint32_t *value)
{
    const ft_bus_drive *d = &b->drive[i];
    const bool all = d->asked >= ft_drive[i].steps;

    *value = all || d->differs != 0u ? d->value : 0u;
    if (d->differs != 0u || !d->travel.wrong)
        return d->differs;
    memcpy(value, &d->travel.range, sizeof *value);
    return FT_BUS_VELOCITY;
}

#endif
