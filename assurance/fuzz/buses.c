/* The fuzz target of libFuzzer for drives on buses. One input is one run of a
 * board and its drives. The first byte selects the initial state. Any frame or
 * byte may be received from any bus at any time. Drives stop answering,
 * restart, report errors, and get changed settings. After every tick the
 * harness checks the required properties of frames to drives.
 *
 * drives.h (moteus, ODrive) and dxl.h (Dynamixel) contain the answers, and the
 * settings that are lost without power. For the other families the theorems of
 * bus.c and servos.c show the same properties. */
#include "life.h"

#include "ft_bus.h"
#include "ft_families.h"

enum { TICKS = 600, SENT = 64, STEPS = 12, COUNTS = 4096 };
/* types of frames */
enum { QUIET, TURNED_OFF, ENABLING, COMMAND, ASKING, UNKNOWN };

#define LONG 0x80000000u
#define WIRE (FT_BUSES - 1u)

typedef struct {
    uint32_t number, value, comes; /* value: correct. comes: at power-up */
    bool forgets;                  /* the setting is lost without power */
} setting;

typedef struct {
    bool on, deaf, meddled; /* meddled: another program has changed a setting */
    uint8_t error, lies, down; /* lies, as bits: no velocity is reported; the
                                * position is below the turn; the drive never
                                * reports that it is on. down: ticks without
                                * power */
    uint16_t place, before;    /* number in the position field; servo counts */
    uint32_t set[STEPS];
    int32_t goal; /* goal of a servo, if the harness checks it */
} drive;

typedef struct {
    drive drive[FT_BUS_DRIVES];
    bool forged;         /* frames were received that no drive sent */
    bool shorted;        /* the bus is short-circuited */
    bool off;            /* the outputs were off after the last tick */
    uint32_t ticks;
    int64_t knot[FT_JOINTS];
} memory;

static memory world;

/* ---- state of drives ---------------------------------------------------- */

static uint32_t bits(float x)
{
    uint32_t n;

    memcpy(&n, &x, sizeof n);
    return n;
}

/* Return the correct value of a drive's setting. */
static uint32_t wanted(uint32_t i, uint32_t number)
{
    uint32_t k;

    for (k = 0; k < ft_drive[i].steps; k++)
        if (ft_setting[ft_drive[i].settings + k].number == number)
            return ft_setting[ft_drive[i].settings + k].value;
    return 0u;
}

static uint32_t can_settings(uint32_t i, setting s[STEPS]);
static uint32_t servo_settings(uint32_t i, setting s[STEPS]);

/* Write a drive's settings that the checks use, and return their count. */
static uint32_t settings(uint32_t i, setting s[STEPS])
{
    return ft_drive[i].bus == WIRE ? servo_settings(i, s) : can_settings(i, s);
}

/* Return the index of a setting among the drive's settings, or STEPS. */
static uint32_t where(uint32_t i, uint32_t number)
{
    setting s[STEPS];
    uint32_t n = settings(i, s), k;

    for (k = 0; k < n; k++)
        if (s[k].number == number)
            return k;
    return STEPS;
}

/* Switch a drive on. */
static void power_up(uint32_t i)
{
    drive *d = &world.drive[i];
    setting s[STEPS];
    uint32_t n = settings(i, s), k;

    d->on = false;
    d->error = 0;
    d->goal = 0;
    for (k = 0; k < n; k++)
        if (s[k].forgets)
            d->set[k] = s[k].comes;
}

static bool speaks(const drive *d)
{
    return !d->deaf && d->down == 0u;
}

/* Return whether a drive may safely obey commands: all settings that it loses
 * without power are correct. */
static bool limited(uint32_t i)
{
    setting s[STEPS];
    uint32_t n = settings(i, s), k;

    for (k = 0; k < n; k++)
        if (s[k].forgets && world.drive[i].set[k] != s[k].value)
            return false;
    return true;
}

/* ---- required properties ------------------------------------------------- */

/* Check the required property for a drive that is on and gets a command. */
static void obeys(uint32_t i)
{
    const drive *d = &world.drive[i];

    must(world.forged || d->meddled || limited(i),
         "a drive that is commanded has its time limit");
}

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16
           | (uint32_t)p[3] << 24;
}

