/* Frames of moteus controllers: ft_moteus.c of the family's folder. */
#include "proof.h"

#include "ft_config.c"
#include "ft_moteus.c"

/* Return a signed number of four bytes in a frame. */
static int32_t whole(const ft_frame *f, uint32_t at)
{
    return (int32_t)get(f, at, 4u);
}

static int32_t half(const ft_frame *f, uint32_t at)
{
    return (int16_t)get(f, at, 2u);
}

/* Return whether a frame is addressed to this drive and requests an answer. */
static bool goes_to(const ft_frame *f, const ft_drive_config *c)
{
    return f->id == (FT_FRAME_LONG | 0x8000u | 0x77u << 8 | c->id);
}

/* For any command and rounding remainder, NaN included, the frame is addressed
 * to the drive of the command. The frame has position mode, a watchdog timeout,
 * and disables the drive's trajectory planner. Position, torque and gains are
 * within the file's ranges, up to one step. The torque limit is at least the
 * file's limit. If kp is zero, the frame contains no position. The rounding
 * remainder that is carried on is at most one step.
 * Run: unwind=33 floats mechanisms=can:moteus */
void prove_moteus_commands(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    const ft_drive_config *c = &ft_drive[i];
    ft_drive_target t;
    ft_frame f;
    float carried = nondet_float();

    ANYTHING(t);
    ANYTHING(f);
    ft_moteus_command(&f, c, &t, &carried);
    CLAIM(goes_to(&f, c) && f.size == 32u);
    CLAIM(f.data[0] == 0x01u && f.data[1] == 0x00u && f.data[2] == 10u);
    CLAIM(f.data[3] == 0x09u && f.data[4] == 0x20u);
    CLAIM(t.kp > 0.0f || whole(&f, 5u) == INT32_MIN);
    CLAIM(whole(&f, 5u) == INT32_MIN
          || ((float)whole(&f, 5u) <= c->position / c->step + 1.0f
              && (float)whole(&f, 5u) >= -c->position / c->step - 1.0f));
    CLAIM(f.data[9] == 0x06u && f.data[10] == 0x21u);
    CLAIM(half(&f, 11u) > INT16_MIN && half(&f, 13u) > INT16_MIN);
    CLAIM((float)half(&f, 13u) * 0.01f * c->gear <= 1.001f * c->torque
          && (float)half(&f, 13u) * 0.01f * c->gear >= -1.001f * c->torque);
    CLAIM(f.data[15] == 0x00u && f.data[16] == 7u && f.data[17] == 0x23u);
    CLAIM(f.data[18] <= 127u && f.data[19] <= 127u);
    CLAIM(f.data[20] == 0x80u
          || (float)f.data[20] * 0.5f * c->gear >= 0.999f * c->torque);
    CLAIM(f.data[21] == 0x80u && f.data[22] > 0u && f.data[22] < 0x80u);
    CLAIM(f.data[23] == 0xFFu && f.data[24] == 0xFFu);
    CLAIM(__builtin_fabsf(carried) <= 1.001f * 0.01f * c->gear);
    END;
}

/* A frame that disables a drive stops the drive, with or without clearing
 * errors. A frame that enables a drive commands neither torque nor gains.
 * Run: unwind=33 floats mechanisms=can:moteus */
void prove_moteus_switches(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_frame f;

    ANYTHING(f);
    if (nondet_bool()) {
        ft_moteus_disable(&f, &ft_drive[i], nondet_bool());
        CLAIM(f.size == 12u && f.data[0] == 0x01u && f.data[1] == 0x00u
              && f.data[2] == 0u);
    } else {
        ft_moteus_enable(&f, &ft_drive[i]);
        CLAIM(f.size == 32u && half(&f, 13u) == 0 && f.data[18] == 0u
              && f.data[19] == 0u);
    }
    CLAIM(goes_to(&f, &ft_drive[i]));
    END;
}

/* Any frame, of any identifier, size and content, is processed without a
 * run-time error. A frame is accepted only if it comes from this drive and is
 * addressed to the board. The drive is regarded as enabled only in position
 * mode. The drive is regarded as faulty if it reports a fault or a timeout. A
 * setting that the drive cannot report gets a value that no valid setting has.
 * Run: unwind=33 mechanisms=can:moteus */
void prove_moteus_hears(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_drive_said said;
    ft_drive_heard heard;
    ft_frame f;

    ANYTHING(f);
    ANYTHING(said);
    heard = ft_moteus_hear(&f, &ft_drive[i], &said);
    CLAIM(heard == FT_HEARD_NOTHING || heard == FT_HEARD_STATE
          || heard == FT_HEARD_SETTING);
    if (heard != FT_HEARD_NOTHING)
        CLAIM((f.id & 0x7FFFFFFFu) == (ft_drive[i].id << 8 | 0x77u));
    if (heard == FT_HEARD_STATE) {
        CLAIM(f.size == 16u && said.position != 0x80000000u);
        CLAIM(said.enabled == (f.data[2] == 10u));
        CLAIM((said.error != 0u) == (f.data[2] == 1u || f.data[2] == 11u));
        CLAIM(said.warmth < 0x80u);
    }
    if (heard == FT_HEARD_SETTING) {
        CLAIM(f.size >= 3u && f.size <= 7u);
        CLAIM(f.data[0] != 0x31u || said.value == UINT32_MAX);
    }
    END;
}

/* For any register that is read or written, the frame is addressed to this
 * drive and has a length that CAN FD permits.
 * Run: unwind=33 mechanisms=can:moteus */
void prove_moteus_registers(void)
{
    const uint32_t i = below(FT_BUS_DRIVES), size = nondet_u32();
    ft_frame f;

    GIVEN(size == 1u || size == 2u || size == 4u);
    ANYTHING(f);
    if (nondet_bool())
        ft_moteus_ask(&f, &ft_drive[i], nondet_u32(), size);
    else
        ft_moteus_write(&f, &ft_drive[i], nondet_u32(), size, nondet_u32());
    CLAIM(goes_to(&f, &ft_drive[i]) && f.size >= 2u && f.size <= 7u);
    END;
}
