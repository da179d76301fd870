/* Packets of Feetech's SDK: ff ff, id, length, instruction, parameters, and the
 * complement of the sum of all bytes after ff ff. */
#include "sts.h"

#include "parts.h"

#include <math.h>
#include <string.h>

#define TAU 6.283185307179586

static uint8_t check_sum(const uint8_t *from, const uint8_t *to)
{
    uint32_t sum = 0;
    for (; from < to; from++)
        sum += *from;
    return (uint8_t)~sum;
}

/* Return true if a packet is a complete instruction to several servos. */
static int to_several(const uint8_t *p, uint32_t size, uint8_t instruction)
{
    return size >= STS_BEFORE_IDS + 1u && p[0] == 0xFF && p[1] == 0xFF &&
           p[4] == instruction &&
           p[size - 1u] == check_sum(p + 2, p + size - 1u);
}

static uint32_t split(const uint8_t *burst, uint32_t size, uint32_t *skipped)
{
    uint32_t own = size < STS_HEADER ? 0 : STS_HEADER + burst[STS_HEADER - 1];
    *skipped = 0;
    return own < size ? own : size < STS_HEADER ? 0 : size;
}

/* Servos answer a SYNC READ in the order of its ids. */
static int32_t ask(const uint8_t *packet, uint32_t size, question *q)
{
    if (!to_several(packet, size, STS_SYNC_READ))
        return 0;
    q->count = (int32_t)(size - STS_BEFORE_IDS - 1u);
    memcpy(q->ids, packet + STS_BEFORE_IDS, (size_t)q->count);
    q->size = STS_AROUND + packet[STS_BEFORE_IDS - 1];
    q->gap = -1.0;
    return 1;
}

const framing *sts_framing(void)
{
    static const framing functions = {split, ask};
    return &functions;
}

/* -- registers ------------------------------------------------------------- */

/* Return the start time of the servo's present millisecond. */
double sts_boundary(const sts *m, double now)
{
    return floor((now - m->phase) / STS_PERIOD) * STS_PERIOD + m->phase;
}

static int within(uint32_t place, uint32_t at, uint32_t count)
{
    return at <= place && place < at + count;
}

/* Write registers. If the lock is open, the servo stores settings permanently.
 * If the lock is closed, the settings are lost when the power is off. */
static void put_in(sts *m, uint32_t at, const uint8_t *data, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count && at + i < STS_POSITION; i++) {
        m->registers[at + i] = data[i];
        if (at + i < STS_STORED && !m->registers[STS_LOCK])
            m->stored[at + i] = data[i];
    }
    if (within(STS_ENABLE, at, count) && !m->registers[STS_ENABLE])
        m->latched = 0;
    if (within(STS_DUTY, at, count)) {
        m->takes_over = sts_boundary(m, parts_seconds(m->wired.parts)) + STS_PERIOD;
        m->coming = sts_word(m, STS_DUTY);
    }
}

static void put_word(sts *m, uint32_t at, int64_t value)
{
    m->registers[at] = (uint8_t)value;
    m->registers[at + 1u] = (uint8_t)(value >> 8);
}

static int64_t rounded(double value, double most)
{
    return (int64_t)fmin(rint(value), most);
}

/* Return the encoder's counts at an angle of the output. */
int64_t sts_counts(const sts *m, double angle)
{
    int64_t offset = sts_word(m, STS_OFFSET), counts;
    offset = offset & 0x800 ? -(offset & 0x7FF) : offset;
    counts = (int64_t)rint((angle - m->centre) * STS_TURN / TAU);
    counts += STS_TURN / 2 - offset;
    return (counts % STS_TURN + STS_TURN) % STS_TURN;
}

static void measure(sts *m)
{
    double now = parts_seconds(m->wired.parts), share = sts_share(m);
    double age = now - sts_boundary(m, now);
    int64_t counts = sts_counts(m, m->angle - age * m->velocity);
    uint8_t *r = m->registers;
    put_word(m, STS_POSITION,
             counts / (r[STS_FACTOR] ? r[STS_FACTOR] : 1));
    put_word(m, STS_SPEED,
             rounded(fabs(m->velocity) * STS_TURN / TAU, 0x7FFF) |
                 (m->velocity < 0.0 ? 0x8000 : 0));
    put_word(m, STS_LOAD,
             rounded(1000.0 * fabs(share), 1000.0) | (share < 0.0 ? 0x400 : 0));
    r[STS_VOLTAGE] = (uint8_t)rounded(m->volts / STS_TENTH, 255.0);
    r[STS_WARMTH] = (uint8_t)fmax((double)rounded(m->temperature, 255.0), 0.0);
    put_word(m, STS_AMPERES, rounded(fabs(m->current) / STS_AMPERE, 0x7FFF));
    r[STS_STATUS] = (uint8_t)sts_errors(m);
}

/* -- the wire -------------------------------------------------------------- */

static void look(servo *s)
{
    const sts *m = (const sts *)s;
    s->id = m->registers[STS_ID];
    s->delay = 2e-6 * m->registers[STS_DELAY] + STS_TURNAROUND + s->late;
    s->listening = s->powered && !s->cut && m->registers[STS_BAUD] == 0;
}

/* Execute SYNC WRITE, the only packet of the board without an answer. */
static void heard(servo *s, const uint8_t *packet, uint32_t size)
{
    sts *m = (sts *)s;
    uint32_t k, count, end = size - 1u;
    if (!to_several(packet, size, STS_SYNC_WRITE))
        return;
    count = packet[STS_BEFORE_IDS - 1];
    for (k = STS_BEFORE_IDS; k < end; k += count + 1u) {
        if (packet[k] != m->registers[STS_ID])
            continue;
        s->catch_up(s->of);
        put_in(m, packet[STS_BEFORE_IDS - 2], packet + k + 1,
               k + 1u + count < end ? count : end - k - 1u);
    }
}

static uint32_t answer(servo *s, const uint8_t *packet, uint32_t size,
                       uint8_t *whole, uint32_t before)
{
    sts *m = (sts *)s;
    uint32_t at = packet[STS_BEFORE_IDS - 2], here;
    uint8_t count = packet[STS_BEFORE_IDS - 1], *said = whole + before;
    (void)size;
    here = at < STS_REGISTERS ? STS_REGISTERS - at : 0;
    here = count < here ? count : here;
    s->catch_up(s->of);
    measure(m);
    said[0] = said[1] = 0xFF;
    said[2] = m->registers[STS_ID];
    said[3] = (uint8_t)(count + 2u);
    said[4] = (uint8_t)sts_errors(m);
    memcpy(said + 5, m->registers + at, here);
    said[5 + here] = check_sum(said + 2, said + 5 + here);
    return here + STS_AROUND;
}

const servo_ways *sts_ways(void)
{
    static const servo_ways functions = {look, heard, answer};
    return &functions;
}
