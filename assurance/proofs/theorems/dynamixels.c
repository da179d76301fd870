/* A half-duplex serial bus of Dynamixel X servos, ft_dxl.c, and the frames to
 * the servos, ft_dynamixel.c.
 *
 * Received bytes have any values. The number of received bytes is at most the
 * buffer's size. The frames of a tick are any frames, in any state that well()
 * allows. That packing and processing stay within their buffers is shown by
 * tests with noise, not by these proofs. */
#include "wires.h"

#include "ft_dxl.c"
#include "ft_dynamixel.c"

static ft_dxl wire;

/* Return whether the bus state keeps the invariant of every tick. */
static bool well(void)
{
    return wire.size <= FT_DXL_OUT && wire.answers <= FT_WIRE_MOST
           && wire.read <= wire.answers && wire.servos <= FT_WIRE_MOST
           && wire.asked <= wire.servos && wire.next < FT_WIRE_MOST
           && wire.width <= FT_DXL_STATE_SIZE;
}

static void any_state(void)
{
    ANYTHING(wire);
    GIVEN(well());
}

/* In every tick, for any frames, each servo of this type gets one goal. The
 * goal is zero unless the servo's frame contains the flag that the motor runs.
 * Assumes: the packet is at the beginning of the buffer. The code is the same
 * for all positions. No byte is stuffed, because no servo has the number 253.
 * Run: unwind=20 mechanisms=aloha_like */
void prove_dxl_goals(void)
{
    ft_frame frames[FT_WIRE_MOST];
    const uint32_t i = below(FT_WIRE_MOST);

    any_state();
    ANYTHING(frames);
    GIVEN(wire.servo[0].id < 253u && wire.servo[1].id < 253u);
    GIVEN(frames[0].data[4] == 102u && frames[1].data[4] == 102u);
    wire.size = 0;
    pack_goals(&wire, frames, FT_WIRE_MOST, FT_DXL_CURRENT);
    CLAIM(wire.size == 14u + 3u * FT_WIRE_MOST && wire.out[8] == 102u);
    CLAIM(wire.out[12u + 3u * i] == wire.servo[i].id);
    CLAIM((frames[i].id & 0x100u) != 0u
          || (wire.out[13u + 3u * i] == 0u && wire.out[14u + 3u * i] == 0u));
    END;
}

/* Received bytes are used only if they begin with the echo of the sent bytes,
 * or if they contain only answers.
 * Run: unwind=20 mechanisms=aloha_like */
void prove_dxl_behind(void)
{
    const uint32_t came = nondet_u32();
    const uint32_t echoes = (any_state(), wire.echoes);
    uint32_t from;

    GIVEN(came <= FT_DXL_IN);
    from = behind(&wire, came);
    CLAIM(from <= came && well());
    CLAIM(from == wire.size || from == 0u
          || wire.echoes == (uint16_t)(echoes + 1u));
    END;
}

/* Return the number of servos that may still answer. */
static uint32_t outstanding(void)
{
    uint32_t i, count = 0;

    for (i = 0; i < wire.servos; i++)
        count += wire.servo[i].asked ? 1u : 0u;
    return count;
}

/* For any bytes, an answer is stored only if the board has queried this servo,
 * and only once. There is space for all outstanding answers.
 * Run: unwind=20 mechanisms=aloha_like */
void prove_dxl_keep(void)
{
    const uint32_t id = nondet_u32() & 255u;
    uint8_t data[FT_DXL_STATE_SIZE];
    uint32_t before, answers;

    any_state();
    ANYTHING(data);
    before = outstanding();
    answers = wire.answers;
    GIVEN(answers + before <= wire.servos);
    keep(&wire, id, nondet_u32() & 255u, data);
    CLAIM(well() && wire.answers + outstanding() == answers + before);
    CLAIM(wire.answers == answers
          || (wire.answers == answers + 1u
              && FT_DXL_SERVO(wire.answer[answers].id) == id));
    END;
}

/* Every answer that is returned was received. Each answer is returned once.
 * Run: unwind=20 mechanisms=aloha_like */
void prove_dxl_next(void)
{
    const uint32_t left = (any_state(), wire.answers - wire.read);
    ft_frame f;

    CLAIM(ft_dxl_next(&wire, &f) == (left != 0u));
    CLAIM(well() && wire.answers - wire.read == (left != 0u ? left - 1u : 0u));
    END;
}

/* For any torque, damping and velocity, NaN included, the current exceeds the
 * file's limit by at most half a step. The rounding remainder is never more
 * than 0.51 of a step.
 * Run: unwind=10 floats mechanisms=aloha_like */
void prove_dxl_current(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    float carried = nondet_float();
    ft_drive_target t = { nondet_float(), nondet_float(), nondet_float(),
                          nondet_float(), nondet_float(), nondet_float(),
                          nondet_float(), nondet_float(), nondet_float() };
    int32_t steps;
    ft_frame f;

    GIVEN(__builtin_fabsf(carried) <= 0.51f);
    ft_dynamixel_command(&f, &ft_drive[i], &t, &carried);
    steps = (int16_t)(f.data[0] | (uint32_t)f.data[1] << 8);
    CLAIM((float)steps <= ft_drive[i].share + 0.5f
          && (float)steps >= -ft_drive[i].share - 0.5f);
    CLAIM(FT_DXL_SERVO(f.id) == ft_drive[i].id && f.data[4] == 102u);
    CLAIM(__builtin_fabsf(carried) <= 0.51f);
    END;
}

/* For any answer, the position of a servo is within one turn. An answer of one
 * servo does not change the state of another servo.
 * Run: unwind=10 floats mechanisms=aloha_like */
void prove_dxl_hear(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_drive_heard heard;
    ft_drive_said said;
    ft_frame f;

    ANYTHING(f);
    heard = ft_dynamixel_hear(&f, &ft_drive[i], &said);
    CLAIM(heard == FT_HEARD_NOTHING || FT_DXL_SERVO(f.id) == ft_drive[i].id);
    CLAIM(heard != FT_HEARD_STATE || said.position < TURN);
    END;
}
