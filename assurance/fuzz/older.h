/* Frames of the older drive families on CAN. buses.c contains the common code
 * for drives.
 *
 * The file is written from python-damiao-driver's documentation, RobStride's
 * sample program and bgkatz/motorcontrol's can.c. */
enum { DAMIAO = FT_FAMILY_DAMIAO, ROBSTRIDE = FT_FAMILY_ROBSTRIDE,
       CUBEMARS = FT_FAMILY_CUBEMARS, CHEETAH = FT_FAMILY_MINI_CHEETAH };

/* Write a drive's settings that the checks use, and return their count. */
static uint32_t can_settings(uint32_t i, setting s[STEPS])
{
    const ft_drive_config *c = &ft_drive[i];
    uint32_t n = 0;

    if (c->family == DAMIAO) {
        s[n++] = (setting){ 21, bits(c->position), bits(c->position), false };
        s[n++] = (setting){ 22, bits(c->velocity), bits(c->velocity), false };
        s[n++] = (setting){ 23, bits(c->torque), bits(c->torque), false };
        s[n++] = (setting){ 10, 1, 1, false };
        s[n++] = (setting){ 9, wanted(i, 9), 0, true };
        s[n++] = (setting){ 14, wanted(i, 14), wanted(i, 14), false };
    } else if (c->family == ROBSTRIDE) {
        s[n++] = (setting){ 0x7005, 0, 0, false };
        s[n++] = (setting){ 0x7028, wanted(i, 0x7028), 0, true };
    }
    return n;
}

/* Return the type of a frame on a bus. */
static uint32_t kind(const ft_frame *f)
{
    static const uint8_t ones[] = { 255, 255, 255, 255, 255, 255, 255 };
    const uint32_t kind = f->id >> 24 & 31u;

    if ((f->id & LONG) != 0u)
        return kind == 1u ? COMMAND : kind == 3u ? ENABLING
               : kind == 4u ? TURNED_OFF
               : kind == 0x11u || kind == 0x12u ? ASKING : UNKNOWN;
    if (f->id == 0x7FFu)
        return ASKING;
    if (memcmp(f->data, ones, sizeof ones) != 0)
        return COMMAND;
    return f->data[7] == 0xFCu ? ENABLING
           : f->data[7] == 0xFDu || f->data[7] == 0xFBu ? TURNED_OFF : UNKNOWN;
}

/* Return whether a command has zero gains and zero torque. */
static bool asks_nothing(const ft_frame *f)
{
    const uint32_t torque = (f->data[6] & 15u) << 8 | f->data[7];
    const uint32_t fine = f->id >> 8 & 0xFFFFu;

    if ((f->id & LONG) != 0u)
        return word(f->data + 4) == 0u && (fine == 0x7FFFu || fine == 0x8000u);
    return (f->data[3] & 15u) == 0u && f->data[4] == 0u && f->data[5] == 0u
           && f->data[6] >> 4 == 0u && (torque == 2047u || torque == 2048u);
}

/* Return whether a frame has a size that the drives accept. */
static bool fits(const ft_frame *f)
{
    return f->size == 8u;
}

/* Return whether a frame may be addressed to a drive. */
static bool meant(uint32_t i, const ft_frame *f)
{
    return f->id == ft_drive[i].id || (f->id & LONG) != 0u || f->id == 0x7FFu;
}

/* Return the reported number for a drive's velocity, in a field with `top`
 * steps. The number corresponds to the drive's motion in the last tick, or is
 * incorrect on purpose. */
static uint32_t velocity(uint32_t i, uint32_t top)
{
    const drive *d = &world.drive[i];
    const float most = ft_drive[i].velocity;
    const float step = 2.0f * ft_drive[i].position / 65535.0f;
    const int32_t went = (int16_t)(uint16_t)(d->place - d->before);
    float v = (d->lies & 1u) != 0u ? 0.0f : step * (float)went * (float)FT_TICK_HZ;

    v = v > most ? most : v < -most ? -most : v;
    return (uint32_t)((v + most) * (float)top / (2.0f * most));
}

/* Form a state in the frame layout of the mini-cheetah family. */
static void mit_state(uint32_t i, uint8_t first, ft_frame *f)
{
    const drive *d = &world.drive[i];
    const uint32_t v = velocity(i, 4095u);

    f->id = ft_drive[i].reply;
    f->size = 8u;
    f->data[0] = first;
    f->data[1] = (uint8_t)(d->place >> 8);
    f->data[2] = (uint8_t)d->place;
    f->data[3] = (uint8_t)(v >> 4);
    f->data[4] = (uint8_t)(v << 4 | 7u);
    f->data[5] = 0xFF;
    f->data[6] = (uint8_t)d->place; /* temperature */
    f->data[7] = ft_drive[i].family == CUBEMARS ? d->error : 30u;
}

