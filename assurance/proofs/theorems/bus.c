/* Drives on buses, bus/: the schedule, and the frames to each drive family.
 *
 * One invariant, well(), holds at the start. Every frame received from a bus
 * keeps the invariant. Processing the answers of a tick and forming the tick's
 * frames also keep the invariant. Received frames have any identifier, any size
 * and any bytes. Drives are on CAN, or they are servos on a half-duplex serial
 * bus. For the servos, the stub for ft_sts.c makes any frames from the bytes of
 * a tick. servos.c proves that ft_sts.c makes these frames without a run-time
 * error. */
#include "proof.h"

#include "ft_config.c"

#if FT_WIRES > 0

#include "ft_bus.c"
#include "ft_feetech.c"
#include "ft_travel.c"

#define LAST_PLACE (TURN - 1u)
#define MOST_CARRIED(i) 0.00051f

#else

#include "ft_field.h"

/* Two functions of ft_field.h are replaced by stubs. The tick calls these
 * inline functions several times for each drive, so the linker cannot replace
 * them. */
static uint32_t numbered(const ft_field_range *r, float value);
static uint32_t carried_on(const ft_field_range *r, float value,
                           float *carried);

#define ft_field_encode(r, value) numbered(r, value)
#define ft_field_carry(r, value, carried) carried_on(r, value, carried)
#include "ft_bus.c"
#include "ft_cubemars.c"
#include "ft_damiao.c"
#include "ft_mit.c"
#include "ft_travel.c"
#include "ft_robstride.c"

/* True for drives of the family Damiao. The arms of these proofs use this
 * family and the families below. */
#define IS_DAMIAO(i) (ft_drive[i].family == FT_FAMILY_DAMIAO)
#ifdef FT_FAMILY_ROBSTRIDE
#define IS_ROBSTRIDE(i) (ft_drive[i].family == FT_FAMILY_ROBSTRIDE)
#else
#define IS_ROBSTRIDE(i) false
#endif
#ifdef FT_FAMILY_CUBEMARS
#define IS_CUBEMARS(i) (ft_drive[i].family == FT_FAMILY_CUBEMARS)
#else
#define IS_CUBEMARS(i) false
#endif

static float torque_step(uint32_t i)
{
    return 2.0f * ft_drive[i].torque
           / (float)(IS_ROBSTRIDE(i) ? FT_FIELD_16 : FT_FIELD_12);
}

#define LAST_PLACE FT_FIELD_16
#define MOST_CARRIED(i) torque_step(i)

#endif

static ft_bus bus;
static ft_control control;
static bool homed[FT_JOINTS];
static int32_t counts[FT_JOINTS];

ft_bus_drive nondet_drive(void);

/* ---- neighbours --------------------------------------------------------- */

/* Return whether a position is within half a turn of the drive from the middle
 * of the joint's range. */
static bool within_half(uint32_t joint, int64_t wire)
{
    const ft_joint_config *c = &ft_joint[joint];
    const int64_t away = wire - 256 * ((int64_t)c->lower + c->room / 2u);
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (ft_drive[i].joint == joint)
            return away >= -128 * (int64_t)ft_drive[i].turn
                   && away < 128 * (int64_t)ft_drive[i].turn;
    return false;
}

void ft_observer_place(ft_observer *o, uint32_t joint, int64_t wire)
{
    CLAIM(joint < FT_JOINTS);
    CLAIM(within_half(joint, wire));
    o->q[joint] = ft_position_of_wire(wire);
}

ft_gains ft_law_gains(const ft_law *l, uint32_t joint)
{
    const ft_gains g = { nondet_float(), nondet_float(), nondet_float() };

    (void)l;
    CLAIM(joint < FT_JOINTS);
    return g;
}

/* ---- the invariant ------------------------------------------------------ */

/* Return whether the observer got a valid position. For each tick without an
 * answer, the position may be off by the distance of one more extrapolation. */
static bool near(const ft_bus_drive *d, uint32_t j)
{
    const int64_t most = (int64_t)ft_joint[j].counts * d->age;

    return d->fed >= -most && d->fed <= (int64_t)LAST_PLACE + most;
}

/* Return whether the mechanism's file specifies the requested setting. */
static bool to_write(const ft_bus_drive *d, uint32_t i)
{
    const uint32_t step = step_of(d, i);

    return step < ft_drive[i].steps && row_of(i, step)->writes != 0u;
}

