/* The port to the host, wire/ft_port.c: received and sent frames.
 *
 * The decoder and the check sum are stubs that return any value of the correct
 * size, so a frame has any content. Bytes arrive one at a time. Between two
 * bytes only the state is stored, and the proof assumes any state. */
#include "proof.h"

#define FT_DIGEST_H /* the tag of any image */
#define FT_TAG tag
#define FT_PIL 0
static uint16_t tag;

#include "ft_config.c"
#include "ft_messages.c"
#include "ft_port.c"

static ft_safety safety;
static ft_control control;
static ft_time time_;
static ft_sensors sensors;
#if FT_BUS_DRIVES > 0
static ft_bus bus;
static const ft_port_ends ends = { &safety, &control, &time_, &sensors, &bus };
#else
static const ft_port_ends ends = { &safety, &control, &time_, &sensors };
#endif

/* ---- neighbours --------------------------------------------------------- */

static uint32_t took, takes, sent, statuses, looked;
static bool room; /* the chip has space for a message */

size_t ft_chip_receive(uint8_t *bytes, size_t most)
{
    CLAIM(most >= 1u && __CPROVER_w_ok(bytes, most));
    bytes[0] = nondet_u8();
    return 1u;
}

bool ft_chip_send(const uint8_t *bytes, size_t size)
{
    CLAIM(size <= FT_FRAME_TX_STUFFED_MAX && __CPROVER_r_ok(bytes, size));
    sent++;
    return room;
}

void ft_chip_drivers_look(bool all)
{
    looked++;
}

size_t ft_cobs_decode(uint8_t *bytes, size_t size)
{
    const size_t n = nondet_size();

    CLAIM(__CPROVER_w_ok(bytes, size));
    GIVEN(n <= size || n == FT_COBS_BAD);
    ANYTHING(rx.bytes);
    return n;
}

size_t ft_cobs_encode(const uint8_t *bytes, size_t size, uint8_t *out)
{
    const size_t n = nondet_size();

    CLAIM(size <= FT_FRAME_TX_MAX && __CPROVER_r_ok(bytes, size));
    CLAIM(__CPROVER_w_ok(out, FT_FRAME_TX_STUFFED_MAX));
    GIVEN(n <= size + size / 254u + 2u && n <= FT_FRAME_TX_STUFFED_MAX);
    statuses += bytes[0] == FT_MSG_STATUS ? 1u : 0u;
    return n;
}

uint32_t ft_crc32(const void *bytes, size_t size)
{
    CLAIM(__CPROVER_r_ok(bytes, size));
    return nondet_u32();
}

bool ft_knots_take(ft_queue *q, const ft_msg_knot *m,
                   const int32_t coarse[FT_JOINTS], ft_alarms *alarms)
{
    CLAIM(q == &control.motion.queue && alarms == &safety.alarms);
    CLAIM(coarse == control.seen.coarse && m != 0);
    CLAIM(ft_safety_takes_knots(&safety));
    takes++;
    took = nondet_bool() ? 1u : 0u;
    return took != 0u;
}

static bool wants_knots;

bool ft_safety_takes_knots(const ft_safety *s)
{
    return wants_knots;
}

void ft_queue_idle(ft_queue *q) { }
void ft_motion_prepare(ft_motion *m) { }
void ft_capture_start(const ft_msg_capture *m) { }
void ft_capture_read(uint32_t first, ft_msg_data *m)
{
    ANYTHING(*m);
}

uint32_t ft_law_take_limits(ft_law *l)
{
    return nondet_u32();
}

void ft_report_ident(ft_msg_ident *m) { ANYTHING(*m); }
void ft_report_about(ft_msg_about *m, const uint8_t latched[FT_FAULT_NUMBERS],
                     uint32_t tick)
{
    CLAIM(latched == safety.latched);
    ANYTHING(*m);
}

void ft_report_status(ft_msg_status *m, const ft_time *time,
                      const ft_sensors *from, const ft_safety *s,
                      const ft_control *c)
{
    CLAIM(from == &sensors && s == &safety && c == &control);
    ANYTHING(*m);
    m->tick = time->tick - 1u;
}

void ft_report_followed(ft_msg_followed *m, const ft_follow *f, uint32_t tick)
{
    CLAIM(f == &control.follow);
    ANYTHING(*m);
    m->tick = tick;
}

uint8_t ft_follow_take_limits(ft_follow *f, uint32_t joint)
{
    CLAIM(joint < FT_JOINTS);
    return nondet_u8();
}

void ft_follow_take(ft_follow *f, const ft_msg_target *m)
{
    CLAIM(safety.state == FT_STATE_FOLLOW);
}

#if FT_BUS_DRIVES > 0
void ft_report_drives(ft_msg_drives *m, const ft_bus *b, uint32_t tick)
{
    CLAIM(b == &bus);
    ANYTHING(*m);
    m->tick = tick;
}
#endif

/* ---- any state ---------------------------------------------------------- */

static bool well(void)
{
    return rx.size <= sizeof rx.bytes;
}

static void any_state(void)
{
    ANYTHING(rx);
    ANYTHING(safety);
    ANYTHING(control);
    ANYTHING(time_);
    tag = nondet_u16();
    room = nondet_bool();
    wants_knots = nondet_bool();
    GIVEN(well());
}

/* A call of the port sends all due messages, at most five, and accesses no
 * memory outside its buffers. A message for which the chip has no space remains
 * due.
 * Run: unwind=70 */
