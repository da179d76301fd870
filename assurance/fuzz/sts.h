/* A half-duplex serial bus of STS servos, written from Feetech's memory
 * table. */
enum { MEDDLED = 10 }; /* number of settings that a run may change */

/* Write a servo's settings that the checks use, and return their count. */
static uint32_t servo_settings(uint32_t i, setting s[STEPS])
{
    uint32_t n = 0;

    s[n++] = (setting){ 55, 1, 0, true };
    s[n++] = (setting){ 3, wanted(i, 3), wanted(i, 3), false };
    s[n++] = (setting){ 33, 2, 0, true };
    s[n++] = (setting){ 7, 0, 250, true };
    s[n++] = (setting){ 9, 0, 0, false };
    s[n++] = (setting){ 11, 4095, 4095, false };
    s[n++] = (setting){ 31, wanted(i, 31), wanted(i, 31), false };
    s[n++] = (setting){ 48, wanted(i, 48), wanted(i, 48), false };
    s[n++] = (setting){ 0, wanted(i, 256), wanted(i, 256), false };
    s[n++] = (setting){ 30, 1, 1, false };
    return n;
}

static uint8_t check(const uint8_t *p, uint32_t size)
{
    uint32_t sum = 0, k;

    for (k = 2; k + 1u < size; k++)
        sum += p[k];
    return (uint8_t)~sum;
}

/* Write a register of a servo. */
static void told(uint32_t i, uint32_t number, const uint8_t *p, uint32_t width)
{
    drive *d = &world.drive[i];
    const uint32_t value = p[0] | (width > 1u ? (uint32_t)p[1] << 8 : 0u);
    const uint32_t size = value & 0x3FFu;

    if (number == 44u) {
        must((float)size <= 1000.0f * ft_drive[i].share + 0.5f,
             "a duty is within its limit");
        must(!world.off || value == 0u, "with the outputs off no duty");
        if (d->down == 0u && d->on && value != 0u)
            obeys(i);
    } else if (number == 40u) {
        must(!world.off || value == 0u, "with the outputs off no servo is on");
        if (d->down == 0u)
            d->on = value == 1u && d->error == 0u && (d->lies & 2u) == 0u;
    } else if (d->down == 0u)
        (void)about(i, number, true, value);
}

/* Return the count that a servo reports. Register 30 is the number of encoder
 * steps in one count. */
static uint32_t count(uint32_t i)
{
    const uint32_t factor = world.drive[i].set[where(i, 30u)] & 255u;

    return world.drive[i].place % COUNTS / (factor != 0u ? factor : 1u);
}

/* Answer a query. */
static void answer(uint32_t i, uint32_t number, uint32_t width)
{
    const drive *d = &world.drive[i];
    uint8_t p[16] = { 255, 255, (uint8_t)ft_drive[i].id, (uint8_t)(width + 2u),
                      d->error };
    uint32_t value = number == 40u ? (d->on ? 1u : 0u)
                     : about(i, number, false, 0u);

    if (!speaks(d))
        return;
    put_word(p + 5, value);
    if (number == 56u) {
        put_word(p + 5, count(i) | (uint32_t)(d->lies & 1u) << 15);
        p[11] = 120u;
        p[12] = 30u;
    }
    p[5u + width] = check(p, 6u + width);
    fake_wire_bring(0u, p, 6u + width, 0u);
}

/* Process one packet on the bus. Return the size of the packet. */
static uint32_t packet(const uint8_t *p, uint32_t left)
{
    const uint32_t size = p[3] + 4u, width = p[6];
    const uint8_t *at;

    must(left >= 8u && p[0] == 255u && p[1] == 255u && p[2] == 254u
             && size <= left && p[size - 1u] == check(p, size),
         "packets to servos are whole");
    must(p[4] == 0x82u || p[4] == 0x83u, "packets write or ask");
    for (at = p + 7; at < p + size - 1u;) {
        const uint32_t i = servo(*at++);

        if (p[4] == 0x82u)
            answer(i, p[5], width);
        else {
            told(i, p[5], at, width);
            at += width;
        }
    }
    return size;
}

/* Return whether a goal is within a servo's limit. */
static bool any_goal(uint32_t i, const ft_frame *f)
{
    return (float)(f->data[0] | (f->data[1] & 3u) << 8)
           <= 1000.0f * ft_drive[i].share + 0.5f;
}

/* Inject bytes on the bus, before or after the transmitted bytes. Some of these
 * bytes resemble an answer. */
static void scribble(input *in)
{
    uint8_t p[64] = { 255, 255 };
    const uint8_t how = byte(in);
    const uint32_t size = how % 48u;

    world.forged = true;
    bytes(in, p + (how & 64u ? 2 : 0), size);
    if ((how & 64u) != 0u && size >= 4u) {
        p[3] = (uint8_t)(size - 2u);
        p[size + 1u] = check(p, size + 2u);
    }
    fake_wire_bring(0u, p, size + (how & 64u ? 2u : 0u), how >> 7);
}

/* Let a second bus, not the board's, pack any frames and receive any bytes. */
static void wire_anything(input *in)
{
    static ft_wire w;
    ft_frame frames[FT_WIRE_MOST], f;
    const uint32_t count = byte(in) % (FT_WIRE_MOST + 1u);
    uint32_t k, came = byte(in) % (FT_STS_IN + 1u);

    memset(&w, 0, sizeof w);
    for (k = 0; k < count; k++) {
        bytes(in, (uint8_t *)&frames[k].id, 4);
        frames[k].size = 4u;
        memset(frames[k].data, (int)byte(in), 8);
    }
    ft_sts_pack(&w, frames, count);
    must(w.size <= FT_STS_OUT, "packets fit");
    memcpy(w.in, w.out, w.size);
    bytes(in, w.in + w.size, came > w.size ? came - w.size : 0u);
    ft_sts_came(&w, came);
    for (k = 0; ft_sts_next(&w, &f); k++)
        must(f.size <= 8u, "an answer fits");
    must(k <= FT_WIRE_MOST, "no more answers than servos");
}