static void look(void)
{
    uint32_t i;

    look_at_state();
    for (i = 0; i < FT_BUS_DRIVES; i++) {
        const ft_bus_drive *d = &ft.bus.drive[i];

        must(d->state <= FT_BUS_FAULTED, "the state of a drive is one");
        must(isfinite(d->velocity) && isfinite(d->carried),
             "what is kept of a drive are numbers");
    }
    world.off = (ft.safety.flags & FT_FLAG_OUTPUTS) == 0u;
}

/* ---- answers of drives --------------------------------------------------- */

static void put_word(uint8_t *p, uint32_t x)
{
    for (uint32_t k = 0; k < 4u; k++)
        p[k] = (uint8_t)(x >> 8u * k);
}

/* Read or write a setting. Return the setting's value. */
static uint32_t about(uint32_t i, uint32_t number, bool writes, uint32_t value)
{
    uint32_t k = where(i, number);

    if (k == STEPS)
        return 0u;
    if (writes)
        world.drive[i].set[k] = value;
    return world.drive[i].set[k];
}

/* Change the state of a drive that receives a frame. */
static void happens(uint32_t i, uint32_t kind, bool nothing)
{
    drive *d = &world.drive[i];

    if (kind == COMMAND && d->on && !nothing)
        obeys(i);
    if (kind == ENABLING)
        d->on = d->error == 0u && (d->lies & 2u) == 0u;
    if (kind == TURNED_OFF)
        d->on = false;
}

#include "drives.h" /* drives on CAN */

/* Pass a frame on CAN to all drives on that bus. */
static void deliver(uint32_t bus, const ft_frame *f)
{
    uint32_t i, heard = 0;
    ft_frame a;

    must(fits(f), "frames to drives have the sizes that they know");
    must(kind(f) != UNKNOWN, "a frame to a drive is one that it knows");
    must(!world.off || (kind(f) != ENABLING && (kind(f) != COMMAND
                                                || asks_nothing(f))),
         "with the outputs off no drive is enabled or commanded");
    for (i = 0; i < FT_BUS_DRIVES; i++) {
        if (ft_drive[i].bus != bus)
            continue;
        if (world.drive[i].down != 0u) {
            heard += meant(i, f);
            continue;
        }
        a.size = 0u;
        if (!hears(i, f, &a))
            continue;
        heard++;
        if (a.size != 0u && speaks(&world.drive[i]))
            fake_bus_bring(bus, &a);
    }
    must(heard != 0u, "a frame is for one of the drives");
}

/* Return the servo with a number. */
static uint32_t servo(uint32_t number)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        if (ft_drive[i].bus == WIRE && ft_drive[i].id == number)
            return i;
    must(0, "a packet is for one of the servos");
    return 0;
}

#include "dxl.h" /* servos on the half-duplex serial bus */

/* Pass the last tick's frames to the drives, and their answers to the board. */
static void carry(void)
{
    static ft_frame sent[SENT];
    static uint8_t bytes_sent[512];
    uint32_t bus, count, size, at, k;
    ft_frame beat;

    for (bus = 0; bus < WIRE; bus++) {
        count = fake_bus_sent(bus, sent);
        for (k = 0; k < count; k++)
            deliver(bus, &sent[k]);
    }
    for (k = 0; k < FT_BUS_DRIVES; k++)
        if (ft_drive[k].bus != WIRE && speaks(&world.drive[k])
            && beats(k, &beat))
            fake_bus_bring(ft_drive[k].bus, &beat);
    size = fake_wire_sent(0u, bytes_sent);
    for (at = 0; at < size;)
        at += packet(bytes_sent + at, size - at);
    if (world.shorted)
        fake_wire_bring(0u, (const uint8_t[8]){ 0 }, 8u, 1u);
}

/* ---- events ------------------------------------------------------------ */

/* Move drives to their targets, or leave them at their positions. Restore the
 * power of drives whose time without power has ended. */
