/* A half-duplex serial bus of Dynamixel X servos, written from ROBOTIS'
 * e-manual (protocol 2.0, control tables of the X series). The servos answer a
 * fast sync read with one common packet. The part of each servo contains the
 * check sum of all previous parts. */
enum { MEDDLED = 12 }; /* number of settings that a run may change */
enum { MODEL = 256, STORED = 64, FULL = 885 };
enum { FIRMWARE = 6, DELAY = 9, MODE = 11, ENABLE = 64, LEVEL = 68, ERROR = 70,
       WATCHDOG = 98, GOAL_DUTY = 100, GOAL_CURRENT = 102, STATE = 126,
       SUPPLY = 144, TABLE = 160 };
enum { REBOOTS = 0x08, SAYS = 0x55, READS = 0x82, WRITES = 0x83, ALL = 0x8A };

#define THREE(p) ((p)[0] == 255u && (p)[1] == 255u && (p)[2] == 253u)

/* Return whether the goal of a servo is a current. */
static bool by_current(uint32_t i)
{
    return ft_drive[i].scale > 0.0f;
}

/* Write a servo's settings that the checks use, and return their count. */
static uint32_t servo_settings(uint32_t i, setting s[STEPS])
{
    static const uint8_t fixed[] = { 10, 20, 36, 38 };
    uint32_t n = 0, k;

    s[n++] = (setting){ WATCHDOG, wanted(i, WATCHDOG), 0, true };
    s[n++] = (setting){ LEVEL, 1, 2, true };
    s[n++] = (setting){ MODE, wanted(i, MODE), 3, false };
    s[n++] = (setting){ DELAY, 0, 250, false };
    s[n++] = (setting){ FIRMWARE, 47, 47, false };
    s[n++] = (setting){ 63, 52, 52, false };
    s[n++] = (setting){ MODEL, wanted(i, MODEL), wanted(i, MODEL), false };
    for (k = 0; k < sizeof fixed; k++)
        s[n++] = (setting){ fixed[k], wanted(i, fixed[k]), wanted(i, fixed[k]),
                            false };
    if (by_current(i))
        s[n++] = (setting){ GOAL_DUTY, FULL, FULL, true };
    return n;
}

/* Return the check sum: the remainder by x^16 + x^15 + x^2 + 1. */
static uint32_t check(const uint8_t *p, uint32_t size)
{
    uint32_t rest = 0, k, bit;

    for (k = 0; k < size; k++)
        for (bit = 8; bit-- > 0u;) {
            const uint32_t over = rest >> 15 ^ (p[k] >> bit & 1u);

            rest = (rest << 1 ^ (over != 0u ? 0x8005u : 0u)) & 0xFFFFu;
        }
    return rest;
}

/* Append the check sum to a packet. Return the packet's size. */
static uint32_t seal(uint8_t *p, uint32_t size)
{
    const uint32_t sum = check(p, size);

    p[size] = (uint8_t)sum;
    p[size + 1u] = (uint8_t)(sum >> 8);
    return size + 2u;
}

/* ---- the control table of a servo --------------------------------------- */

/* Write current, velocity and position. At a special position some bytes
 * resemble the beginning of a packet. */
static void state_of(uint32_t i, uint8_t *p)
{
    const drive *d = &world.drive[i];
    const bool strange = (d->place & 63u) == 21u, far = (d->lies & 1u) != 0u;

    p[0] = p[1] = strange ? 255u : 0u;
    put_word(p + 2, strange ? 253u : !far ? 0u
                    : (d->place & 1u) != 0u ? 100000u : (uint32_t)-100000);
    put_word(p + 6, d->place % COUNTS - (far ? COUNTS : 0u));
}