static bool drive_well(const ft_bus_drive *d, uint32_t i)
{
    return d->state <= (uint8_t)FT_BUS_FAULTED
           && d->asked <= ft_drive[i].steps && d->position <= LAST_PLACE
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

/* Return whether a drive is unchanged, or has lost a setting. */
static bool same_state(const ft_bus_drive *d, const ft_bus_drive *was)
{
    return d->state == was->state
           || (was->enabled && d->state == (uint8_t)FT_BUS_SEEN);
}

/* Return whether a frame changed only members of a drive that it may change. */
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

/* Model the receipt of frames. The frames change the drives to any state that
 * keeps the invariant, and change nothing else. */
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

#if FT_WIRES > 0

static uint32_t packed, sent;

/* Model the receipt of any number of frames. By the theorem bus_frame, each
 * frame keeps the invariant. */
bool ft_sts_next(ft_sts *w, ft_frame *f)
{
    CLAIM(w >= bus.wire && w < bus.wire + FT_WIRES);
    any_frames();
    return false;
}

void ft_sts_came(ft_sts *w, uint32_t came)
{
    CLAIM(w >= bus.wire && w < bus.wire + FT_WIRES && came <= FT_STS_IN);
    CLAIM(packed == 0u); /* the received frames answer the last frames sent */
}

void ft_sts_pack(ft_sts *w, const ft_frame frames[], uint32_t count)
{
    CLAIM(count <= FT_BUS_DRIVES);
    CLAIM(__CPROVER_r_ok(frames, count * sizeof *frames));
    packed++;
    w->size = nondet_u32();
    GIVEN(w->size <= FT_STS_OUT); /* proved by sts_pack */
}

uint32_t ft_chip_wire_take(uint32_t wire, uint8_t *bytes, uint32_t most)
{
    const uint32_t came = nondet_u32();

    CLAIM(wire < FT_WIRES && __CPROVER_w_ok(bytes, most));
    GIVEN(came <= most);
    return came;
}

void ft_chip_wire_send(uint32_t wire, const uint8_t *bytes, uint32_t size)
{
    CLAIM(wire < FT_WIRES && __CPROVER_r_ok(bytes, size));
    sent++;
}

void ft_chip_wire_health(uint32_t wire, ft_bus_health *h)
{
    CLAIM(wire < FT_WIRES);
    h->off = nondet_bool();
}

#else

static ft_findings found;

/* Calls of ft_field.h and their results. A result is any number that the field
 * can hold. The theorems fields_numbers and fields_carry prove that the
 * function returns the correct number. */
static struct {
    ft_field_range range;
    float value;
    uint32_t number;
} asked[5u * FT_BUS_DRIVES];
static uint32_t askings;

static uint32_t numbered(const ft_field_range *r, float value)
{
    const uint32_t number = nondet_u32();

    CLAIM(askings < sizeof asked / sizeof asked[0]);
    GIVEN(number <= r->top);
    asked[askings].range = *r;
    asked[askings].value = value;
    asked[askings].number = number;
    askings++;
    return number;
}

static uint32_t carried_on(const ft_field_range *r, float value, float *carried)
{
    const float step = (r->high - r->low) / (float)r->top;

    CLAIM(__builtin_fabsf(*carried) <= step);
    *carried = nondet_float();
    GIVEN(__builtin_fabsf(*carried) <= step);
    return numbered(r, value);
}

static bool same_float(float a, float b)
{
    return a == b || (a != a && b != b);
}

/* Return whether the stub for ft_field.h gave this number for these values. */
static bool stands_for(uint32_t number, float value, float low, float high,
                       uint32_t top)
{
    uint32_t n;

    for (n = 0; n < askings; n++)
        if (asked[n].range.low == low && asked[n].range.high == high
            && asked[n].range.top == top && same_float(asked[n].value, value)
            && asked[n].number == number)
            return true;
    return false;
}

static bool sent[FT_BUSES];
static uint32_t frames_sent;

/* Model the receipt of any number of frames. By the theorem bus_frame, each
 * frame keeps the invariant. */
bool ft_chip_bus_take(uint32_t which, ft_frame *f)
{
    CLAIM(which < FT_BUSES);
    any_frames();
    return false;
}

void ft_chip_bus_health(uint32_t which, ft_bus_health *h)
{
    CLAIM(which < FT_BUSES);
    h->off = nondet_bool();
}

void ft_chip_bus_send(uint32_t which, const ft_frame frames[], uint32_t count)
{
    uint32_t n;

    CLAIM(which < FT_BUSES && count <= FT_BUS_DRIVES);
    for (n = 0; n < count; n++)
        CLAIM(frames[n].size == 8u);
    sent[which] = true;
    frames_sent += count;
}

#endif

/* ---- received frames ---------------------------------------------------- */

/* A bus may deliver any frame, of any identifier, size and content, in any
 * state. The board processes the frame without a run-time error. The frame
 * changes at most one drive, which is on that bus, and keeps the invariant. A
 * drive that reports an error is in the state FAULTED afterwards, for any
 * earlier state.
 * Run: unwind=30 floats mechanisms=damiao_arm,drives,so101_sts */
void prove_bus_frame(void)
{
    const uint32_t which = below(FT_BUSES), i = below(FT_BUS_DRIVES);
    const uint32_t k = below(FT_BUS_DRIVES);
    ft_bus_drive was, other;
    ft_frame f;

    any_state();
    ANYTHING(f);
    GIVEN(i != k);
    was = bus.drive[i];
    other = bus.drive[k];
    take(&bus, which, &f);
    CLAIM(well());
    CLAIM(kept(&bus.drive[i], &was));
    CLAIM(ft_drive[i].bus == which || bus.drive[i].answers == was.answers);
    CLAIM(bus.drive[i].answers == was.answers
          || bus.drive[k].answers == other.answers);
    CLAIM(bus.drive[i].ailed == was.ailed || bus.drive[i].ailed == 0u
          || bus.drive[i].state == (uint8_t)FT_BUS_FAULTED);
    END;
}

/* Processing the answers of a tick terminates and keeps the invariant, for any
 * answers and any measured velocity, NaN included. The estimated position of a
 * joint changes by at most the change that its drive reports, or by at most the
 * possible motion of the joint. If a servo answers, the position of its joint
 * changes by at most half a turn. A drive that has not answered for
 * FT_SILENT_TICKS ticks is SILENT in the next tick. The board then discards the
 * joint's zero and all requests to the drive. The board also discards zero and
 * requests if an enabled drive is no longer enabled, or has lost its settings.
 * Run: unwind=30 floats mechanisms=damiao_arm,drives,so101_sts */
void prove_bus_hear(void)
{
    const uint32_t i = below(FT_BUS_DRIVES), j = ft_drive[i].joint;
    const ft_bus_drive *d = &bus.drive[i];
    ft_bus_drive was;

    any_state();
    was = *d;
    ft_bus_hear(&bus, &control.seen, homed, counts);
    CLAIM(well());
    CLAIM(d->held || counts[j] == 0);
    CLAIM(!d->answered || (d->age == 0u && d->held
                           && d->fed == (int32_t)d->position));
    CLAIM(d->answered || (counts[j] <= ft_joint[j].counts
                          && counts[j] >= -ft_joint[j].counts));
    CLAIM(d->answered || was.age < FT_SILENT_TICKS
          || (d->state == (uint8_t)FT_BUS_SILENT && d->asked == 0u
              && !d->held
              && (was.state == (uint8_t)FT_BUS_SILENT || !homed[j])));
    CLAIM(d->answered || was.age >= FT_SILENT_TICKS || d->age == was.age + 1u);
    CLAIM(!was.enabled || d->state != (uint8_t)FT_BUS_SEEN
          || (d->asked == 0u && (!homed[j] || (d->answered
                                 && ft_drive[i].placed != 0u))));
#if FT_WIRES > 0
    CLAIM(!d->answered || (counts[j] <= (int32_t)TURN / 2
                           && counts[j] >= -(int32_t)TURN / 2));
#endif
    END;
}

/* A joint cannot be armed if its drive is silent, reports an error, is on a bus
 * in bus-off, or has not confirmed all its settings.
 * Run: unwind=30 mechanisms=drives,so101_sts */
void prove_bus_arming(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    uint32_t value;

    any_state();
    if (ft_bus_heard_of(&bus) == FT_GOOD && ft_bus_well(&bus) == FT_GOOD
        && ft_bus_set_right(&bus) == FT_GOOD) {
        CLAIM(bus.drive[i].state == (uint8_t)FT_BUS_SEEN
              || bus.drive[i].state == (uint8_t)FT_BUS_ENABLED);
        CLAIM(!bus.off[ft_drive[i].bus]);
        CLAIM(bus.drive[i].asked == ft_drive[i].steps);
        CLAIM(!bus.drive[i].travel.wrong);
    }
    (void)ft_bus_differs(&bus, i, &value);
    END;
}

/* ---- sent frames -------------------------------------------------------- */

#if FT_WIRES > 0

/* Return whether the board may write a register: lock, mode, answer delay. */
static bool ours(uint32_t number)
{
    return number == 55u || number == 33u || number == 7u;
}

/* While the outputs are off, no servo's frame contains the flag that its motor
 * runs, in any state of the servo, the motion and the control law. sts_pack
 * proves that only a servo with this flag gets a duty. A frame sets at most one
 * byte, in a register that the board may write.
 * Run: unwind=30 floats mechanisms=so101_sts */
void prove_wire_rests(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);

    any_state();
    ft_bus_form(&bus, &control, nondet_u32(), false, nondet_u32());
    CLAIM(well() && !bus.on && !bus.drive[i].enabled && sent == 0u);
    {
        const uint32_t id = bus.frame[i].id, number = id >> 16 & 0xFFu;

        CLAIM((id & 0xFFu) == ft_drive[i].id && (id & 0x100u) == 0u);
        CLAIM((id & 0x400u) == 0u
              || (ours(number) && (id >> 24 & 15u) == 1u));
    }
    END;
}

