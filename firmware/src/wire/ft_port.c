/* Frames: COBS, CRC-32, tag, sequence; see ft_port.h and ft_messages.h.
 *
 * Knots are accepted strictly in order (go-back-N). `wanted` is the number of
 * the next knot, which STATUS reports. A command is executed once for each new
 * token. */
#include "ft_port.h"

#include "ft_chip.h"     /* ft_chip_receive, ft_chip_send, ft_pil_sense */
#include "ft_cobs.h"     /* ft_cobs_decode, ft_cobs_encode */
#include "ft_crc.h"      /* ft_crc32 */
#include "ft_digest.h"   /* FT_TAG, FT_PIL */
#include "ft_messages.h" /* frames and messages */

#include <string.h> /* memcpy */

#define CHUNK 64 /* bytes read from the chip at a time */
#define CHUNKS 16 /* at most in one round */
#define STATUS_TICKS ((FT_TICK_HZ + FT_STATUS_HZ - 1) / FT_STATUS_HZ)
#define FOLLOWED_TICKS (5u * (uint32_t)STATUS_TICKS)
#define FELT_TICKS (2u * (uint32_t)STATUS_TICKS)
#define DRIVES_TICKS (10u * (uint32_t)STATUS_TICKS)

static struct {
    uint8_t bytes[FT_FRAME_RX_STUFFED_MAX]; /* bytes of the incoming frame */
    size_t size;
    bool too_long;
    uint16_t wanted; /* sequence number of the next knot */
    uint32_t frames;
    uint16_t bad_frames, wrong_tag, out_of_order;
    bool ident_due, about_due, drive_due, data_due;
    uint16_t read_first; /* first sample of the next DATA */
    uint32_t status_at; /* tick of the last STATUS */
    uint32_t followed_at; /* tick of the last FOLLOWED */
    FT_IF(FT_DRIVES, uint32_t drives_at;) /* tick of the last DRIVES */
} rx;

/* ---- out -------------------------------------------------------------- */

static uint8_t outgoing[FT_FRAME_TX_MAX]; /* the frame that goes out */

/* Send the frame of one message. The message's payload is already in the frame.
 * Return false if the chip has no room for the frame now. */
static bool send(uint8_t type, size_t payload)
{
    static uint8_t stuffed[FT_FRAME_TX_STUFFED_MAX];
    size_t size = FT_FRAME_HEADER + payload;
    uint8_t *frame = outgoing;

    FT_ONE_ADDRESS(frame);
    ft_msg_put_u8(frame, type);
    ft_msg_put_u16(frame + 1, 0);
    ft_msg_put_u16(frame + 3, FT_TAG);
    ft_msg_put_u32(frame + size, ft_crc32(frame, size));
    return ft_chip_send(stuffed, ft_cobs_encode(frame, size + FT_FRAME_CRC,
                                                stuffed));
}

/* Answer a HELLO with IDENT. */
static void send_ident(void)
{
    ft_msg_ident m;

    ft_report_ident(&m);
    ft_msg_ident_pack(&m, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_IDENT, FT_MSG_IDENT_SIZE))
        rx.ident_due = false;
}

/* Answer a HELLO with ABOUT, after IDENT. */
static void send_about(const ft_port_ends *to)
{
    ft_msg_about m;

    ft_report_about(&m, to->safety->latched, to->time->tick);
    ft_msg_about_pack(&m, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_ABOUT, FT_MSG_ABOUT_SIZE))
        rx.about_due = false;
}

/* Copy the port's counts. */
static void copy_port(ft_msg_status *s)
{
    s->ack = rx.wanted;
    s->frames = rx.frames;
    s->bad_frames = rx.bad_frames;
    s->wrong_tag = rx.wrong_tag;
    s->out_of_order = rx.out_of_order;
}

/* Report the state. */
static void send_status(const ft_port_ends *to)
{
    static ft_msg_status s;

    ft_report_status(&s, to->time, to->sensors, to->safety, to->control);
    s.limits = (uint16_t)ft_law_take_limits(&to->control->law);
    copy_port(&s);
    ft_msg_status_pack(&s, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_STATUS, FT_MSG_STATUS_SIZE))
        rx.status_at = s.tick + 1u; /* that tick is over */
}