/* Write the control table of a servo. */
static void table(uint32_t i, uint8_t t[TABLE])
{
    const drive *d = &world.drive[i];
    setting s[STEPS];
    uint32_t n = settings(i, s), k;

    memset(t, 0, TABLE);
    for (k = 0; k < n; k++) {
        const uint32_t at = s[k].number == MODEL ? 0u : s[k].number;

        t[at] = (uint8_t)d->set[k];
        if (at == 0u || at == 20u || at == 36u || at == 38u || at == GOAL_DUTY)
            t[at + 1u] = (uint8_t)(d->set[k] >> 8);
        if (at == 20u) {
            t[at + 2u] = (uint8_t)(d->set[k] >> 16);
            t[at + 3u] = (uint8_t)(d->set[k] >> 24);
        }
    }
    t[ENABLE] = d->on ? 1u : 0u;
    t[ERROR] = d->error;
    state_of(i, t + STATE);
    t[SUPPLY] = 120u;
    t[SUPPLY + 2] = 30u;
}

static uint32_t setting_of(uint32_t i, uint32_t number)
{
    const uint32_t k = where(i, number);

    return k == STEPS ? 0u : world.drive[i].set[k] & 255u;
}

/* ---- packets to a servo ------------------------------------------------- */

/* Return whether a goal is within a servo's limit. */
static bool within(uint32_t i, int32_t goal)
{
    const float most = by_current(i) ? ft_drive[i].share
                                     : (float)FULL * ft_drive[i].share;

    return (float)(goal < 0 ? -goal : goal) <= most + 0.5f;
}

/* Pass a goal to a servo. */
static void aims(uint32_t i, int32_t goal)
{
    drive *d = &world.drive[i];

    must(within(i, goal), "a goal is within its limit");
    must(!world.off || goal == 0, "with the outputs off no goal");
    if (d->down != 0u)
        return;
    d->goal = goal;
    if (d->on && goal != 0)
        obeys(i);
}

/* Switch a motor on or off. The goal must be 0 before, because a change of mode
 * sets the goal to its limit. */
static void switches(uint32_t i, uint32_t value)
{
    drive *d = &world.drive[i];

    must(!world.off || value == 0u, "with the outputs off no servo is on");
    must(value == 0u || d->on || d->down != 0u || d->goal == 0,
         "a servo is switched on without a goal");
    if (d->down == 0u)
        d->on = value == 1u && d->error == 0u && (d->lies & 2u) == 0u;
}

/* Write a register of a servo. A servo that is on ignores writes to registers
 * in permanent memory. */
static void told(uint32_t i, uint32_t number, const uint8_t *p, uint32_t width)
{
    drive *d = &world.drive[i];
    const uint32_t value = p[0] | (width > 1u ? (uint32_t)p[1] << 8 : 0u);
    const int32_t goal = (int32_t)(value ^ 0x8000u) - 0x8000;

    if (number == (by_current(i) ? GOAL_CURRENT : GOAL_DUTY)) {
        must(width == 2u, "a goal has two bytes");
        aims(i, goal);
    } else if (number == ENABLE) {
        must(width == 1u, "a switch has one byte");
        switches(i, value);
    } else {
        must(number == WATCHDOG || number == LEVEL || number == MODE
                 || number == DELAY || number == GOAL_DUTY,
             "a register is set that may be");
        if (d->down != 0u || (number < STORED && d->on))
            return;
        (void)about(i, number, true, value);
        if (number == MODE)
            d->goal = (int32_t)wanted(i, by_current(i) ? 38u : 36u);
    }
}

/* ---- answers ----------------------------------------------------------- */

/* Return whether a servo answers a query. A servo with a return delay does not
 * answer a query to several servos. */
static bool replies(uint32_t i, uint32_t asked, bool fast)
{
    return speaks(&world.drive[i]) && setting_of(i, LEVEL) != 0u
           && (asked == 1u || setting_of(i, DELAY) == 0u)
           && (!fast || setting_of(i, FIRMWARE) >= 45u);
}

static uint8_t alert(uint32_t i)
{
    return world.drive[i].error != 0u ? 0x80u : 0u;
}