static void move_drives(bool follow)
{
    const ft_target *target = *ft_telemetry.target;
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++) {
        drive *d = &world.drive[i];
        const uint32_t j = ft_drive[i].joint;
        const float turns = (float)target->q[j] / 4294967296.0f;
        const float at = ft_drive[i].sign * turns * 6.2831853f;
        const float most = ft_drive[i].position;

        d->before = d->place;
        if (follow)
            d->place = ft_drive[i].bus == WIRE
                           ? (uint16_t)((uint32_t)((int32_t)
                                 (turns * ft_drive[i].sign * (float)COUNTS)
                                 + ft_drive[i].zero / 2) & (COUNTS - 1u))
                           : (uint16_t)((at + most) * 65535.0f
                                        / (2.0f * most));
        if (d->down != 0u && --d->down == 0u)
            power_up(i);
    }
}

/* Run ticks, and check the required properties after every tick. */
static void pass(uint32_t n, bool follow)
{
    for (; n > 0u; n--) {
        fake_run(1, 0, 0);
        world.ticks++;
        carry();
        look();
        move_drives(follow);
    }
    (void)fake_take(out);
}

/* Run some ticks: mostly a few, sometimes more than the board needs to query
 * drives and clear errors. One run has at most TICKS. */
static void ticks(input *in, uint32_t *left)
{
    uint8_t how = byte(in);
    uint32_t n = how >= 252u ? 110u : how >= 224u ? 20u : (how >> 1) & 7u;

    n = n < *left ? n : *left;
    *left -= n;
    pass(n, (how & 1u) != 0u);
}

/* Change a setting of a drive. */
static void meddle(drive *d, uint8_t how)
{
    uint32_t *set = &d->set[how % MEDDLED];

    *set = how >= 128u ? 0u : *set ^ 1u << how / MEDDLED;
    d->meddled = true;
}

/* Cause a fault at a drive. */
static void trouble(input *in)
{
    const uint8_t what = byte(in), value = byte(in);
    const uint32_t i = what / 8u % FT_BUS_DRIVES;
    drive *d = &world.drive[i];

    switch (what % 8u) {
    case 0: d->deaf = !d->deaf; break;
    case 1: d->down = 1u + value % 16u; break;
    case 2: d->error = value; d->on = d->on && value == 0u; break;
    case 3: d->place = (uint16_t)(d->place + (int8_t)value); break;
    case 4: d->place = (uint16_t)(d->place + 256 * (int8_t)value); break;
    case 5: d->lies = value & 3u; break;
    case 6: meddle(d, value); break;
    default: power_up(i); break;
    }
}

/* Inject a frame from an unknown sender, or a frame that resembles a drive's
 * frame. A frame of seven bytes is injected many times. */
static void forge(input *in)
{
    const uint8_t how = byte(in);
    const uint32_t i = how % FT_BUS_DRIVES;
    uint32_t n;
    ft_frame f = { ft_drive[i].reply, how / 8u % 9u, { 0 } };

    world.forged = true;
    if (how >= 128u)
        f.id = byte(in) | (uint32_t)byte(in) << 8 | (uint32_t)byte(in) << 16
               | (uint32_t)byte(in) << 24;
    f.data[0] = (uint8_t)ft_drive[i].id;
    if (how >= 128u || !disguise(i, how, in, &f))
        bytes(in, f.data + (how & 1u), f.size < 8u ? f.size : 7u);
    for (n = how / 8u % 9u == 7u ? 40u : 1u; n > 0u; n--)
        fake_bus_bring(ft_drive[i].bus % WIRE, &f);
}

/* Let the chip measure any values, and report any state of its buses. */
static void chip(input *in)
{
    const uint8_t what = byte(in);
    const int8_t value = (int8_t)byte(in);

    switch (what % 5u) {
    case 0: fake.estop = (uint32_t)value & 1u; break;
    case 1: fake.bus_voltage = 12.0f + 0.1f * (float)value; break;
    case 2: fake_bus_off((uint8_t)value / 2u % WIRE, (uint32_t)value & 1u); break;
    case 3: world.shorted = ((uint32_t)value & 1u) != 0u; break;
    default: fake.temperature = (float)value; break;
    }
}

