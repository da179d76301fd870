/* Drives on buses, bus/: the schedule, and the frames to each family.
 *
 * One invariant, well(), holds at the start, and is kept by every frame that a
 * bus brings, by taking in the answers of a tick, and by forming its frames.
 * Frames that come have any id, any size and any bytes. */
#include "proof.h"

#include "ft_config.c"
#include "ft_field.h"

/* Two functions of ft_field.h are given other bodies: they are inline, as the
 * tick calls them several times for each drive, so that the linker cannot do
 * it. */
static uint32_t numbered(const ft_field_range *r, float value);
static uint32_t carried_on(const ft_field_range *r, float value,
                           float *carried);

#define ft_field_encode(r, value) numbered(r, value)
#define ft_field_carry(r, value, carried) carried_on(r, value, carried)
#include "ft_bus.c"
#include "ft_cubemars.c"
#include "ft_damiao.c"
#include "ft_dialect.c"
#include "ft_mit.c"
#include "ft_travel.c"
#include "ft_robstride.c"

/* The families of the arms that are proved about. */
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
#include "schedule.h"

static ft_findings found;

/* ---- fields ------------------------------------------------------------- */

/* Calls of ft_field.h, and the numbers that it gave: any that their field
 * holds. fields_numbers and fields_carry show which number it is. */
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

/* Return whether a number is what was given for this value in this range. */
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

/* ---- neighbours --------------------------------------------------------- */

static bool taken, sent[FT_BUSES];
static uint32_t frames_sent;

/* Any number of frames is one frame, again and again, which leaves any state
 * that is well, as bus_frame shows. */
