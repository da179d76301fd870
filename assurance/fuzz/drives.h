/* Frames of moteus and ODrive on CAN. ODrives send heartbeats. buses.c contains
 * the common code for drives.
 *
 * The file is written from moteus' docs/protocol/can.md and registers.md, and
 * from ODrive's message table. */
enum { MOTEUS = FT_FAMILY_MOTEUS, ODRIVE = FT_FAMILY_ODRIVE_CAN };
enum { BEAT = 4, ODD = 21 }; /* heartbeat period; place of a bad answer */

#define REMOTE 0x40000000u

/* Write a drive's settings that the checks use, and return their count. */
static uint32_t can_settings(uint32_t i, setting s[STEPS])
{
    static const uint32_t of_moteus[] = { 0x00C, 0x102, 0x101 };
    const bool is = ft_drive[i].family == MOTEUS;
    uint32_t n;

    for (n = 0; n < (is ? 3u : 1u); n++) {
        const uint32_t number = is ? of_moteus[n] : 0x100u;

        s[n] = (setting){ number, wanted(i, number), wanted(i, number), false };
    }
    return n;
}

/* Return whether a command has zero gains and zero torque. */
static bool asks_nothing(const ft_frame *f)
{
    if ((f->id & LONG) == 0u)
        return (word(f->data) & 0x7FFFFFFFu) == 0u;
    return f->data[13] == 0u && f->data[14] == 0u && f->data[18] == 0u
           && f->data[19] == 0u;
}

/* Return the type of a frame on a bus. For a moteus, any position command
 * enables the drive. */
static uint32_t kind(const ft_frame *f)
{
    const uint8_t *d = f->data;

    if ((f->id & LONG) != 0u)
        return f->size < 8u && (d[0] & 0xF3u) == 0x11u ? ASKING
               : d[0] != 1u || d[1] != 0u ? UNKNOWN
               : f->size == 12u && d[2] == 0u ? TURNED_OFF
               : f->size != 32u || d[2] != 10u ? UNKNOWN
               : asks_nothing(f) ? ENABLING : COMMAND;
    if ((f->id & REMOTE) != 0u)
        return ASKING;
    switch (f->id & 31u) {
    case 0x07: return d[0] == 8u ? ENABLING : d[0] == 1u ? TURNED_OFF : UNKNOWN;
    case 0x0B: return d[0] == 1u && d[4] == 1u ? ASKING : UNKNOWN;
    case 0x0E: return COMMAND;
    case 0x18: return TURNED_OFF;
    default: return UNKNOWN;
    }
}

/* Return whether a frame has a size that the drives accept. */
static bool fits(const ft_frame *f)
{
    if ((f->id & LONG) != 0u)
        return f->size == 32u || f->size == 12u || f->size <= 7u;
    return f->size == ((f->id & 31u) == 0x0Eu ? 4u : 8u);
}

/* Return whether a frame is addressed to a drive. */
static bool meant(uint32_t i, const ft_frame *f)
{
    if (ft_drive[i].family == MOTEUS)
        return f->id == (LONG | 0xF700u | ft_drive[i].id);
    return (f->id & ~REMOTE) >> 5 == ft_drive[i].id;
}

/* Return the angle at a position in the drive's direction, rad. */
static float angle(uint32_t place, uint32_t i)
{
    const float most = ft_drive[i].position;

    return (float)place * 2.0f * most / 65535.0f - most;
}

/* Form the state of a moteus. */
static void moteus_state(uint32_t i, ft_frame *f)
{
    const drive *d = &world.drive[i];
    const uint32_t id = ft_drive[i].id << 8 | 0x77u;
    const int32_t at = (int32_t)(angle(d->place, i) / ft_drive[i].step);

    f->id = id > 0x7FFu ? LONG | id : id;
    f->size = 16u;
    memset(f->data, 0x50, sizeof f->data);
    f->data[0] = 0x21;
    f->data[1] = 0x00;
    f->data[2] = (d->error & 31u) == 11u ? 11u
                 : d->error != 0u ? 1u : d->on ? 10u : 0u;
    f->data[3] = 0x29;
    f->data[4] = 0x01;
    put_word(f->data + 5, (uint32_t)at);
    f->data[9] = 0x22;
    f->data[10] = 0x0E;
    f->data[11] = (uint8_t)d->place; /* temperature */
    f->data[12] = d->error == 255u ? 0u : d->error;
}

/* Form the answer with the value of a moteus register, or with its error. */
static void moteus_register(uint32_t i, const ft_frame *f, ft_frame *a)
{
    const uint8_t *d = f->data;
    const uint32_t at = d[1] < 0x80u ? 2u : 3u;
    const uint32_t number = at == 2u ? d[1] : (d[1] & 0x7Fu)
                                              | (uint32_t)d[2] << 7;

    moteus_state(i, a);
    memcpy(a->data, d, at);
    a->data[0] ^= 0x30u; /* changes the type of the answer to a read */
    put_word(a->data + at, about(i, number, false, 0u));
    a->size = at + (1u << ((d[0] >> 2) & 3u));
    if ((world.drive[i].place & 63u) == ODD) {
        a->data[0] = 0x31;
        a->size = at + 1u;
    }
}

