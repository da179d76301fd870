/* Messages of ODrive drives: ft_odrive_can.c of the family's folder. */
#include "proof.h"

#include "ft_config.c"
#include "ft_odrive_can.c"

/* Return whether a frame commands a torque, and write this torque. */
static bool brings_torque(const ft_frame *f, uint32_t id, float *torque)
{
    *torque = get_float(f, 0u);
    return f->id == (id << 5 | 0x0Eu) && f->size == 4u;
}

/* Return whether a frame sets the mode of torque control with direct input. */
static bool sets_mode(const ft_frame *f, uint32_t id)
{
    return f->id == (id << 5 | 0x0Bu) && f->size == 8u
           && get(f, 0u) == 1u && get(f, 4u) == 1u;
}

/* Return whether a frame requests a state of the axis. */
static bool asks_state(const ft_frame *f, uint32_t id, uint32_t state)
{
    return f->id == (id << 5 | 0x07u) && f->size == 8u
           && get(f, 0u) == state && get(f, 4u) == 0u;
}

/* Return whether a frame requests a state, sets the mode, or zero torque. */
static bool switches(const ft_frame *f, uint32_t id, uint32_t state)
{
    float torque;

    return asks_state(f, id, state) || sets_mode(f, id)
           || (brings_torque(f, id, &torque) && torque == 0.0f);
}

/* For any command, NaN included, the frame commands a finite torque within the
 * file's range, and is addressed to the drive of the command.
 * Run: unwind=33 floats mechanisms=can:odrive-can */
void prove_odrive_commands(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    const ft_drive_config *c = &ft_drive[i];
    ft_drive_target t;
    ft_frame f;
    float carried = nondet_float(), torque;

    ANYTHING(t);
    ANYTHING(f);
    ft_odrive_can_command(&f, c, &t, &carried);
    CLAIM(brings_torque(&f, c->id, &torque));
    CLAIM(torque * c->gear <= 1.001f * c->torque
          && torque * c->gear >= -1.001f * c->torque);
    END;
}

/* In any tick, the frame to a disabled drive requests the idle state, sets the
 * drive's mode, or commands zero torque. If clearing errors is requested, the
 * frame clears errors instead. The frame to a drive that is being enabled
 * requests closed-loop control, sets the mode, or commands zero torque.
 * Run: unwind=33 floats mechanisms=can:odrive-can */
void prove_odrive_switches(void)
{
    const uint32_t i = below(FT_BUS_DRIVES), tick = nondet_u32();
    const bool clear = nondet_bool();
    ft_frame f;

    ANYTHING(f);
    if (nondet_bool()) {
        ft_odrive_can_disable(&f, &ft_drive[i], clear);
        if (clear) {
            CLAIM(f.id == (ft_drive[i].id << 5 | 0x18u) && f.data[0] == 0u);
        } else {
            ft_odrive_can_release(&f, &ft_drive[i], tick);
            CLAIM(switches(&f, ft_drive[i].id, 1u));
        }
    } else {
        ft_odrive_can_enable(&f, &ft_drive[i]);
        ft_odrive_can_look(&f, tick, nondet_bool());
        CLAIM(switches(&f, ft_drive[i].id, 8u));
    }
    END;
}

/* Any frame, of any identifier, size and content, is processed without a
 * run-time error. A frame is accepted only if this drive has sent it. An
 * accepted position is within 2047 turns, and its velocity is not NaN. By its
 * heartbeat a drive is regarded as enabled only in closed-loop control, and as
 * faulty if any error bit is set. The version of an unknown protocol becomes a
 * value that no valid setting has.
 * Run: unwind=33 floats mechanisms=can:odrive-can */
void prove_odrive_hears(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_drive_said said;
    ft_drive_heard heard;
    ft_frame f;

    ANYTHING(f);
    ANYTHING(said);
    heard = ft_odrive_can_hear(&f, &ft_drive[i], &said);
    if (heard != FT_HEARD_NOTHING)
        CLAIM(f.id >> 5 == ft_drive[i].id && f.size == 8u);
    if (heard == FT_HEARD_STATE) {
        CLAIM((int32_t)said.position <= 2146435072
              && (int32_t)said.position >= -2146435072);
        CLAIM(said.velocity == said.velocity);
    }
    if (heard == FT_HEARD_BEAT) {
        CLAIM(said.enabled == (f.data[4] == 8u));
        CLAIM((said.error != 0u) == (get(&f, 0u) != 0u));
        CLAIM(said.error <= 32u);
    }
    if (heard == FT_HEARD_SETTING)
        CLAIM(said.value == 1u || (f.data[0] == 2u && said.value <= 0xFFFFFFu
                                   && said.value != 0u));
    END;
}

/* Every query is a remote frame to this drive.
 * Run: unwind=33 mechanisms=can:odrive-can */
void prove_odrive_asks(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_frame f;

    ANYTHING(f);
    switch (nondet_u8() % 3u) {
    case 0:
        ft_odrive_can_poll(&f, &ft_drive[i]);
        break;
    case 1:
        ft_odrive_can_ask(&f, &ft_drive[i], nondet_u32(), nondet_u32());
        break;
    default:
        ft_odrive_can_write(&f, &ft_drive[i], nondet_u32(), nondet_u32(),
                            nondet_u32());
    }
    CLAIM((f.id & FT_FRAME_REMOTE) != 0u && (f.id & FT_FRAME_LONG) == 0u);
    CLAIM((f.id & ~FT_FRAME_REMOTE) >> 5 == ft_drive[i].id && f.size == 8u);
    END;
}
