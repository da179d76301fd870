/* A wire of servos, ft_sts.c, and the frames to them, ft_feetech.c.
 *
 * Received bytes are any, as many as the buffer holds; frames of a tick are any
 * frames. One invariant, well(), holds at the start, and is kept by packing and
 * by taking in. A wire has 2 servos here: their number is used for nothing but
 * as a bound of loops, and in the sizes of the buffers, to which each adds what
 * its own bytes take. */
#include "proof.h"

#include <string.h>

#include "ft_config.h"
#undef FT_WIRE_MOST
#define FT_WIRE_MOST 2u

#include "ft_config.c"

/* In place of memcmp: the sent bytes came back or not. */
static int compared(const void *a, const void *b, size_t size)
{
    CLAIM(__CPROVER_r_ok(a, size) && __CPROVER_r_ok(b, size));
    return nondet_bool() ? 1 : 0;
}

#define memcmp compared

/* In place of memcpy: of up to eight bytes, one by one. */
static void copied(void *to, const void *from, size_t size)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    uint32_t i;

    CLAIM(size <= 8u && __CPROVER_r_ok(from, size)
          && __CPROVER_w_ok(to, size));
    for (i = 0; i < 8u; i++)
        if (i < size)
            t[i] = f[i];
}

#define memcpy copied

#include "ft_sts.c"

#include "ft_feetech.c"

static ft_sts wire;

/* Return whether a wire is as every tick leaves it. */
static bool well(void)
{
    return wire.size <= FT_STS_OUT && wire.answers <= FT_WIRE_MOST
           && wire.read <= wire.answers && wire.servos <= FT_WIRE_MOST
           && (wire.width <= 2u || wire.width == FT_STS_STATE_SIZE);
}

static void any_state(void)
{
    ANYTHING(wire);
    GIVEN(well());
}

/* ---- out ---------------------------------------------------------------- */

/* Return the bytes of the packet at p: a whole one to all servos, with its
 * check sum, within what is left; else none. */
static uint32_t whole(const uint8_t *p, uint32_t left)
{
    uint32_t size, sum = 0, i;

    if (left < 6u || p[0] != 0xFFu || p[1] != 0xFFu || p[2] != 0xFEu)
        return 0;
    size = 4u + p[3];
    if (size > left)
        return 0;
    for (i = 2; i < size; i++)
        sum += p[i];
    return (sum & 0xFFu) == 0xFFu ? size : 0u;
}

/* Each packet of a tick, whatever the frames say: it is a whole packet to all
 * servos, as long as its parameters need, with its check sum; the one that sets
 * registers is left out if no frame sets the register that is asked for. All
 * that a tick may send fits into its buffer. The first packet gives each servo
 * a duty, which is zero unless the servo's frame says that it runs; a servo
 * that is switched off counts as off.
 * Assumes: a packet is formed at the buffer's beginning: elsewhere it is the
 * same.
 * Run: unwind=16 mechanisms=so101_sts */
void prove_sts_packets(void)
{
    ft_frame frames[FT_WIRE_MOST];
    const uint32_t duties = 8u + 3u * FT_WIRE_MOST, asks = 8u + FT_WIRE_MOST;
    uint32_t i = nondet_u32();

    any_state();
    ANYTHING(frames);
    GIVEN(i < FT_WIRE_MOST);
    wire.size = 0;
    switch (nondet_u8() % 4u) {
    case 0:
        pack_duties(&wire, frames, FT_WIRE_MOST);
        CLAIM(wire.size == duties && wire.out[5] == 44u && wire.out[6] == 2u);
        CLAIM(wire.out[7u + 3u * i] == (frames[i].id & 0xFFu));
        CLAIM((frames[i].id & 0x100u) != 0u
              || (wire.out[8u + 3u * i] == 0u && wire.out[9u + 3u * i] == 0u));
        break;
    case 1:
        pack_switches(&wire, frames, FT_WIRE_MOST);
        CLAIM(wire.size >= 8u && wire.size <= 8u + 2u * FT_WIRE_MOST);
        CLAIM(!wire.on[i] || (frames[i].id & 0x300u) != 0x200u);
        break;
    case 2:
        choose(&wire, frames, FT_WIRE_MOST, nondet_bool());
        pack_settings(&wire, frames, FT_WIRE_MOST);
        CLAIM(wire.size <= duties);
        break;
    default:
        choose(&wire, frames, FT_WIRE_MOST, nondet_bool());
        pack_question(&wire, frames, FT_WIRE_MOST);
        CLAIM(wire.size == asks);
    }
    CLAIM(well() && 2u * duties + asks <= FT_STS_OUT);
    CLAIM(wire.size == 0u || whole(wire.out, FT_STS_OUT) == wire.size);
    END;
}