bool ft_chip_bus_take(uint32_t which, ft_frame *f)
{
    (void)f;
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

/* ---- what comes in ------------------------------------------------------ */

/* Any frame that a bus brings, of any id, size and content, in any state: it is
 * taken in without a run-time error, changes at most one drive, one on that
 * bus, and leaves its state within the invariant. A drive that says that
 * something ails it is FAULTED, whatever it was.
 * Run: unwind=10 floats mechanisms=damiao_arm,drives */
void prove_bus_frame(void)
{
    const uint32_t which = nondet_u32(), i = nondet_u32(), k = nondet_u32();
    ft_bus_drive was, other;
    ft_frame f;

    any_state();
    ANYTHING(f);
    GIVEN(which < FT_BUSES && i < FT_BUS_DRIVES && k < FT_BUS_DRIVES && i != k);
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

/* Taking in a tick's answers, whatever came, whatever velocity is seen, a
 * number or not, keeps the invariant and ends. A joint moves by no more than
 * its drive says, or than it can. A drive that has not answered for
 * FT_SILENT_TICKS ticks is SILENT in the next: its joint's zero is forgotten,
 * and all that was asked of it; so they are of one that was enabled, and is
 * not, or has forgotten what was set in it.
 * Run: unwind=10 floats mechanisms=damiao_arm,drives */
void prove_bus_hear(void)
{
    const uint32_t i = nondet_u32();
    ft_bus_drive was;

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
    was = bus.drive[i];
    ft_bus_hear(&bus, &control.seen, homed, counts);
    {
        const ft_bus_drive *d = &bus.drive[i];
        const uint32_t j = ft_drive[i].joint;

        CLAIM(well());
        CLAIM(d->held || counts[j] == 0);
        CLAIM(!d->answered || (d->age == 0u && d->held
                               && d->fed == (int32_t)d->position));
        CLAIM(d->answered
              || (counts[j] <= ft_joint[j].counts
                  && counts[j] >= -ft_joint[j].counts));
        CLAIM(d->answered || was.age < FT_SILENT_TICKS
              || (d->state == (uint8_t)FT_BUS_SILENT && d->asked == 0u
                  && !d->held));
        CLAIM(d->answered || was.age < FT_SILENT_TICKS
              || was.state == (uint8_t)FT_BUS_SILENT || !homed[j]);
        CLAIM(d->answered || was.age >= FT_SILENT_TICKS
              || d->age == was.age + 1u);
        CLAIM(!was.enabled || d->state != (uint8_t)FT_BUS_SEEN
              || (d->asked == 0u && (!homed[j] || (d->answered
                                     && ft_drive[i].placed != 0u))));
    }
    END;
}

/* While the outputs are on, a drive that is silent, whose bus is off, that says
 * that something ails it, or that is not enabled though it was or for
 * ENABLE_TICKS, is noted in the same tick: DRIVE_SILENT, BUS_OFF, DRIVE, of
 * this joint or one before it.
 * Run: unwind=10 mechanisms=drives */
void prove_bus_find(void)
{
    const uint32_t i = nondet_u32();

    any_state();
    ANYTHING(found);
    found.any = false;
    found.cut = found.silent = found.ailing = FT_GOOD;
    GIVEN(i < FT_BUS_DRIVES);
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

/* No joint is armed whose drive is silent, reports an error, is on a bus that
 * is off, or has not reported all its settings, each of them right.
 * Run: unwind=10 mechanisms=drives */
void prove_bus_arming(void)
{
    const uint32_t i = nondet_u32();

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
    if (ft_bus_heard_of(&bus) == FT_GOOD && ft_bus_well(&bus) == FT_GOOD
        && ft_bus_set_right(&bus) == FT_GOOD) {
        CLAIM(bus.drive[i].state == (uint8_t)FT_BUS_SEEN
              || bus.drive[i].state == (uint8_t)FT_BUS_ENABLED);
        CLAIM(!bus.off[ft_drive[i].bus]);
        CLAIM(bus.drive[i].asked == ft_dialect_steps(i));
        CLAIM(!bus.drive[i].travel.wrong);
    }
    END;
}

/* ---- what goes out ------------------------------------------------------ */

/* Frames as the makers' manuals lay them out. */
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

/* With the outputs off every drive is given the frame that disables it, or, one
 * that answers and is disabled, a question or the one setting that is the
 * file's to say: never one that enables it or asks for torque, whatever state
 * the drive, the motion and the law are in. In the tick in which the outputs go
 * off these are sent at once, to every drive.
 * Run: unwind=10 floats mechanisms=damiao_arm,drives */
void prove_bus_rests(void)
{
    const uint32_t i = nondet_u32();
    bool falls;

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
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

/* With the outputs on a drive that is not known to be set right gets a frame
 * that disables it, or a question. A drive that does not report that it is
 * enabled gets a frame that enables it, and no command. A drive that reports it
 * is commanded, unless it forgets settings without power and has not reported
 * since that it still has them: that one gets the question for them, or a
 * command of no torque. Whatever law and motion ask for, numbers or not, there
 * is no run-time error.
 * Run: unwind=20 floats mechanisms=damiao_arm,drives */
void prove_bus_commands(void)
{
    static const ft_drive_target nothing;
    const uint32_t i = nondet_u32();

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
    ft_bus_form(&bus, &control, nondet_u32(), true, nondet_u32());
    CLAIM(well() && bus.on && bus.frame[i].size == 8u);
    if (bus.drive[i].asked < ft_dialect_steps(i))
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

/* ---- what a command asks for -------------------------------------------- */

static uint32_t position_of(const ft_frame *f)
{
    return (uint32_t)f->data[0] << 8 | f->data[1];
}

static uint32_t velocity_of(const ft_frame *f, bool mit)
{
    return mit ? (uint32_t)f->data[2] << 4 | f->data[3] >> 4
                  : (uint32_t)f->data[2] << 8 | f->data[3];
}

static uint32_t kp_of(const ft_frame *f, bool mit)
{
    return mit ? (f->data[3] & 15u) << 8 | f->data[4]
                  : (uint32_t)f->data[4] << 8 | f->data[5];
}

static uint32_t kd_of(const ft_frame *f, bool mit)
{
    return mit ? (uint32_t)f->data[5] << 4 | f->data[6] >> 4
                  : (uint32_t)f->data[6] << 8 | f->data[7];
}

static uint32_t torque_of(const ft_frame *f, bool mit)
{
    return mit ? (f->data[6] & 15u) << 8 | f->data[7]
                  : f->id >> 8 & 0xFFFFu;
}

/* Return whether a frame asks a drive for this, by the ranges of its file. */
static bool asks_for(const ft_frame *f, uint32_t i, const ft_drive_target *t)
{
    const bool d = !IS_ROBSTRIDE(i);
    const uint32_t top = d ? 4095u : 65535u;
    const ft_drive_config *c = &ft_drive[i];

    return (stands_for(position_of(f), t->position, -c->position, c->position,
                       65535u)
            || (d && position_of(f) == 65534u
                && stands_for(65535u, t->position, -c->position, c->position,
                              65535u)))
           && stands_for(velocity_of(f, d), t->velocity, -c->velocity,
                         c->velocity, top)
           && stands_for(kp_of(f, d), t->kp, 0.0f, c->kp, top)
           && stands_for(kd_of(f, d), t->kd, 0.0f, c->kd, top)
           && stands_for(torque_of(f, d), t->torque, -c->torque, c->torque,
                         top);
}

/* Whatever is asked for, a number or not: each field of a command is the number
 * that stands for it in the range of the file, at the place that the maker
 * gives it, and spills into no other.
 * Run: unwind=10 floats mechanisms=damiao_arm,drives */
void prove_bus_fields(void)
{
    const uint32_t i = nondet_u32();
    const ft_drive_target t = { nondet_float(), nondet_float(), nondet_float(),
                                nondet_float(), nondet_float() };
    float carried = nondet_float();
    ft_frame f;

    GIVEN(i < FT_BUS_DRIVES && __builtin_fabsf(carried) <= torque_step(i));
    ft_dialect_command(i, &t, &carried, &f);
    CLAIM(commands(&f, i) && f.size == 8u);
    CLAIM(asks_for(&f, i, &t));
    END;
}

/* If nothing makes torques while the outputs are on, the drives brake: a drive
 * that is enabled is commanded no velocity, no stiffness, the damping of the
 * file and no torque.
 * Run: unwind=20 floats mechanisms=drives */
void prove_bus_brakes(void)
{
    const uint32_t i = nondet_u32();
    ft_drive_target t = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };

    any_state();
    GIVEN(i < FT_BUS_DRIVES && !setup_lost(&bus.drive[i], i)
          && bus.drive[i].asked == ft_dialect_steps(i)
          && bus.drive[i].state == (uint8_t)FT_BUS_ENABLED);
    ft_bus_form(&bus, &control, (uint32_t)FT_SOURCE_OFF, true, nondet_u32());
    t.kd = ft_drive[i].damping;
    CLAIM(asks_for(&bus.frame[i], i, &t));
    END;
}

/* In the modes of the lab, and where the board closes the loop, a drive that is
 * enabled is asked for the law's torque alone, which law_torque and lab_law
 * bound: no stiffness, no damping of its own.
 * Run: unwind=20 floats mechanisms=drives */
void prove_bus_torque(void)
{
    const uint32_t i = nondet_u32();
    const uint32_t source = (uint32_t)(nondet_bool() ? FT_SOURCE_LAB
                                                    : FT_SOURCE_PATH);
    ft_drive_target t = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };

    any_state();
    GIVEN(i < FT_BUS_DRIVES && !setup_lost(&bus.drive[i], i)
          && bus.drive[i].asked == ft_dialect_steps(i)
          && bus.drive[i].state == (uint8_t)FT_BUS_ENABLED);
    GIVEN(source == (uint32_t)FT_SOURCE_LAB || ft_drive[i].closes == 0u
          || !inside(&control, ft_drive[i].joint));
    ft_bus_form(&bus, &control, source, true, nondet_u32());
    t.torque = ft_drive[i].sign
               * (float)control.law.torque[ft_drive[i].joint];
    CLAIM(asks_for(&bus.frame[i], i, &t));
    END;
}
