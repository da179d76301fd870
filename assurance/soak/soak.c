/* A test program that plays one endless motion for hours, along a closed path.
 * Knots are sent through the whole link as frames. At every knot the target
 * must equal the knot bit for bit. */
#include "host_frame.h"
#include "soak.h"

static struct {
    const ft_msg_knot *path;
    uint32_t count;     /* knots in one cycle, which repeats */
    uint64_t sent;      /* total number of sent knots */
    uint64_t at;        /* number of knots that the target has passed */
    uint32_t phase;     /* ticks since the last knot */
    int moving;
} soak;

/* Keep the ring buffer nearly full. */
static void feed(void)
{
    while (ft_queue_credit(&ft.control.motion.queue) > 8u) {
        uint8_t payload[FT_MSG_KNOT_SIZE];
        ft_msg_knot k = soak.path[soak.sent % soak.count];

        k.flags = soak.sent == 0u ? FT_KNOT_START : 0u;
        ft_msg_knot_pack(&k, payload);
        send(FT_MSG_KNOT, (uint16_t)soak.sent, payload, sizeof payload);
        ft_app_idle();
        soak.sent++;
    }
}

/* Return whether the target equals a knot of the path. */
static int target_is(uint64_t knot)
{
    const int64_t *wanted = soak.path[knot % soak.count].position;
    const ft_target *target = *ft_telemetry.target;

    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        if (target->q[j] != (int32_t)(uint32_t)(uint64_t)wanted[j])
            return 0;
    return 1;
}

/* Return 0 if the target has left the path from knot to knot. */
static int on_path(void)
{
    if (!soak.moving) { /* the motion begins at the second knot */
        soak.moving = target_is(1u);
        soak.at = soak.moving ? 1u : 0u;
        soak.phase = 0;
        return 1;
    }
    if (++soak.phase < FT_TICKS_PER_KNOT)
        return 1;
    soak.phase = 0;
    return target_is(++soak.at);
}

void (*soak_after)(void);
uint32_t soak_follow = 1;

void soak_begin(const void *path, uint32_t count)
{
    memset(&soak, 0, sizeof soak);
    soak.path = path;
    soak.count = count;
}

uint64_t soak_fill(void)
{
    feed();
    return soak.sent;
}

/* Send a message of the host from time to time. */
void soak_poll(uint64_t tick)
{
    static uint8_t out[65536];
    static const uint8_t none[1];

    if (tick % 16u != 0u)
        return;
    send(FT_MSG_POLL, 0, none, 0);
    (void)fake_take(out);
}

/* Run ticks. Return the number of ticks before the first error. */
uint64_t soak_run(uint64_t ticks)
{
    uint64_t i;

    for (i = 0; i < ticks; i++) {
        if (i % 16u == 0u)
            feed();
        soak_poll(i);
        fake_run(1, soak_follow, 0);
        if (soak_after)
            soak_after();
        if (!on_path() || (soak.moving && ft.safety.state != FT_STATE_TRACK))
            return i;
    }
    return ticks;
}

uint64_t soak_knots(void) { return soak.at; }
uint32_t soak_played(void) { return ft.control.motion.played; }
uint32_t soak_tick(void) { return ft.time.tick; }