/* While the outputs are on there are four cases. A servo with unknown or
 * incorrect settings is not commanded to run. A servo that reports to be off,
 * or does not report its state, is switched on and gets no duty. A servo that
 * may have lost its settings gets only the rounding remainder as duty. Every
 * other servo is commanded to run. For any output of control law and motion and
 * any reported supply voltage, no duty exceeds the file's limit, and no
 * run-time error occurs.
 * Run: unwind=30 floats mechanisms=so101_sts */
void prove_wire_commands(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    uint32_t id, duty;

    any_state();
    ft_bus_form(&bus, &control, nondet_u32(), true, nondet_u32());
    id = bus.frame[i].id;
    duty = bus.frame[i].data[0] | (uint32_t)bus.frame[i].data[1] << 8;
    CLAIM(well() && bus.on && sent == 0u);
    CLAIM((id & 0xFFu) == ft_drive[i].id);
    if (bus.drive[i].asked < ft_drive[i].steps)
        CLAIM((id & 0x100u) == 0u);
    else if (bus.drive[i].state != (uint8_t)FT_BUS_ENABLED)
        CLAIM((id & 0x700u) == 0x300u && duty == 0u);
    else if (bus.drive[i].sure)
        CLAIM((id & 0x700u) == 0x100u && bus.drive[i].enabled);
    else
        CLAIM((id & 0x600u) == 0u && (duty & 0x3FFu) <= 1u);
    CLAIM((float)(duty & 0x3FFu) <= 1000.0f * ft_drive[i].share + 0.5f);
    END;
}