/* Report how the joints follow targets, with every fifth STATUS. */
static void send_followed(const ft_port_ends *to)
{
    static ft_msg_followed m;
    uint32_t j;

    if (to->safety->state != FT_STATE_FOLLOW
        || to->time->tick - rx.followed_at < FOLLOWED_TICKS)
        return;
    ft_report_followed(&m, &to->control->follow, to->time->tick);
    for (j = 0; j < FT_JOINTS; j++)
        m.limits[j] = ft_follow_take_limits(&to->control->follow, j);
    ft_msg_followed_pack(&m, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_FOLLOWED, FT_MSG_FOLLOWED_SIZE))
        rx.followed_at = m.tick;
}

/* Report external torques and contacts, with every second STATUS. */
static void send_felt(const ft_port_ends *to)
{
    static ft_msg_felt m;
    static uint32_t last; /* tick of the last FELT */

    if (to->time->tick - last < FELT_TICKS)
        return;
    ft_report_felt(&m, ft_control_contact(to->control), to->time->tick);
    ft_msg_felt_pack(&m, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_FELT, FT_MSG_FELT_SIZE))
        last = m.tick;
}

#if FT_DRIVES

/* Report the drives, with every tenth STATUS. */
static void send_drives(const ft_port_ends *to)
{
    static ft_msg_drives m;

    if (to->time->tick - rx.drives_at < DRIVES_TICKS)
        return;
    ft_report_drives(&m, to->bus, to->time->tick);
    ft_msg_drives_pack(&m, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_DRIVES, FT_MSG_DRIVES_SIZE))
        rx.drives_at = m.tick;
}

#else

static inline void send_drives(const ft_port_ends *to)
{
    (void)to;
}

#endif

/* Answer a READ. */
static void send_data(void)
{
    static ft_msg_data m;

    ft_capture_read(rx.read_first, &m);
    ft_msg_data_pack(&m, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_DATA, FT_MSG_DATA_SIZE))
        rx.data_due = false;
}

/* ---- plant simulated by the host ---------------------------------------- */

#if FT_PIL

/* Answer a SENSE. */
static void send_drive(uint32_t tick)
{
    ft_msg_drive m;

    if (!rx.drive_due)
        return;
    m.tick = tick - 1u;
    m.outputs = ft_pil_driven(m.duty);
    ft_msg_drive_pack(&m, outgoing + FT_FRAME_HEADER);
    if (send(FT_MSG_DRIVE, FT_MSG_DRIVE_SIZE))
        rx.drive_due = false;
}

/* Run the tick to which these counts belong. In any case report the result of
 * the last tick, STATUS first. */
static void on_sense(uint32_t tick, const uint8_t *payload)
{
    ft_msg_sense m;

    ft_msg_sense_unpack(payload, &m);
    ft_pil_sense(m.counts, m.tick == tick);
    rx.status_at = tick - STATUS_TICKS;
    rx.drive_due = true;
}

/* Stop waiting for the plant of the last host. */
static void forget_plant(void)
{
    ft_pil_forget();
}

#else

static inline void send_drive(uint32_t tick)
{
    (void)tick;
}

static inline void on_sense(uint32_t tick, const uint8_t *payload)
{
    (void)tick;
    (void)payload;
}

static inline void forget_plant(void)
{
}

#endif

/* ---- messages that are due ---------------------------------------------- */

/* Send the messages that are due. */
static void send_due(const ft_port_ends *to)
{
    if (rx.ident_due)
        send_ident();
    if (!rx.ident_due && rx.about_due)
        send_about(to);
    if (to->time->tick - rx.status_at >= STATUS_TICKS)
        send_status(to);
    send_followed(to);
    if (FT_CONTACT)
        send_felt(to);
    send_drives(to);
    if (rx.data_due)
        send_data();
    send_drive(to->time->tick);
}

/* ---- in --------------------------------------------------------------- */

/* Post a request to the tick. If this request was already executed, or another
 * request is posted, do nothing. The host then repeats a request that was not
 * executed. */
