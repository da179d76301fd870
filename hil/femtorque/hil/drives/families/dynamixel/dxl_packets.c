/* Packets of protocol 2.0: ff ff fd 00, id, number of the following bytes,
 * instruction, parameters, check sum. After the length field, the sender
 * inserts an fd after each ff ff fd. */
#include "dxl.h"

#include "parts.h"

#include <math.h>
#include <string.h>

#define HEAD 7u   /* number of bytes up to the end of the length field */
#define LEAST 10u /* bytes of a packet */
#define SUM 2u    /* bytes of the check sum */
#define FAST 4u   /* bytes of one servo in an answer, without registers */
#define WHOLE 11u /* bytes of a status packet without registers */
#define TAU 6.283185307179586

static const uint8_t START[4] = {0xFF, 0xFF, 0xFD, 0};

/* Contents of a packet to servos, with the stuffed bytes removed. at, size: the
 * first two parameters, of two bytes each. */
typedef struct {
    uint32_t id, kind, at, size, count;
    const uint8_t *parameters;
    uint8_t text[BURST];
} order;

/* Return the remainder of a division by x^16 + x^15 + x^2 + 1. */
static uint32_t check_sum(const uint8_t *from, uint32_t size)
{
    uint32_t rest = 0, i, bit;
    for (i = 0; i < size; i++) {
        rest ^= (uint32_t)from[i] << 8;
        for (bit = 0; bit < 8u; bit++)
            rest = rest & 0x8000u ? (rest << 1 ^ 0x8005u) & 0xFFFFu : rest << 1;
    }
    return rest;
}