/* Pass a frame to a moteus. */
static void moteus(uint32_t i, const ft_frame *f, ft_frame *a)
{
    if (kind(f) == ASKING) {
        moteus_register(i, f, a);
        return;
    }
    moteus_state(i, a);
    if (kind(f) == TURNED_OFF)
        world.drive[i].error = 0;
    happens(i, kind(f), asks_nothing(f));
}

/* Begin a message of an ODrive. */
static void odrive_message(uint32_t i, uint32_t message, ft_frame *f)
{
    f->id = ft_drive[i].id << 5 | message;
    f->size = 8u;
    memset(f->data, 0, sizeof f->data);
}

/* Form an ODrive's message with position and velocity. */
static void estimates(uint32_t i, ft_frame *f)
{
    const drive *d = &world.drive[i];
    const float turn = 6.2831853f / ft_drive[i].gear;
    const float before = angle(d->before, i), now = angle(d->place, i);
    const float v = (d->lies & 1u) != 0u ? 0.0f
                    : (now - before) * (float)FT_TICK_HZ;

    odrive_message(i, 0x09u, f);
    put_word(f->data, bits(now / turn));
    put_word(f->data + 4, bits(v / turn));
}

/* Pass a frame to an ODrive. */
static void odrive(uint32_t i, const ft_frame *f, ft_frame *a)
{
    drive *d = &world.drive[i];

    if ((f->id & REMOTE) == 0u) {
        if ((f->id & 31u) == 0x18u)
            d->error = 0;
        happens(i, kind(f), asks_nothing(f));
        return;
    }
    must((f->id & 31u) == 0x09u || (f->id & 31u) == 0x00u, "a message is asked "
                                                           "for that it has");
    if ((f->id & 31u) == 0x09u) {
        estimates(i, a);
        return;
    }
    odrive_message(i, 0x00u, a);
    /* version of the protocol */
    a->data[0] = (d->place & 63u) == ODD ? 1u : 2u;
    a->data[4] = (uint8_t)(about(i, 0x100u, false, 0u) >> 16);
    a->data[5] = (uint8_t)(about(i, 0x100u, false, 0u) >> 8);
    a->data[6] = (uint8_t)about(i, 0x100u, false, 0u);
}

/* Pass a frame to a drive. Return whether the frame addresses this drive. */
static bool hears(uint32_t i, const ft_frame *f, ft_frame *a)
{
    if (!meant(i, f))
        return false;
    if (ft_drive[i].family == MOTEUS)
        moteus(i, f, a);
    else
        odrive(i, f, a);
    return true;
}

/* Form the heartbeat of an ODrive. Return whether the heartbeat is due. */
static bool beats(uint32_t i, ft_frame *f)
{
    const drive *d = &world.drive[i];

    if (ft_drive[i].family != ODRIVE || world.ticks % BEAT != i % BEAT)
        return false;
    odrive_message(i, 0x01u, f);
    put_word(f->data, d->error != 0u ? 1u << (d->error & 31u) : 0u);
    f->data[4] = d->on ? 8u : 1u;
    return true;
}

/* Begin a frame like a drive's frame. Return whether the data are complete. */
static bool disguise(uint32_t i, uint8_t how, input *in, ft_frame *f)
{
    if (ft_drive[i].bus == WIRE)
        return false;
    if (ft_drive[i].family == ODRIVE) {
        f->id = ft_drive[i].id << 5 | (byte(in) & 31u);
        bytes(in, f->data, f->size);
        return true;
    }
    if ((how & 1u) != 0u) {
        const uint32_t at = byte(in) % 16u;

        moteus_state(i, f);
        f->data[at] = byte(in);
        if (at == 15u)
            /* bits that are no valid position */
            put_word(f->data + 5, 0x80000000u);
        return true;
    }
    f->id = ft_drive[i].id << 8 | 0x77u;
    return false;
}

/* Return whether a frame formed from any floats is a command. */
static bool any_command(uint32_t i, const ft_frame *f)
{
    return fits(f) && meant(i, f)
           && (kind(f) == COMMAND || (ft_drive[i].family == MOTEUS
                                      && kind(f) == ENABLING));
}

/* Read and write registers of any number and size, and receive any message of
 * an ODrive. */
static bool register_anything(input *in)
{
    const uint32_t size = 1u << byte(in) % 3u, number = byte(in) * 5u;
    ft_frame f;

    ft_moteus_ask(&f, &ft_drive[0], number, size);
    must(f.size == 2u || f.size == 3u, "a register is asked for");
    ft_moteus_write(&f, &ft_drive[0], number, size, number);
    must(f.size <= 7u, "a register is written");
    f.id = number;
    ft_odrive_can_look(&f, size, false);
    must(f.id >> 5 == number >> 5, "a look is at one drive");
    return true;
}
