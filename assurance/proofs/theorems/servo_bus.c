/* The schedule of bus/ft_bus.c for servos on a wire, with the frames that
 * ft_dialect.c forms for them.
 *
 * ft_sts.c makes any frames of a tick's bytes here; servos.c shows that it does
 * so without a run-time error. One invariant, well(), holds at the start, and
 * is kept by every frame that comes, by taking in the answers of a tick, and by
 * forming its frames. */
#include "proof.h"

#include "ft_config.c"

#include "ft_bus.c"
#include "ft_dialect.c"
#include "ft_travel.c"
#include "ft_feetech.c"

#define LAST_PLACE (TURN - 1u)
#define MOST_CARRIED(i) 0.00051f
#include "schedule.h"

/* ---- neighbours --------------------------------------------------------- */

static uint32_t packed, sent;

/* Any number of frames is one frame, again and again, which leaves any state
 * that is well, as wire_frame shows. */
bool ft_sts_next(ft_sts *w, ft_frame *f)
{
    (void)f;
    CLAIM(w >= bus.wire && w < bus.wire + FT_WIRES);
    any_frames();
    return false;
}

void ft_sts_came(ft_sts *w, uint32_t came)
{
    CLAIM(w >= bus.wire && w < bus.wire + FT_WIRES && came <= FT_STS_IN);
    CLAIM(packed == 0u); /* what came depends on what was sent before */
}

void ft_sts_pack(ft_sts *w, const ft_frame frames[], uint32_t count)
{
    CLAIM(count <= FT_BUS_DRIVES);
    CLAIM(__CPROVER_r_ok(frames, count * sizeof *frames));
    packed++;
    w->size = nondet_u32();
    GIVEN(w->size <= FT_STS_OUT); /* sts_pack */
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

/* ---- what comes in ------------------------------------------------------ */

/* Any answer, of any servo, of any size and content, in any state: it is taken
 * in without a run-time error, changes at most one servo, and leaves its state
 * within the invariant. A servo that says that something ails it is FAULTED.
 * Run: unwind=30 floats mechanisms=so101_sts */
void prove_wire_frame(void)
{
    const uint32_t i = nondet_u32(), k = nondet_u32();
    ft_bus_drive was, other;
    ft_frame f;

    any_state();
    ANYTHING(f);
    GIVEN(i < FT_BUS_DRIVES && k < FT_BUS_DRIVES && i != k);
    was = bus.drive[i];
    other = bus.drive[k];
    take(&bus, 0u, &f);
    CLAIM(well());
    CLAIM(kept(&bus.drive[i], &was));
    CLAIM(bus.drive[i].answers == was.answers
          || bus.drive[k].answers == other.answers);
    CLAIM(bus.drive[i].ailed == was.ailed || bus.drive[i].ailed == 0u
          || bus.drive[i].state == (uint8_t)FT_BUS_FAULTED);
    END;
}

/* Taking in a tick's answers, whatever came, keeps the invariant and ends. A
 * servo that has answered is where it says; one that has not answered for
 * FT_SILENT_TICKS ticks is SILENT in the next: its joint's zero is forgotten,
 * and all that was asked of it.
 * Run: unwind=30 floats mechanisms=so101_sts */
void prove_wire_hear(void)
{
    const uint32_t i = nondet_u32();
    const ft_bus_drive *d = &bus.drive[i];
    ft_bus_drive was;
    uint32_t j;

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
    j = ft_drive[i].joint;
    was = *d;
    ft_bus_hear(&bus, &control.seen, homed, counts);
    CLAIM(well());
    CLAIM(d->held || counts[j] == 0);
    CLAIM(!d->answered || (d->age == 0u && d->held
                           && d->fed == (int32_t)d->position
                           && counts[j] <= (int32_t)TURN / 2
                           && counts[j] >= -(int32_t)TURN / 2));
    CLAIM(d->answered || (counts[j] <= ft_joint[j].counts
                          && counts[j] >= -ft_joint[j].counts));
    CLAIM(d->answered || was.age < FT_SILENT_TICKS
          || (d->state == (uint8_t)FT_BUS_SILENT && d->asked == 0u
              && !d->held
              && (was.state == (uint8_t)FT_BUS_SILENT || !homed[j])));
    END;
}

/* ---- what goes out ------------------------------------------------------ */

/* Return whether a register is one that is ours to set: the lock, the mode, the
 * delay of answers. */
static bool ours(uint32_t number)
{
    return number == 55u || number == 33u || number == 7u;
}

/* With the outputs off no servo's frame says that its motor runs, whatever
 * state the servo, the motion and the law are in: sts_pack gives such ones no
 * duty. Nothing is set but one byte of what is ours to say.
 * Run: unwind=30 floats mechanisms=so101_sts */
void prove_wire_rests(void)
{
    const uint32_t i = nondet_u32();

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
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

/* With the outputs on a servo that is not known to be set right is not
 * commanded to run. One that does not report that it is on is switched on, and
 * gets no duty. One that has not reported since that it has forgotten nothing
 * gets no duty but the rest that rounding has left over. Any other gets a duty
 * no larger than the file allows: whatever law and motion ask for, and whatever
 * supply it reports, without a run-time error.
 * Run: unwind=30 floats mechanisms=so101_sts */
void prove_wire_commands(void)
{
    const uint32_t i = nondet_u32();
    uint32_t id, duty;

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
    ft_bus_form(&bus, &control, nondet_u32(), true, nondet_u32());
    id = bus.frame[i].id;
    duty = bus.frame[i].data[0] | (uint32_t)bus.frame[i].data[1] << 8;
    CLAIM(well() && bus.on && sent == 0u);
    CLAIM((id & 0xFFu) == ft_drive[i].id);
    if (bus.drive[i].asked < ft_dialect_steps(i))
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

/* A tick begins with what came, then sends what the last tick has formed, once
 * on every wire.
 * Run: unwind=30 mechanisms=so101_sts */
void prove_wire_begin(void)
{
    any_state();
    ft_bus_begin(&bus);
    CLAIM(well() && sent == packed && packed <= FT_WIRES);
    END;
}

/* No joint is armed whose servo is silent, reports an error, or has not
 * reported all its settings, each of them right; and a wrong setting is
 * reported by number and value.
 * Run: unwind=30 mechanisms=so101_sts */
void prove_wire_arming(void)
{
    const uint32_t i = nondet_u32();
    uint32_t value;

    any_state();
    GIVEN(i < FT_BUS_DRIVES);
    if (ft_bus_heard_of(&bus) == FT_GOOD && ft_bus_well(&bus) == FT_GOOD
        && ft_bus_set_right(&bus) == FT_GOOD) {
        CLAIM(bus.drive[i].state == (uint8_t)FT_BUS_SEEN
              || bus.drive[i].state == (uint8_t)FT_BUS_ENABLED);
        CLAIM(bus.drive[i].asked >= ft_dialect_steps(i));
    }
    (void)ft_bus_differs(&bus, i, &value);
    END;
}