/* A tick first processes the bytes received since the last tick. The tick then
 * sends the frames of the last tick, once on every serial bus.
 * Run: unwind=30 mechanisms=so101_sts */
void prove_wire_begin(void)
{
    any_state();
    ft_bus_begin(&bus);
    CLAIM(well() && sent == packed && packed <= FT_WIRES);
    END;
}

#else

/* While the outputs are on, the board detects four conditions of a drive in the
 * same tick. The drive is silent. The drive's bus is off. The drive reports an
 * error. The drive is not enabled, although it was enabled before or
 * ENABLE_TICKS have passed. The reported faults are DRIVE_SILENT, BUS_OFF and
 * DRIVE_FAULT, for this joint or for a joint with a smaller number.
 * Run: unwind=10 mechanisms=drives */
void prove_bus_find(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);

    any_state();
    ANYTHING(found);
    found.any = false;
    found.cut = found.silent = found.ailing = FT_GOOD;
    ft_bus_find(&bus, &found);
    if (bus.on) {
        const ft_bus_drive *d = &bus.drive[i];

        CLAIM(!bus.off[ft_drive[i].bus] || (found.any && found.cut != FT_GOOD));
        CLAIM(d->state != (uint8_t)FT_BUS_SILENT
              || (found.any && found.silent != FT_GOOD));
        CLAIM(d->state != (uint8_t)FT_BUS_FAULTED
              || (found.any && found.ailing != FT_GOOD));
        CLAIM(d->state != (uint8_t)FT_BUS_SEEN || !d->enabled
              || (found.any && found.ailing != FT_GOOD));
        CLAIM(d->waited <= ENABLE_TICKS
              || (found.any && found.ailing != FT_GOOD));
    } else
        CLAIM(!found.any);
    END;
}