static float any_float(input *in)
{
    uint8_t b[4];
    float x;

    bytes(in, b, sizeof b);
    memcpy(&x, b, sizeof x);
    return x;
}

/* Form a command from any floats, NaN included. The board's state stays. */
static void ask_anything(input *in)
{
    const uint32_t i = byte(in) % FT_BUS_DRIVES;
    ft_drive_target t = { any_float(in), any_float(in), any_float(in),
                          any_float(in), any_float(in), 0.0f,
                          any_float(in), any_float(in), any_float(in) };
    float carried = 0.0f;
    ft_frame f;

    t.share = t.torque;
    ft_family_command(i, &f, &t, &carried);
    must(isfinite(carried), "what is carried is a number");
    if (ft_drive[i].bus == WIRE)
        must(any_goal(i, &f), "any goal is within its limit");
    else
        must(any_command(i, &f), "a command is one");
}

/* Handle inputs that hardly change the board's state. */
static void elsewhere(input *in)
{
    switch (byte(in) % 4u) {
    case 0: ask_anything(in); break;
    case 1: wire_anything(in); break;
    case 2: scribble(in); break;
    default:
        if (!register_anything(in))
            scribble(in);
    }
}

/* ---- runs ---------------------------------------------------------------- */

enum { BEGINNINGS = 4 }; /* reset, drives detected, HOLD, motion */

/* Bring the board into HOLD at the zero pose. */
static void arm(void)
{
    command(HOME);
    pass(4, false);
    command(FT_COMMAND_ARM);
    pass(30, false);
    must(ft.safety.state == FT_STATE_HOLD, "a board whose drives are well can be armed");
}

/* Bring the board into the middle of a slow motion. */
static void move(void)
{
    ft_msg_knot m;
    uint32_t i, j;

    memset(&m, 0, sizeof m);
    for (i = 0; i < 60u; i++) {
        m.flags = (uint8_t)(i == 0u ? FT_KNOT_START : i == 59u ? FT_KNOT_END : 0u);
        for (j = 0; j < FT_JOINTS; j++) {
            world.knot[j] += 1 << 20;
            m.position[j] = world.knot[j];
            m.rate[j] = m.flags != 0u ? 0.0f : 0.153f;
        }
        (void)ft_knots_take(&ft.control.motion.queue, &m,
                            ft.control.seen.coarse, &ft.safety.alarms);
    }
    command(FT_COMMAND_START);
    pass(60, true);
    must(ft.safety.state == FT_STATE_TRACK, "a motion can be started");
}

/* Set up the simulated drives with their settings at power-up, near zero. */
static void found(void)
{
    uint32_t i, k, n;
    setting s[STEPS];

    for (i = 0; i < FT_BUS_DRIVES; i++) {
        for (n = settings(i, s), k = 0; k < n; k++)
            world.drive[i].set[k] = s[k].comes;
        world.drive[i].place = (uint16_t)(ft_drive[i].bus == WIRE
                                              ? ft_drive[i].zero / 2 : 0x8000);
        world.drive[i].before = world.drive[i].place;
    }
    world.off = true;
}

/* Begin a run. */
static void begin(uint32_t which)
{
    if (beginnings == 0u) {
        fake.bus_voltage = 12.0f;
        fake.temperature = 25.0f;
        found();
        ft_app_start(0);
        keep(&world, sizeof world);
        pass(160, false);
        keep(&world, sizeof world);
        arm();
        keep(&world, sizeof world);
        move();
        keep(&world, sizeof world);
    }
    put_back(which, &world, sizeof world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = { data, size };
    uint32_t left = TICKS;

    begin(byte(&in) % BEGINNINGS);
    while (in.left > 0u)
        switch (byte(&in) & 15u) {
        case 0: noise(&in); break;
        case 1: message(&in); break;
        case 2: case 3: command(byte(&in) % 9u); break;
        case 4: chip(&in); break;
        case 5: case 6: forge(&in); break;
        case 7: elsewhere(&in); break;
        case 8: case 9: case 10: case 11: trouble(&in); break;
        default: ticks(&in, &left); break;
        }
    ft_app_idle();
    pass(1, false);
    return 0;
}