/* Answer with a separate packet. */
static void answer(uint32_t i, uint32_t number, uint32_t width)
{
    uint8_t t[TABLE], p[64] = { 255, 255, 253, 0, (uint8_t)ft_drive[i].id, 0, 0,
                                SAYS, alert(i) };
    uint32_t size = 9, k;

    table(i, t);
    for (k = 0; k < width; k++) {
        p[size++] = t[number + k];
        if (THREE(p + size - 3))
            p[size++] = 253;
    }
    p[5] = (uint8_t)(size - 5u);
    fake_wire_bring(0u, p, seal(p, size), 0u);
}

/* Answer with one packet of all servos, up to the first that is silent. */
static void answers(const uint8_t *ids, uint32_t asked, uint32_t number,
                    uint32_t width)
{
    uint8_t t[TABLE], p[128] = { 255, 255, 253, 0, 254, 0, 0, SAYS };
    uint32_t size = 8, k;

    p[5] = (uint8_t)((4u + width) * asked + 1u);
    for (k = 0; k < asked && replies(servo(ids[k]), asked, true); k++) {
        table(servo(ids[k]), t);
        p[size] = alert(servo(ids[k]));
        p[size + 1u] = ids[k];
        memcpy(p + size + 2, t + number, width);
        size = seal(p, size + 2u + width);
    }
    if (k != 0u)
        fake_wire_bring(0u, p, size, 0u);
}

/* Process a packet to all servos that reads or writes a register. */
static void to_all(uint32_t kind, const uint8_t *p, uint32_t size)
{
    const uint32_t number = p[0] | (uint32_t)p[1] << 8, width = p[2];
    const uint32_t asked = size - 4u;
    const uint8_t *at;

    must(size > 4u && p[3] == 0u && width != 0u && number + width <= TABLE,
         "a packet to all is about a register");
    if (kind == ALL) {
        answers(p + 4, asked, number, width);
        return;
    }
    for (at = p + 4; at < p + size; at += kind == READS ? 1u : 1u + width)
        if (kind == WRITES)
            told(servo(at[0]), number, at + 1, width);
        else if (replies(servo(at[0]), asked, false))
            answer(servo(at[0]), number, width);
}

/* Reboot a servo, which takes some ticks. */
static void reboots(uint32_t i)
{
    if (world.drive[i].down != 0u)
        return;
    power_up(i);
    world.drive[i].down = 3u;
}

/* Process one packet on the bus. Return the size of the packet. */
static uint32_t packet(const uint8_t *p, uint32_t left)
{
    const uint32_t size = p[5] + 7u;
    uint8_t own[256];
    uint32_t k, n = 0;

    must(left >= 10u && THREE(p) && p[3] == 0u && p[6] == 0u && size >= 10u
             && size <= left && check(p, size - 2u) == (p[size - 2u]
                                      | (uint32_t)p[size - 1u] << 8),
         "packets to servos are whole");
    for (k = 8; k < size - 2u; k++)
        if (k < 11u || p[k] != 253u || !THREE(p + k - 3))
            own[n++] = p[k];
        else
            must(k >= 11u, "nothing begins with what was put in");
    if (p[7] == REBOOTS) {
        must(p[4] != 254u && n == 0u, "one servo is restarted");
        reboots(servo(p[4]));
    } else {
        must(p[4] == 254u && (p[7] == READS || p[7] == WRITES || p[7] == ALL),
             "packets write or ask");
        to_all(p[7], own, n);
    }
    return size;
}

/* ---- arbitrary bytes and frames ---------------------------------------- */

/* Return whether a goal is within a servo's limit. */
static bool any_goal(uint32_t i, const ft_frame *f)
{
    const uint32_t value = f->data[0] | (uint32_t)f->data[1] << 8;

    return within(i, (int32_t)(value ^ 0x8000u) - 0x8000);
}

/* Inject bytes on the bus, before or after the transmitted bytes. Some of these
 * bytes resemble an answer. */