/* All packets of a tick, one after another, whatever the frames say: they keep
 * to the buffer, and nothing is asked in a quiet tick.
 * Run: unwind=16 mechanisms=so101_sts */
void prove_sts_pack(void)
{
    ft_frame frames[FT_WIRE_MOST];

    any_state();
    ANYTHING(frames);
    ft_sts_pack(&wire, frames, nondet_bool() ? FT_WIRE_MOST : 0u);
    CLAIM(well());
    END;
}

/* ---- in ----------------------------------------------------------------- */

/* Whatever bytes came, as many as the buffer holds, and wherever among them:
 * what begins there is taken in without a run-time error, is a byte at least,
 * and no more than are left; it is one answer at most, and the invariant is
 * kept. So all of them are taken in, within as many steps as there are bytes.
 * Run: unwind=16 mechanisms=so101_sts */
void prove_sts_take(void)
{
    const uint32_t at = nondet_u32(), came = nondet_u32();
    uint32_t before, size;

    any_state();
    GIVEN(at < came && came <= FT_STS_IN && wire.answers < FT_WIRE_MOST);
    before = wire.answers;
    size = take(&wire, at, came);
    CLAIM(size >= 1u && size <= came - at);
    CLAIM(well() && wire.answers - before == (size > 1u ? 1u : 0u));
    END;
}

/* One answer is taken for such only if it begins as one, is as long as what was
 * asked for, and has its check sum; and where more came than was sent, or less,
 * and it is not what was sent that came first, nothing is believed but answers
 * alone.
 * Run: unwind=16 mechanisms=so101_sts */
void prove_sts_packet(void)
{
    const uint32_t at = nondet_u32(), came = nondet_u32();
    const uint32_t echoes = (any_state(), wire.echoes);
    uint32_t size, from;

    GIVEN(at <= came && came <= FT_STS_IN);
    from = behind(&wire, came);
    CLAIM(from <= came);
    CLAIM(from == wire.size || from == came || wire.in[2] < 0xFEu);
    CLAIM(from == wire.size || from == 0u
          || wire.echoes == (uint16_t)(echoes + 1u));
    size = packet(&wire, wire.in + at, came - at);
    CLAIM(size == 0u
          || (size == 6u + wire.width && size <= came - at
              && wire.in[at] == 0xFFu && wire.in[at + 1u] == 0xFFu
              && wire.in[at + 2u] < 0xFEu
              && wire.in[at + 3u] == wire.width + 2u));
    END;
}

/* Every answer that is taken out has come; each is taken once, and no more than
 * came.
 * Run: unwind=16 mechanisms=so101_sts */
void prove_sts_next(void)
{
    const uint32_t left = (any_state(), wire.answers - wire.read);
    ft_frame f;

    CLAIM(ft_sts_next(&wire, &f) == (left != 0u));
    CLAIM(well() && wire.answers - wire.read == (left != 0u ? left - 1u : 0u));
    END;
}

/* ---- servos ------------------------------------------------------------- */

/* Whatever share of the supply is asked for, a number or not: the duty is no
 * larger than the file allows, a thousandth at most beside it by rounding, and
 * what rounding leaves over is never more than 0.51 of a thousandth.
 * Run: unwind=10 floats mechanisms=so101_sts */
void prove_servo_duty(void)
{
    const uint32_t i = nondet_u32();
    const float share = nondet_float();
    float carried = nondet_float();
    ft_drive_target t = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };
    uint32_t duty;
    ft_frame f;

    GIVEN(i < FT_BUS_DRIVES && __builtin_fabsf(carried) <= 0.00051f);
    t.share = share;
    ft_feetech_command(&f, &ft_drive[i], &t, &carried);
    duty = f.data[0] | (uint32_t)f.data[1] << 8;
    CLAIM((float)(duty & 0x3FFu) <= 1000.0f * ft_drive[i].share + 0.5f);
    CLAIM(duty <= 0x7E8u && FT_STS_SERVO(f.id) == ft_drive[i].id);
    CLAIM(__builtin_fabsf(carried) <= 0.00051f);
    END;
}

/* Whatever an answer says: a servo's position is within its turn, and nothing
 * is taken from what another servo has said.
 * Run: unwind=10 floats mechanisms=so101_sts */
void prove_servo_hear(void)
{
    const uint32_t i = nondet_u32();
    ft_drive_heard heard;
    ft_drive_said said;
    ft_frame f;

    ANYTHING(f);
    GIVEN(i < FT_BUS_DRIVES);
    heard = ft_feetech_hear(&f, &ft_drive[i], &said);
    CLAIM(heard == FT_HEARD_NOTHING || FT_STS_SERVO(f.id) == ft_drive[i].id);
    CLAIM(heard != FT_HEARD_STATE || said.position < TURN);
    CLAIM(heard != FT_HEARD_SETTING || said.value <= 0xFFFFu);
    END;
}