/* Frame layouts according to the makers' manuals. */
static bool everywhere_ones(const ft_frame *f)
{
    uint32_t n;

    for (n = 0; n < 7u; n++)
        if (f->data[n] != 0xFFu)
            return false;
    return true;
}

static uint32_t kind(const ft_frame *f)
{
    return (f->id & 0x80000000u) != 0u ? f->id >> 24 & 31u : 255u;
}

static bool disables(const ft_frame *f, uint32_t i)
{
    if (!IS_ROBSTRIDE(i))
        return f->id == ft_drive[i].id && everywhere_ones(f)
               && (f->data[7] == 0xFDu
                   || (f->data[7] == 0xFBu && IS_DAMIAO(i)));
    return kind(f) == 4u && (f->id & 255u) == ft_drive[i].id;
}

static bool questions(const ft_frame *f, uint32_t i)
{
    if (IS_DAMIAO(i))
        return f->id == 0x7FFu && f->data[0] == (ft_drive[i].id & 255u)
               && f->data[1] == ft_drive[i].id >> 8
               && (f->data[2] == 0x33u || f->data[2] == 0x55u);
    return IS_ROBSTRIDE(i) && (kind(f) == 0x11u || kind(f) == 0x12u)
           && (f->id & 255u) == ft_drive[i].id;
}

static bool enables(const ft_frame *f, uint32_t i)
{
    if (!IS_ROBSTRIDE(i))
        return f->id == ft_drive[i].id && everywhere_ones(f)
               && f->data[7] == 0xFCu;
    return kind(f) == 3u && (f->id & 255u) == ft_drive[i].id;
}

static bool commands(const ft_frame *f, uint32_t i)
{
    if (!IS_ROBSTRIDE(i))
        return f->id == ft_drive[i].id;
    return kind(f) == 1u && (f->id & 255u) == ft_drive[i].id;
}

static bool asks_for(const ft_frame *f, uint32_t i, const ft_drive_target *t);

/* While the outputs are off every drive gets the frame that disables it. A
 * drive that answers and is disabled may get a query instead, or a setting that
 * the file specifies. No drive gets a frame that enables it or commands torque,
 * in any state of the drive, the motion and the control law. In the tick in
 * which the outputs go off, these frames are sent immediately, to every drive.
 * Run: unwind=10 floats mechanisms=damiao_arm,drives */
void prove_bus_rests(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    bool falls;

    any_state();
    falls = bus.on;
    ft_bus_form(&bus, &control, nondet_u32(), false, nondet_u32());
    CLAIM(well() && !bus.on && !bus.drive[i].enabled);
    CLAIM(disables(&bus.frame[i], i)
          || (bus.drive[i].state == (uint8_t)FT_BUS_SEEN
              && questions(&bus.frame[i], i)));
    CLAIM(bus.frame[i].size == 8u);
    CLAIM(!falls || (sent[ft_drive[i].bus] && frames_sent == FT_BUS_DRIVES));
    END;
}

/* While the outputs are on there are four cases. A drive with unknown or
 * incorrect settings gets a frame that disables it, or a query. A drive that
 * does not report that it is enabled gets a frame that enables it, and no
 * command. A drive that may have lost its settings gets a query about them, or
 * a command of zero torque. Every other drive gets a command. For any output of
 * control law and motion, NaN included, no run-time error occurs.
 * Run: unwind=20 floats mechanisms=damiao_arm,drives */
void prove_bus_commands(void)
{
    static const ft_drive_target nothing;
    const uint32_t i = below(FT_BUS_DRIVES);

    any_state();
    ft_bus_form(&bus, &control, nondet_u32(), true, nondet_u32());
    CLAIM(well() && bus.on && bus.frame[i].size == 8u);
    if (bus.drive[i].asked < ft_drive[i].steps)
        CLAIM(disables(&bus.frame[i], i) || questions(&bus.frame[i], i));
    else if (bus.drive[i].state != (uint8_t)FT_BUS_ENABLED)
        CLAIM(enables(&bus.frame[i], i));
    else if (bus.drive[i].sure || IS_CUBEMARS(i))
        CLAIM(commands(&bus.frame[i], i) && bus.drive[i].enabled
              && bus.drive[i].waited == 0u);
    else
        CLAIM((asks_for(&bus.frame[i], i, &nothing)
               || questions(&bus.frame[i], i)) && bus.drive[i].enabled);
    END;
}

