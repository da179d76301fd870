/* A half-duplex serial bus of servos, ft_sts.c, and the frames to the servos,
 * ft_feetech.c.
 *
 * Received bytes have any values. The number of received bytes is at most the
 * buffer's size. The frames of a tick are any frames. One invariant, well(),
 * holds at the start. Packing frames and processing received bytes keep the
 * invariant. */
#include "wires.h"

#ifdef PROOF_CAME

/* A replacement for memcpy. The copied bytes have any value. */
static void copied(void *to, const void *from, size_t size)
{
    CLAIM(__CPROVER_r_ok(from, size) && __CPROVER_w_ok(to, size));
    if (size != 0u)
        __CPROVER_havoc_slice(to, size);
}

#define for(...) for (__VA_ARGS__) __CPROVER_loop_invariant(i <= FT_STS_IN)
#define while(...) while (__VA_ARGS__) \
    __CPROVER_assigns(at, __CPROVER_object_whole(w)) \
    __CPROVER_loop_invariant(at <= came && w->answers <= FT_WIRE_MOST \
                             && w->read == 0u && w->servos <= FT_WIRE_MOST \
                             && (w->width <= 2u \
                                 || w->width == FT_STS_STATE_SIZE)) \
    __CPROVER_decreases(came - at)

#else

/* A replacement for memcpy that copies up to eight bytes, one by one. */
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

#endif

#define memcpy copied
#include "ft_sts.c"
#undef for
#undef while

#include "ft_feetech.c"

static ft_sts wire;

/* Return whether the bus state keeps the invariant of every tick. */
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

/* Return the size of the packet at p, or 0 if there is no complete packet. A
 * complete packet is addressed to all servos, has a correct check sum, and is
 * within the bytes that are left. */
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

/* For any frames, each packet of a tick is complete, is addressed to all
 * servos, and has the length of its parameters and a correct check sum. The
 * packet that writes registers is omitted if no frame writes the register. All
 * packets of a tick fit into the buffer. The first packet contains a duty for
 * each servo. The duty is zero unless the servo's frame contains the flag that
 * the motor runs. A servo that is being switched off is regarded as off.
 * Assumes: the packet is at the beginning of the buffer. The code is the same
 * for all positions.
 * Run: unwind=16 mechanisms=so101_sts */
void prove_sts_packets(void)
{
    ft_frame frames[FT_WIRE_MOST];
    const uint32_t duties = 8u + 3u * FT_WIRE_MOST, asks = 8u + FT_WIRE_MOST;
    uint32_t i = below(FT_WIRE_MOST);

    any_state();
    ANYTHING(frames);
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

/* For any frames, all packets of a tick together stay within the buffer.
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

/* Processing all received bytes, up to the buffer's size, terminates without a
 * run-time error and keeps the invariant.
 * Run: unwind=16 contracts slice define=PROOF_CAME mechanisms=so101_sts */
void prove_sts_came(void)
{
    const uint32_t came = nondet_u32();

    any_state();
    GIVEN(came <= FT_STS_IN);
    ft_sts_came(&wire, came);
    CLAIM(wire.answers <= FT_WIRE_MOST && wire.read == 0u);
    CLAIM(wire.servos <= FT_WIRE_MOST);
    END;
}

/* An answer is accepted only if it has the header of an answer, the length that
 * the query requires, and a correct check sum. If the received bytes do not
 * begin with the echo of the sent bytes, only answers are used.
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

/* Every answer that is returned was received. Each answer is returned once.
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

/* For any fraction of the supply voltage, NaN included, the duty exceeds the
 * file's limit by at most half a thousandth. The rounding remainder is never
 * more than 0.51 of a thousandth.
 * Run: unwind=10 floats mechanisms=so101_sts */
void prove_servo_duty(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    const float share = nondet_float();
    float carried = nondet_float();
    ft_drive_target t = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };
    uint32_t duty;
    ft_frame f;

    GIVEN(__builtin_fabsf(carried) <= 0.00051f);
    t.share = share;
    ft_feetech_command(&f, &ft_drive[i], &t, &carried);
    duty = f.data[0] | (uint32_t)f.data[1] << 8;
    CLAIM((float)(duty & 0x3FFu) <= 1000.0f * ft_drive[i].share + 0.5f);
    CLAIM(duty <= 0x7E8u && FT_STS_SERVO(f.id) == ft_drive[i].id);
    CLAIM(__builtin_fabsf(carried) <= 0.00051f);
    END;
}

/* For any answer, the position of a servo is within one turn. An answer of one
 * servo does not change the state of another servo.
 * Run: unwind=10 floats mechanisms=so101_sts */
void prove_servo_hear(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_drive_heard heard;
    ft_drive_said said;
    ft_frame f;

    ANYTHING(f);
    heard = ft_feetech_hear(&f, &ft_drive[i], &said);
    CLAIM(heard == FT_HEARD_NOTHING || FT_STS_SERVO(f.id) == ft_drive[i].id);
    CLAIM(heard != FT_HEARD_STATE || said.position < TURN);
    CLAIM(heard != FT_HEARD_SETTING || said.value <= 0xFFFFu);
    END;
}