static void post(const ft_port_ends *to, const ft_request *request)
{
    ft_safety *s = to->safety;

    if (s->request.posted || request->token == s->token)
        return;
    if (!ft_safety_armed(s)) /* the request may be ARM, and drivers may have
                              * lost settings */
        ft_chip_drivers_look(true);
    s->request = *request;
    ft_motion_prepare(&to->control->motion); /* so that START need not compute
                                              * this */
    FT_STORED();
    s->request.posted = true;
}

static void read_command(ft_request *r, const uint8_t *payload)
{
    ft_msg_command m;

    ft_msg_command_unpack(payload, &m);
    r->event = m.command <= FT_COMMAND_LOADER ? m.command : 0;
}

static void read_home(ft_request *r, const uint8_t *payload)
{
    ft_msg_home m;

    ft_msg_home_unpack(payload, &m);
    memcpy(r->position, m.position, sizeof r->position);
}

static void read_float(ft_request *r, const uint8_t *payload)
{
    ft_msg_float m;

    ft_msg_float_unpack(payload, &m);
    r->value = (float)m.friction;
}

static void read_jog(ft_request *r, const uint8_t *payload)
{
    ft_msg_jog m;

    ft_msg_jog_unpack(payload, &m);
    r->joint = m.joint;
    r->value = m.rate;
}

static void read_seek(ft_request *r, const uint8_t *payload)
{
    ft_msg_seek m;

    ft_msg_seek_unpack(payload, &m);
    r->joint = m.joint;
}

static void read_probe(ft_request *r, const uint8_t *payload)
{
    ft_msg_probe m;

    ft_msg_probe_unpack(payload, &m);
    r->joint = m.joint;
    r->value = m.torque;
}

static void read_gains(ft_request *r, const uint8_t *payload)
{
    ft_msg_gains m;

    ft_msg_gains_unpack(payload, &m);
    r->joint = m.joint;
    r->gains[0] = m.ku;
    r->gains[1] = m.kv;
    r->gains[2] = m.ki;
}

static void read_follow(ft_request *r, const uint8_t *payload)
{
    ft_msg_follow m;

    ft_msg_follow_unpack(payload, &m);
    r->delay = m.delay;
    r->frame = m.frame;
}

/* Messages with a request for the tick. The first byte of these messages is the
 * token. */
static const struct {
    uint8_t type, event;
    void (*read)(ft_request *r, const uint8_t *payload);
} requests[] = {
    { FT_MSG_COMMAND, 0, read_command },
    { FT_MSG_HOME, FT_EVENT_HOME, read_home },
    { FT_MSG_FLOAT, FT_EVENT_FLOAT, read_float },
    { FT_MSG_JOG, FT_EVENT_JOG, read_jog },
    { FT_MSG_SEEK, FT_EVENT_SEEK, read_seek },
    { FT_MSG_PROBE, FT_EVENT_PROBE, read_probe },
    { FT_MSG_GAINS, FT_EVENT_GAINS, read_gains },
    { FT_MSG_FOLLOW, FT_EVENT_FOLLOW, read_follow },
};

/* Post the request of a message, if it has one. */
static void request(const ft_port_ends *to, uint8_t type,
                    const uint8_t *payload)
{
    uint32_t i;

    for (i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        ft_request r = { 0 };

        if (requests[i].type != type)
            continue;
        r.token = payload[0];
        r.event = requests[i].event;
        requests[i].read(&r, payload);
        post(to, &r);
    }
}

static void on_hello(void)
{
    rx.ident_due = rx.about_due = true;
    forget_plant();
}

static void on_capture(const uint8_t *payload)
{
    ft_msg_capture m;

    ft_msg_capture_unpack(payload, &m);
    ft_capture_start(&m);
}

static void on_read(const uint8_t *payload)
{
    ft_msg_read m;

    ft_msg_read_unpack(payload, &m);
    rx.read_first = m.first;
    rx.data_due = true;
}

/* Take the wanted knot. Count a knot with a later number, since the knots
 * before it were lost. A repeated knot does not count. */
static void on_knot(const ft_port_ends *to, uint16_t seq,
                    const uint8_t *payload)
{
    const uint16_t beyond = (uint16_t)(seq - rx.wanted);
    ft_control *c = to->control;
    ft_msg_knot m;

    ft_msg_knot_unpack(payload, &m);
    if (beyond == 0u && ft_safety_takes_knots(to->safety)
        && ft_knots_take(&c->motion.queue, &m, c->seen.coarse,
                         &to->safety->alarms))
        rx.wanted++;
    else if (beyond < 0x8000u)
        rx.out_of_order++;
}

