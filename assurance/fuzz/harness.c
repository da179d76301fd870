/* The fuzz target of libFuzzer for the application. One input is one run of the
 * board, beginning with reset. A run is a sequence of bytes, frames with a
 * correct check sum, knots that almost match, ticks, and measurements of the
 * chip. After every tick the harness checks the required properties of the
 * application.
 *
 * A run begins after reset, in HOLD, or during a motion. The first byte selects
 * the beginning. Each beginning is played once and saved. The application's
 * variables have separate sections, which the harness restores from the saved
 * copy. */
#include "life.h"

enum { TICKS = 400 };

typedef struct {
    int64_t place[FT_JOINTS]; /* position in the last knot */
    uint8_t fault;            /* fault after the last tick */
    /* consecutive ticks in which motors are driven although a current loop has
     * failed; one is allowed, in which the board arms */
    uint32_t driven_blind;
} memory;
static memory host;

/* ---- required properties ----------------------------------------------- */

/* Return whether a current loop has switched off and reported the reason. */
static bool loop_failed(void)
{
    return fake.current_fault != FT_CURRENT_GOOD
           && fake.current_fault <= FT_CURRENT_LOOP;
}

static void look(void)
{
    bool driven = ft_safety_armed(&ft.safety);
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        must(isfinite(fake.duty[j]), "duties are numbers");
        must(fabsf(fake.duty[j]) <= 1.0f, "duties are within 1");
        must(driven || fake.duty[j] == 0.0f, "no duty without a drive");
    }
    look_at_state();
    must(ft_queue_buffered(&ft.control.motion.queue) <= FT_RING, "the ring is not overrun");
    must(ft.safety.state != FT_STATE_ESTOP || fake.outputs == 0u,
         "no outputs in ESTOP");
    must(ft.safety.state != FT_STATE_LEAVING || fake.outputs == 0u,
         "no outputs on the way to the boot loader");
    host.driven_blind = driven && loop_failed() ? host.driven_blind + 1u : 0u;
    must(host.driven_blind <= 1u, "a current loop that fails is a fault");
    must(host.fault != FT_FAULT_NONE || ft.safety.fault != FT_FAULT_BREAK
             || !loop_failed(), "a current loop that fails has its own name");
    host.fault = ft.safety.fault;
    must(driven || fake.outputs == 0u
             || ft.safety.reaction == FT_REACTION_BRAKE, "outputs are off");
}

/* ---- events ------------------------------------------------------------ */

/* Pass knots directly to ft_knots.c, each a little farther than the previous
 * knot. The first knot may have START, and the last knot END. */
static void knots(input *in)
{
    uint8_t how = byte(in);
    uint32_t n = 1u + (how >> 2), i, j;
    int8_t way[FT_JOINTS], more[FT_JOINTS];
    ft_msg_knot m;

    bytes(in, (uint8_t *)way, sizeof way);
    bytes(in, (uint8_t *)more, sizeof more);
    for (i = 0; i < n; i++) {
        m.flags = (uint8_t)((i == 0u ? how & FT_KNOT_START : 0u)
                            | (i == n - 1u ? how & FT_KNOT_END : 0u));
        for (j = 0; j < FT_JOINTS; j++) {
            host.place[j] += way[j] * 65536;
            m.position[j] = host.place[j];
            m.rate[j] = m.flags != 0u ? 0.0f : (float)way[j] * 0.024f;
            m.acceleration[j] = (float)more[j];
            if (more[j] == -128)
                memcpy(&m.rate[j], &m.position[j], 4); /* any float */
        }
        if (ft_safety_takes_knots(&ft.safety))
            (void)ft_knots_take(&ft.control.motion.queue, &m,
                                ft.control.seen.coarse, &ft.safety.alarms);
    }
}

/* Switch off the outputs, with or without the report of a current loop, or
 * allow them again. A current sensor may have an offset. */
static void current_loop(uint32_t how, uint32_t joint)
{
    fake.dropped = how & 1u;
    fake.current_fault = fake.dropped != 0u ? how >> 1 & 7u : FT_CURRENT_GOOD;
    fake.current_off = how >> 4 & 1u;
    fake.current_joint = joint;
}

/* Change a measurement of the chip. */
static void chip(input *in)
{
    uint8_t what = byte(in);
    int8_t value = (int8_t)byte(in);

    switch (what % 8u) {
    case 0: fake.estop = (uint32_t)value & 1u; break;
    case 1: fake.bus_voltage = 24.0f + 0.25f * (float)value; break;
    case 2: fake.counts[what / 8u % FT_JOINTS] += value; break;
    case 3: fake.temperature = (float)value; break;
    case 4: fake.driver_fault = (uint32_t)value & 1u; break;
    case 5: fake.index = (uint32_t)value; break;
    case 6: current_loop((uint32_t)value, what / 8u % FT_JOINTS); break;
    default: ft_app_missed(); break;
    }
}

/* Run ticks, and check the required properties after every tick. */
static void pass(uint32_t n, uint32_t follow)
{
    for (; n > 0u; n--) {
        fake_run(1, follow, 0);
        look();
    }
    (void)fake_take(out);
}

/* Run some ticks: mostly a few, sometimes more than the host may be silent. One
 * run has at most TICKS. */
static void ticks(input *in, uint32_t *left)
{
    uint8_t how = byte(in);
    uint32_t n = how >= 254u ? 150u : (how >> 1) & 7u;

    n = n < *left ? n : *left;
    *left -= n;
    pass(n, how & 1u);
}

/* ---- runs -------------------------------------------------------------- */

enum { BEGINNINGS = 3 }; /* after reset, in HOLD, during a motion */

/* Bring the board into HOLD at the zero pose. */
static void arm(void)
{
    pass(4, 1);
    command(HOME);
    pass(4, 1);
    command(FT_COMMAND_ARM);
    pass(4, 1);
    must(ft.safety.state == FT_STATE_HOLD, "a board that is homed can be armed");
}

/* Bring the board into the middle of a slow motion. */
static void move(void)
{
    static const uint8_t way[] = { 63u << 2 | FT_KNOT_START | FT_KNOT_END,
                                   1, 1, 1, 0, 0, 0 };

    knots(&(input){ way, sizeof way });
    command(FT_COMMAND_START);
    pass(40, 1);
    must(ft.safety.state == FT_STATE_TRACK, "a motion can be started");
}

/* Begin a run. */
static void begin(uint32_t which)
{
    if (beginnings == 0u) {
        fake.bus_voltage = 24.0f;
        fake.temperature = 25.0f;
        ft_app_start(0);
        keep(&host, sizeof host);
        arm();
        keep(&host, sizeof host);
        move();
        keep(&host, sizeof host);
    }
    put_back(which, &host, sizeof host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = { data, size };
    uint32_t left = TICKS;

    begin(byte(&in) % BEGINNINGS);
    while (in.left > 0u)
        switch (byte(&in) & 7u) {
        case 0: noise(&in); break;
        case 1: case 2: message(&in); break;
        case 3: command(byte(&in) % 9u); break;
        case 4: knots(&in); break;
        case 5: chip(&in); break;
        default: ticks(&in, &left); break;
        }
    ft_app_idle();
    pass(1, 1);
    return 0;
}