/* ---- commands ----------------------------------------------------------- */

/* Return the bytes of a frame as one number, the first byte at the top. */
static uint64_t word_of(const ft_frame *f)
{
    uint64_t word = 0;
    uint32_t n;

    for (n = 0; n < 8u; n++)
        word = word << 8 | f->data[n];
    return word;
}

/* Return whether a frame commands this target, by the file's ranges. */
static bool asks_for(const ft_frame *f, uint32_t i, const ft_drive_target *t)
{
    const bool mit = !IS_ROBSTRIDE(i);
    const uint32_t top = mit ? 4095u : 65535u;
    const ft_drive_config *c = &ft_drive[i];
    const uint64_t w = word_of(f);
    const uint32_t position = (uint32_t)(w >> 48);
    const uint32_t velocity = (uint32_t)(mit ? w >> 36 : w >> 32) & top;
    const uint32_t kp = (uint32_t)(mit ? w >> 24 : w >> 16) & top;
    const uint32_t kd = (uint32_t)(mit ? w >> 12 : w) & top;
    const uint32_t torque = mit ? (uint32_t)w & top : f->id >> 8 & 0xFFFFu;

    return (stands_for(position, t->position, -c->position, c->position, 65535u)
            || (mit && position == 65534u
                && stands_for(65535u, t->position, -c->position, c->position,
                              65535u)))
           && stands_for(velocity, t->velocity, -c->velocity, c->velocity, top)
           && stands_for(kp, t->kp, 0.0f, c->kp, top)
           && stands_for(kd, t->kd, 0.0f, c->kd, top)
           && stands_for(torque, t->torque, -c->torque, c->torque, top);
}

/* For any command, NaN included, each field of the frame contains the number
 * that encodes its value in the file's range. The field has the position of the
 * maker's manual, and the neighbouring fields do not change.
 * Run: unwind=10 floats mechanisms=damiao_arm,drives */
void prove_bus_fields(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    const ft_drive_target t = { nondet_float(), nondet_float(), nondet_float(),
                                nondet_float(), nondet_float() };
    float carried = nondet_float();
    ft_frame f;

    GIVEN(__builtin_fabsf(carried) <= torque_step(i));
    ft_family_command(i, &f, &t, &carried);
    CLAIM(commands(&f, i) && f.size == 8u);
    CLAIM(asks_for(&f, i, &t));
    END;
}

/* Return whether a drive is enabled and has confirmed all its settings. */
static bool is_commanded(const ft_bus_drive *d, uint32_t i)
{
    return !setup_lost(d, i) && d->asked == ft_drive[i].steps
           && d->state == (uint8_t)FT_BUS_ENABLED;
}

/* In the lab modes, and if the board closes the loop, a command to an enabled
 * drive contains only the torque of the control law, with zero stiffness and
 * zero damping. The theorems law_torque and lab_law bound this torque. If the
 * state of the board requests no torque while the outputs are on, an enabled
 * drive brakes. The drive's command then contains zero velocity, the file's
 * damping, zero stiffness and zero torque.
 * Run: unwind=20 floats mechanisms=drives */
void prove_bus_torque(void)
{
    const uint32_t i = below(FT_BUS_DRIVES), source = nondet_u32();
    ft_drive_target t = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };

    any_state();
    GIVEN(is_commanded(&bus.drive[i], i));
    GIVEN(source == (uint32_t)FT_SOURCE_OFF || source == (uint32_t)FT_SOURCE_LAB
          || (source == (uint32_t)FT_SOURCE_PATH
              && (ft_drive[i].closes == 0u
                  || !inside(&control, ft_drive[i].joint))));
    ft_bus_form(&bus, &control, source, true, nondet_u32());
    if (source == (uint32_t)FT_SOURCE_OFF)
        t.kd = ft_drive[i].damping;
    else
        t.torque = ft_drive[i].sign
                   * (float)control.law.torque[ft_drive[i].joint];
    CLAIM(asks_for(&bus.frame[i], i, &t));
    END;
}

#endif