static uint32_t word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static void put_word(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

/* Return true if the bytes before an index end with ff ff fd. */
static int like_start(const uint8_t *from, const uint8_t *at)
{
    return at - from >= 3 && memcmp(at - 3, START, 3) == 0;
}

/* Read a packet. Return 0 if incomplete, spoilt, or an answer. */
static int parse(const uint8_t *packet, uint32_t size, order *found)
{
    const uint8_t *from = packet + HEAD, *at, *end = packet + size - SUM;
    uint32_t count = 0;
    if (size < LEAST || memcmp(packet, START, sizeof START) != 0 ||
        word(packet + 5) != size - HEAD ||
        word(end) != check_sum(packet, size - SUM) || *from == DXL_STATUS)
        return 0;
    for (at = from; at < end; at++)
        if (*at != START[2] || !like_start(from, at))
            found->text[count++] = *at;
    memset(found->text + count, 0, 4); /* zeros for missing parameters */
    found->id = packet[4];
    found->kind = found->text[0];
    found->parameters = found->text + 1;
    found->count = count - 1u;
    found->at = word(found->parameters);
    found->size = word(found->parameters + 2);
    return 1;
}

/* Find the first packet. Skip the bytes before it. */
static uint32_t split(const uint8_t *burst, uint32_t size, uint32_t *skipped)
{
    uint32_t at, whole;
    for (at = 0; at + HEAD <= size; at++)
        if (memcmp(burst + at, START, sizeof START) == 0)
            break;
    *skipped = at;
    if (at + HEAD > size)
        return 0;
    whole = HEAD + word(burst + at + 5);
    return at + whole <= size ? whole : 0;
}

/* Find the servos that answer a packet. All servos answer a broadcast PING. A
 * servo answers each packet that is addressed to it alone, except SYNC WRITE.
 * The answer to a write has a different size. */
static int32_t ask(const uint8_t *packet, uint32_t size, question *q)
{
    order found;
    uint32_t i, several;
    if (!parse(packet, size, &found) || found.kind == DXL_SYNC_WRITE)
        return 0;
    several = found.kind == DXL_SYNC_READ || found.kind == DXL_FAST_SYNC_READ;
    if (!several && found.id == DXL_EVERYBODY && found.kind != DXL_PING)
        return 0;
    q->gap = found.kind == DXL_FAST_SYNC_READ ? DXL_GAP : -1.0;
    q->size = found.kind == DXL_FAST_SYNC_READ ? FAST : WHOLE;
    q->size += several || found.kind == DXL_READ ? found.size : 3u;
    q->count = several ? (found.count > 4u ? (int32_t)found.count - 4 : 0)
                       : found.id == DXL_EVERYBODY ? NAMED : 1;
    q->count = q->count < NAMED ? q->count : NAMED;
    for (i = 0; i < (uint32_t)q->count; i++)
        q->ids[i] = several ? found.parameters[4 + i] : (uint8_t)i;
    if (!several && found.id != DXL_EVERYBODY)
        q->ids[0] = (uint8_t)found.id;
    return 1;
}

const framing *dxl_framing(void)
{
    static const framing functions = {split, ask};
    return &functions;
}

/* -- registers ------------------------------------------------------------- */

/* Return the error that answers a forbidden write. */
static uint8_t refusal(const dxl *m, uint32_t at, const uint8_t *data,
                       uint32_t count, int64_t value)
{
    const uint8_t *r = m->registers;
    int expired = r[DXL_WATCHDOG] == DXL_EXPIRED;
    int limited = at == DXL_GOAL_CURRENT || at == DXL_GOAL_PWM;
    int64_t most = dxl_word(
        m, at == DXL_GOAL_CURRENT ? DXL_CURRENT_LIMIT : DXL_PWM_LIMIT);
    if (at < DXL_ID || at + count > DXL_TICK ||
        (at <= DXL_HARDWARE && DXL_HARDWARE < at + count) ||
        (at < DXL_STORED && r[DXL_ENABLE] == 1))
        return DXL_ACCESS_ERROR;
    if (expired && DXL_GOAL_PWM <= at && at <= DXL_GOAL_POSITION)
        return DXL_RANGE_ERROR;
    if (at == DXL_WATCHDOG &&
        (data[0] > DXL_LONGEST_WATCH || (data[0] != 0 && expired)))
        return DXL_RANGE_ERROR;
    if (limited && (count != 2u || value > most || value < -most))
        return DXL_LIMIT_ERROR;
    if (at == DXL_CURRENT_LIMIT && (value < 0 || value > m->most))
        return DXL_LIMIT_ERROR;
    if (at == DXL_GOAL_POSITION && r[DXL_MODE] == DXL_BY_POSITION &&
        (value < dxl_get(m, DXL_LEAST, 4) || value > dxl_get(m, DXL_MOST, 4)))
        return DXL_LIMIT_ERROR;
    if (at == DXL_ENABLE && data[0] && r[DXL_HARDWARE] & r[DXL_SHUTDOWN])
        return DXL_ACCESS_ERROR; /* only a reboot ends a shutdown */
    return 0;
}

/* Write a register. Return the error that the answer contains. */
static uint8_t put_in(dxl *m, uint32_t at, const uint8_t *data, uint32_t count)
{
    uint64_t value = 0, sign;
    uint32_t i;
    uint8_t error;
    if (count == 0)
        return DXL_LENGTH_ERROR;
    for (i = 0; i < count && i < 8u; i++)
        value |= (uint64_t)data[i] << 8u * i;
    sign = (uint64_t)1 << (8u * i - 1u);
    error = refusal(m, at, data, count, (int64_t)((value ^ sign) - sign));
    if (error)
        return error;
    memcpy(m->registers + at, data, count);
    for (i = 0; i < count && at + i < DXL_STORED; i++)
        m->stored[at + i] = data[i];
    if (at == DXL_MODE)
        dxl_reset_goals(m);
    if (at == DXL_MODE || at == DXL_ENABLE)
        dxl_forget_turns(m);
    if (at == DXL_ENABLE) {
        m->fed = parts_seconds(m->wired.parts);
        m->integral = 0.0;
        dxl_put(m, DXL_GOAL_POSITION, dxl_counts(m, m->angle - m->zero), 4);
    }
    return 0;
}

static void measure(dxl *m)
{
    double now = parts_seconds(m->wired.parts);
    double age = now - dxl_boundary(m, now);
    double load = m->step != 0.0 ? m->step : 1e-3 * m->ampere; /* for servos
                                                                * without a
                                                                * current
                                                                * sensor: load,
                                                                * 0.1 % */
    double at = m->angle - m->zero - age * m->velocity;
    dxl_put(m, DXL_POSITION, dxl_counts(m, at), 4);
    dxl_put(m, DXL_VELOCITY, (int64_t)rint(m->seen / TAU * 60.0 / DXL_RPM), 4);
    dxl_put(m, DXL_CURRENT, (int64_t)rint(m->current / load), 2);
    dxl_put(m, DXL_PWM, (int64_t)rint(DXL_FULL * dxl_share(m)), 2);
    dxl_put(m, DXL_VOLTAGE, (int64_t)rint(10.0 * m->volts), 2);
    dxl_put(m, DXL_WARMTH,
            (int64_t)fmin(fmax(rint(m->temperature), 0.0), 255.0), 1);
    dxl_put(m, DXL_TICK, (int64_t)(1e3 * now) % 32768, 2);
}

/* -- the wire -------------------------------------------------------------- */

static void look(servo *s)
{
    const dxl *m = (const dxl *)s;
    int rate = m->registers[DXL_BAUD] < 7 ? m->registers[DXL_BAUD] : 7;
    s->id = m->registers[DXL_ID];
    s->delay = 2e-6 * m->registers[DXL_DELAY] + DXL_TURNAROUND + s->late;
    s->listening = s->powered && !s->cut && rate == m->rate &&
                   parts_seconds(s->parts) >= m->ready;
}

static uint8_t alert(const dxl *m)
{
    return m->registers[DXL_HARDWARE] ? DXL_ALERT : 0;
}

static void feed(dxl *m)
{
    m->wired.catch_up(m->wired.of);
    m->fed = parts_seconds(m->wired.parts);
}

/* Execute a broadcast packet that requests no answer. */
static void heard(servo *s, const uint8_t *packet, uint32_t size)
{
    dxl *m = (dxl *)s;
    order found;
    uint32_t k;
    if (!parse(packet, size, &found))
        return;
    feed(m);
    if (found.kind != DXL_SYNC_WRITE)
        return;
    for (k = 4; k + found.size < found.count; k += found.size + 1u)
        if (found.parameters[k] == m->registers[DXL_ID])
            put_in(m, found.at, found.parameters + k + 1, found.size);
}

/* Append the check sum to bytes. Return the new size. */
static uint32_t seal(uint8_t *whole, uint32_t size)
{
    put_word(whole + size, check_sum(whole, size));
    return size + SUM;
}

/* Make a status packet. Return its size. */
static uint32_t status(const dxl *m, uint8_t *said, uint8_t error,
                       const uint8_t *data, uint32_t count)
{
    uint8_t *at = said + HEAD;
    uint32_t i;
    memcpy(said, START, sizeof START);
    said[4] = m->registers[DXL_ID];
    *at++ = DXL_STATUS;
    *at++ = error | alert(m);
    for (i = 0; i < count; i++) {
        *at++ = data[i];
        if (like_start(said + HEAD, at))
            *at++ = START[2];
    }
    put_word(said + 5, (uint32_t)(at - said) - HEAD + SUM);
    return seal(said, (uint32_t)(at - said));
}

/* Answer a read. */
static uint32_t give(dxl *m, uint8_t *said, const order *found)
{
    if (found->at + found->size > DXL_REGISTERS)
        return status(m, said, DXL_ACCESS_ERROR, 0, 0);
    measure(m);
    return status(m, said, 0, m->registers + found->at, found->size);
}

/* Add the servo's bytes to the common answer; the first adds a header. */
static uint32_t add_part(dxl *m, uint8_t *whole, uint32_t before,
                         const order *found)
{
    uint32_t servos = found->count - 4u, end = before, here;
    here = found->at < DXL_REGISTERS ? DXL_REGISTERS - found->at : 0;
    here = found->size < here ? found->size : here;
    measure(m);
    if (before == 0) {
        memcpy(whole, START, sizeof START);
        whole[4] = DXL_EVERYBODY;
        put_word(whole + 5, (FAST + found->size) * servos + 1u);
        whole[7] = DXL_STATUS;
        end = 8;
    }
    whole[end++] = alert(m);
    whole[end++] = m->registers[DXL_ID];
    memcpy(whole + end, m->registers + found->at, here);
    return seal(whole, end + here) - before;
}

static uint32_t answer(servo *s, const uint8_t *packet, uint32_t size,
                       uint8_t *whole, uint32_t before)
{
    static const uint8_t SHOWN[3] = {DXL_MODEL, DXL_MODEL + 1, DXL_FIRMWARE};
    dxl *m = (dxl *)s;
    const uint8_t *r = m->registers;
    uint8_t *said = whole + before, error = DXL_INSTRUCTION_ERROR, shown[3];
    order found;
    uint32_t i;
    if (!parse(packet, size, &found))
        return 0;
    feed(m);
    for (i = 0; i < sizeof shown; i++)
        shown[i] = r[SHOWN[i]];
    if (found.kind == DXL_PING)
        return status(m, said, 0, shown, sizeof shown);
    if (found.kind == DXL_READ || found.kind == DXL_SYNC_READ)
        return r[DXL_LEVEL] ? give(m, said, &found) : 0;
    if (found.kind == DXL_FAST_SYNC_READ)
        return r[DXL_LEVEL] && r[DXL_FIRMWARE] >= DXL_FIRST_FAST
                   ? add_part(m, whole, before, &found)
                   : 0;
    if (found.kind == DXL_WRITE)
        error = found.count < 2u ? DXL_LENGTH_ERROR
                                 : put_in(m, found.at, found.parameters + 2,
                                          found.count - 2u);
    size = r[DXL_LEVEL] > 1
               ? status(m, said, found.kind == DXL_REBOOT ? 0 : error, 0, 0)
               : 0;
    if (found.kind == DXL_REBOOT)
        dxl_power_up(m, m->angle);
    return size;
}

const servo_ways *dxl_ways(void)
{
    static const servo_ways functions = {look, heard, answer};
    return &functions;
}