/* Accept a target in FOLLOW. */
static void on_target(const ft_port_ends *to, const uint8_t *payload)
{
    ft_msg_target m;

    ft_msg_target_unpack(payload, &m);
    if (to->safety->state == FT_STATE_FOLLOW)
        ft_follow_take(&to->control->follow, &m);
}

/* Process a good frame. The message POLL only shows that the host is
 * connected. */
static void dispatch(const ft_port_ends *to, uint8_t type, uint16_t seq,
                     const uint8_t *payload)
{
    switch (type) {
    case FT_MSG_HELLO: on_hello(); break;
    case FT_MSG_KNOT: on_knot(to, seq, payload); break;
    case FT_MSG_TARGET: on_target(to, payload); break;
    case FT_MSG_CAPTURE: on_capture(payload); break;
    case FT_MSG_READ: on_read(payload); break;
    case FT_MSG_SENSE: on_sense(to->time->tick, payload); break;
    default: request(to, type, payload); break;
    }
}

/* Return whether check sum, type and length of a frame are correct. */
static bool good(const uint8_t *frame, size_t size)
{
    if (size < FT_FRAME_HEADER + FT_FRAME_CRC)
        return false;
    size -= FT_FRAME_CRC;
    return ft_crc32(frame, size) == ft_msg_get_u32(frame + size)
           && size - FT_FRAME_HEADER == ft_msg_size(frame[0]);
}

/* Process one unstuffed frame of `size` bytes. */
static void take_frame(const ft_port_ends *to, const uint8_t *frame,
                       size_t size)
{
    if (!good(frame, size)) {
        rx.bad_frames++;
        return;
    }
    rx.frames++;
    if (frame[0] != FT_MSG_HELLO && ft_msg_get_u16(frame + 3) != FT_TAG) {
        rx.wrong_tag++;
        return;
    }
    if (frame[0] != FT_MSG_SENSE) /* SENSE comes from the plant and does not
                                   * show that the host is connected */
        to->safety->silent = 0;
    dispatch(to, frame[0], ft_msg_get_u16(frame + 1),
             frame + FT_FRAME_HEADER);
}

/* Process the bytes since the last zero. */
static void end_of_frame(const ft_port_ends *to)
{
    size_t size = FT_COBS_BAD;

    if (rx.size == 0u && !rx.too_long)
        return;
    if (!rx.too_long)
        size = ft_cobs_decode(rx.bytes, rx.size);
    if (size == FT_COBS_BAD)
        rx.bad_frames++;
    else
        take_frame(to, rx.bytes, size);
}

/* Process one received byte. */
static void take_byte(const ft_port_ends *to, uint8_t byte)
{
    if (byte == 0u) {
        end_of_frame(to);
        rx.size = 0;
        rx.too_long = false;
    } else if (rx.size < sizeof rx.bytes) {
        rx.bytes[rx.size++] = byte;
    } else {
        rx.too_long = true;
    }
}

/* Process a bounded number of the bytes that the chip has received. */
static void receive(const ft_port_ends *to)
{
    uint8_t chunk[CHUNK];
    uint32_t round;
    size_t i;

    for (round = 0; round < CHUNKS; round++) {
        size_t n = ft_chip_receive(chunk, sizeof chunk);

        for (i = 0; i < n; i++)
            take_byte(to, chunk[i]);
        if (n < sizeof chunk)
            return;
    }
}

/* ---- start and main loop ---------------------------------------------- */

/* Forget everything received. */
void ft_port_start(void)
{
    memset(&rx, 0, sizeof rx);
}

/* Make one round: empty the ring if the tick has requested this, receive,
 * send. */
void ft_port_idle(const ft_port_ends *to)
{
    ft_motion *m = &to->control->motion;

    ft_queue_idle(&m->queue);
    ft_motion_prepare(m);
    receive(to);
    send_due(to);
    ft_motion_prepare(m); /* a tick may have run meanwhile */
}