/* Pass a frame to a Damiao drive. Return whether the drive answers. */
static bool damiao(uint32_t i, const ft_frame *f, ft_frame *a)
{
    const drive *d = &world.drive[i];

    if (f->id == 0x7FFu && f->data[0] == ft_drive[i].id) {
        a->id = ft_drive[i].reply;
        a->size = 8u;
        memcpy(a->data, f->data, 4);
        put_word(a->data + 4, about(i, f->data[3], f->data[2] == 0x55u,
                                    word(f->data + 4)));
        return true;
    }
    if (f->id != ft_drive[i].id)
        return false;
    mit_state(i, (uint8_t)((d->error != 0u ? d->error : d->on ? 1u : 0u) << 4
                           | ft_drive[i].id), a);
    if (kind(f) == TURNED_OFF && f->data[7] == 0xFBu)
        world.drive[i].error = 0;
    happens(i, kind(f), asks_nothing(f));
    return true;
}

/* Pass a frame to a RobStride drive. */
static bool robstride(uint32_t i, const ft_frame *f, ft_frame *a)
{
    const drive *d = &world.drive[i];
    const uint32_t what = f->id >> 24 & 31u, id = ft_drive[i].id;
    const uint32_t v = velocity(i, 65535u);

    if ((f->id & LONG) == 0u || (f->id & 255u) != id)
        return false;
    a->size = 8u;
    memset(a->data, 0, 8);
    if (what == 0x11u) {
        const uint32_t number = f->data[0] | (uint32_t)f->data[1] << 8;

        a->id = LONG | 0x11u << 24 | (d->error & 1u) << 16 | id << 8 | 0xFDu;
        memcpy(a->data, f->data, 4);
        put_word(a->data + 4, about(i, number, false, 0u));
        return true;
    }
    a->id = LONG | 2u << 24 | (d->on ? 2u : 0u) << 22
            | (uint32_t)(d->error & 63u) << 16 | id << 8 | 0xFDu;
    a->data[0] = (uint8_t)(d->place >> 8);
    a->data[1] = (uint8_t)d->place;
    a->data[2] = (uint8_t)(v >> 8);
    a->data[3] = (uint8_t)v;
    a->data[4] = 0x7F;
    a->data[5] = 0xFF;
    if (what == 0x12u)
        (void)about(i, f->data[0] | (uint32_t)f->data[1] << 8, true,
                    word(f->data + 4));
    if (what == 4u && f->data[0] == 1u)
        world.drive[i].error = 0;
    happens(i, kind(f), asks_nothing(f));
    return true;
}

/* Pass a frame to a mini-cheetah or CubeMars drive. */
static bool cheetah(uint32_t i, const ft_frame *f, ft_frame *a)
{
    if (f->id != ft_drive[i].id)
        return false;
    mit_state(i, (uint8_t)ft_drive[i].id, a);
    a->size = ft_drive[i].family == CUBEMARS ? 8u : 6u;
    if ((world.drive[i].place & 63u) == 21u)
        a->size = 6u; /* too short for CubeMars */
    happens(i, kind(f), asks_nothing(f));
    return true;
}

/* Pass a frame to a drive. Return whether the frame addresses this drive. */
static bool hears(uint32_t i, const ft_frame *f, ft_frame *a)
{
    static bool (*const by[])(uint32_t, const ft_frame *, ft_frame *) =
        { [DAMIAO] = damiao, [ROBSTRIDE] = robstride,
          [CUBEMARS] = cheetah, [CHEETAH] = cheetah };

    return by[ft_drive[i].family](i, f, a);
}

/* These drives send only answers, and their registers have one size. */
#define beats(i, f) ((void)(f), false)
#define register_anything(in) false

/* Begin a frame like a drive's frame. Return whether the data are complete. */
static bool disguise(uint32_t i, uint8_t how, input *in, ft_frame *f)
{
    if (ft_drive[i].family == ROBSTRIDE)
        f->id = LONG | (uint32_t)byte(in) << 24 | (uint32_t)byte(in) << 16
                | ft_drive[i].id << 8 | (0xFDu ^ (how & 1u));
    return false;
}

/* Return whether a frame formed from any floats is a command. */
static bool any_command(uint32_t i, const ft_frame *f)
{
    (void)i;
    return fits(f) && kind(f) == COMMAND;
}