static void scribble(input *in)
{
    uint8_t p[64] = { 255, 255, 253, 0, 254, 0, 0, SAYS };
    const uint8_t how = byte(in);
    const uint32_t size = how % 40u;

    world.forged = true;
    if ((how & 64u) == 0u) {
        bytes(in, p, size);
        fake_wire_bring(0u, p, size, how >> 7);
        return;
    }
    p[4] = (how & 1u) != 0u ? byte(in) : 254u;
    bytes(in, p + 8, size);
    p[5] = (uint8_t)(size + 3u + ((how & 32u) != 0u ? byte(in) : 0u));
    fake_wire_bring(0u, p, seal(p, 8u + size) + ((how & 8u) != 0u ? 8u : 0u),
                    how >> 7);
}

/* Read bytes of the input. Many of these bytes are the first bytes of
 * packets. */
static void odd_bytes(input *in, uint8_t *to, uint32_t size)
{
    uint32_t k;

    for (k = 0; k < size; k++) {
        const uint8_t b = byte(in);

        to[k] = (b & 3u) == 0u ? 255u : (b & 3u) == 1u ? 253u : b;
    }
}

/* Let the queried servos answer with any bytes. Return the number of bytes. */
static uint32_t any_answers(input *in, const ft_wire *w, uint8_t *p)
{
    static const uint8_t head[] = { 255, 255, 253, 0, 254, 0, 0, SAYS };
    uint32_t size = w->fast ? sizeof head : 0u, part, k;

    memcpy(p, head, sizeof head);
    for (k = 0; k < w->servos; k++) {
        if (!w->servo[k].asked)
            continue;
        part = w->fast ? 0u : size;
        if (w->fast)
            p[size++] = 0u;
        else
            memcpy(p + size, head, sizeof head);
        p[w->fast ? size : size + 4u] = w->servo[k].id;
        size += w->fast ? 1u : (uint32_t)sizeof head;
        if (!w->fast) {
            p[part + 5u] = (uint8_t)(w->width + 4u - (byte(in) & 1u));
            p[size++] = 0u;
        }
        odd_bytes(in, p + size, w->width);
        size += w->width;
        size = part + seal(p + part, size - part) - ((byte(in) & 15u) == 15u);
    }
    return size;
}

/* Form any frame to a servo in any state. Each type of register is common. */
static void any_frame(input *in, ft_frame *f, ft_dxl_servo *s)
{
    static const uint8_t number[4] = { ENABLE, SUPPLY, STATE, WATCHDOG };
    const uint8_t what = byte(in), phase = byte(in);
    uint8_t id[4];

    bytes(in, id, sizeof id);
    if ((what & 8u) != 0u)
        odd_bytes(in, id, 1u);
    if ((what & 16u) == 0u)
        id[2] = number[what >> 5 & 3u];
    memset(f, 0, sizeof *f);
    f->id = word(id);
    f->size = 5u;
    odd_bytes(in, f->data, 5);
    ft_dynamixel_wake(f, &ft_drive[FT_BUS_DRIVES - 1u], phase);
    s->takes_part = (what & 1u) != 0u;
    s->old = (what & 2u) != 0u;
    s->late = (what & 4u) != 0u;
}

/* Let a second bus, not the board's, pack any frames and receive any bytes. */
static void wire_anything(input *in)
{
    static ft_wire w;
    ft_frame frames[FT_WIRE_MOST], f;
    const uint32_t count = byte(in) % (FT_WIRE_MOST + 1u);
    uint32_t k, came;

    memset(&w, 0, sizeof w);
    for (k = 0; k < count; k++)
        any_frame(in, &frames[k], &w.servo[k]);
    ft_wire_pack(&w, frames, count);
    must(w.size <= FT_DXL_OUT, "packets fit");
    came = byte(in) % (FT_DXL_IN + 1u);
    memcpy(w.in, w.out, w.size);
    if ((came & 1u) != 0u)
        came = w.size + any_answers(in, &w, w.in + w.size);
    else if (came > w.size)
        bytes(in, w.in + w.size, came - w.size);
    ft_wire_came(&w, came);
    for (k = 0; ft_wire_next(&w, &f); k++)
        must(f.size <= 8u, "an answer fits");
    must(k <= FT_WIRE_MOST, "no more answers than servos");
}