void prove_port_send(void)
{
    bool ident;

    any_state();
    ident = rx.ident_due;
    send_due(&ends);
    CLAIM(well() && sent <= 5u);
    CLAIM(room ? !rx.ident_due : !ident || rx.ident_due);
    END;
}

/* A knot is examined only if its number is the expected number. The expected
 * number rises only when a knot is accepted. The theorem holds for any number,
 * including the wrap from 65535 to 0. A knot with a later number, up to half of
 * all numbers ahead, is counted as out of order. A repeated knot is not
 * counted.
 * Run: unwind=10 */
void prove_port_sequence(void)
{
    const uint16_t seq = nondet_u16();
    uint8_t payload[FT_MSG_KNOT_SIZE];
    uint16_t wanted, lost, beyond;

    any_state();
    ANYTHING(payload);
    wanted = rx.wanted;
    lost = rx.out_of_order;
    takes = took = 0;
    on_knot(&ends, seq, payload);
    beyond = (uint16_t)(seq - wanted);
    CLAIM(takes == (beyond == 0u && wants_knots ? 1u : 0u));
    CLAIM(rx.wanted == (uint16_t)(wanted + took));
    CLAIM(rx.out_of_order
          == (uint16_t)(lost + (took == 0u && beyond < 0x8000u ? 1u : 0u)));
    END;
}

/* A request of the host is passed to the tick only if its token is new and no
 * other request is pending. Then exactly this request is passed. State, fault,
 * flags, source, silence and token do not change.
 * Run: unwind=10 */
void prove_port_request(void)
{
    uint8_t payload[FT_FRAME_RX_MAX];
    const uint8_t type = nondet_u8();
    ft_safety before;

    any_state();
    ANYTHING(payload);
    before = safety;
    request(&ends, type, payload);
    CLAIM(safety.state == before.state && safety.fault == before.fault
          && safety.flags == before.flags && safety.source == before.source
          && safety.silent == before.silent && safety.token == before.token);
    CLAIM(!before.request.posted || safety.request.posted);
    CLAIM(before.request.posted || !safety.request.posted
          || (safety.request.token == payload[0]
              && safety.request.token != before.token
              && safety.request.event <= FT_EVENT_FOLLOW));
    CLAIM(!before.request.posted
          || (safety.request.token == before.request.token
              && safety.request.event == before.request.event));
    END;
}

/* The host's silence ends only by a correct frame with the tag of this image,
 * or by a HELLO. A frame with an incorrect check sum, type, length or tag is
 * counted, and transfers neither a knot nor a request.
 * Run: unwind=70 seconds=600 */
void prove_port_heard(void)
{
    const size_t size = nondet_size();
    uint32_t silent, bad, other;
    ft_safety before;

    any_state();
    GIVEN(size <= sizeof rx.bytes);
    silent = safety.silent = nondet_u32();
    GIVEN(silent != 0u);
    bad = rx.bad_frames;
    other = rx.wrong_tag;
    before = safety;
    takes = 0;
    take_frame(&ends, rx.bytes, size);
    CLAIM(safety.silent == 0u || safety.silent == silent);
    CLAIM(safety.silent != 0u || rx.bytes[0] == FT_MSG_HELLO
          || ft_msg_get_u16(rx.bytes + 3) == FT_TAG);
    CLAIM(rx.bad_frames == (uint16_t)bad
          || (safety.silent == silent && takes == 0u
              && safety.request.posted == before.request.posted));
    CLAIM(rx.wrong_tag == (uint16_t)other
          || (safety.silent == silent && takes == 0u
              && safety.request.posted == before.request.posted));
    END;
}

/* STATUS is sent when STATUS_TICKS have passed since the last STATUS, and not
 * earlier, for any value of the tick counter.
 * Assumes: less than 2^32 ticks between two calls.
 * Run: unwind=70 */
void prove_port_status(void)
{
    uint32_t since;

    any_state();
    rx.ident_due = rx.about_due = rx.data_due = false;
    since = time_.tick - rx.status_at;
    statuses = 0;
    room = true;
    send_due(&ends);
    CLAIM(statuses == (since >= STATUS_TICKS ? 1u : 0u));
    CLAIM(statuses == 0u || rx.status_at == time_.tick);
    END;
}

/* A cycle of the main loop processes received bytes and sends due messages, and
 * accesses no memory outside its buffers. The start and every cycle keep the
 * invariant of these theorems. After the start no message is due.
 * Run: unwind=70 mechanisms=three_link,drives */
void prove_port_round(void)
{
    any_state();
    if (nondet_bool()) {
        ft_port_start();
        CLAIM(rx.size == 0u && !rx.ident_due && !rx.about_due && !rx.data_due);
        CLAIM(rx.wanted == 0u);
    } else {
        ft_port_idle(&ends);
    }
    CLAIM(well());
    END;
}

#if FT_BUS_DRIVES > 0

/* DRIVES is sent when DRIVES_TICKS have passed since the last DRIVES, and not
 * earlier, for any value of the tick counter. If the chip has no space, DRIVES
 * remains due.
 * Assumes: less than 2^32 ticks between two calls.
 * Run: unwind=70 mechanisms=drives */
void prove_port_drives(void)
{
    uint32_t since, at;

    any_state();
    since = time_.tick - rx.drives_at;
    at = rx.drives_at;
    sent = 0;
    send_drives(&ends);
    CLAIM(sent == (since >= DRIVES_TICKS ? 1u : 0u));
    CLAIM(rx.drives_at == (sent != 0u && room ? time_.tick : at));
    END;
}

#endif
