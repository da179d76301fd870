/* Registers and commands of a moteus. drive.py names the sources, and has the
 * diagnostic stream, calibrations and faults. */
#include "moteus.h"

#include <math.h>
#include <string.h>

#define TURN 6.283185307179586
#define NOTHING 0x50u /* kinds of subframes */
#define TAKES 0x40u
#define GIVES 0x42u
#define GIVEN 0x41u
#define BAD_WRITE 0x30u
#define BAD_READ 0x31u
#define READS 0x10u /* first type that reads; types that write are below */
#define REPLIES 0x20u
#define UNKNOWN 1u /* error of an unknown register */
#define WANTS_ANSWER 0x80u
#define FIRST 0x20u /* register of a command */

enum { STOPPED = 0, CALIBRATING = 3, POSITION = 10 }; /* modes */
enum { INT8, INT16, INT32, FLOAT };                   /* forms of numbers */
enum { MODE, TO, SPEED, TORQUE, KP, KD, MOST, END, TIME, FASTEST, GAIN };

static const uint32_t widths[] = {1, 2, 4, 4};
static const double fresh[MOTEUS_COMMAND] = {
    0.0, 0.0, 0.0, 0.0, 1.0, 1.0, (double)NAN, (double)NAN, 0.0, (double)NAN,
    (double)NAN};

/* -- numbers --------------------------------------------------------------- */

static uint32_t get(moteus *own)
{
    own->bad |= own->at >= own->drive.heard.size;
    return own->bad ? 0u : own->drive.heard.data[own->at++];
}

/* Read a number of seven bits per byte, least significant first. */
static uint64_t get_varuint(moteus *own)
{
    uint64_t number = 0;
    uint32_t byte = 0x80u, shift;
    for (shift = 0; byte & 0x80u && !own->bad; shift += 7) {
        byte = get(own);
        number |= (uint64_t)(byte & 0x7Fu) << shift;
        own->bad |= shift > 49;
    }
    return number;
}

/* Read a register's number. The minimum integer of a type stands for NaN. */
static double get_number(moteus *own, uint64_t of, uint32_t form)
{
    int64_t least = -((int64_t)1 << (8 * widths[form] - 1)), whole;
    uint32_t bits = 0, i;
    float real;
    for (i = 0; i < widths[form]; i++)
        bits |= get(own) << (8 * i);
    memcpy(&real, &bits, sizeof real);
    if (form == FLOAT || of >= MOTEUS_REGISTERS)
        return (double)real;
    whole = bits < -least ? (int64_t)bits : (int64_t)bits + 2 * least;
    return whole == least ? (double)NAN
                          : (double)whole * own->steps[of][form];
}

/* Append bytes to the answer, least significant byte first. The drive does not
 * send an answer that is too long for a frame; this behaviour is chosen. */
static void put(moteus *own, uint32_t bits, uint32_t size)
{
    uint32_t i;
    for (i = 0; i < size; i++, own->used++)
        if (own->used < DATA)
            own->answer[own->used] = (uint8_t)(bits >> (8 * i));
}

static void put_varuint(moteus *own, uint64_t number)
{
    for (; number >= 0x80u; number >>= 7)
        put(own, (uint32_t)number | 0x80u, 1);
    put(own, (uint32_t)number, 1);
}

/* Write a number into a register, truncated and clamped to its type. */
static void put_number(moteus *own, uint64_t of, uint32_t form)
{
    double value = own->registers[of];
    double most = ldexp(1.0, (int)(8 * widths[form]) - 1) - 1.0;
    float real = (float)value;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    if (form != FLOAT) {
        value = fmin(fmax(value / own->steps[of][form], -most), most);
        bits = isnan(own->registers[of]) ? (uint32_t)(int32_t)(-most - 1.0)
                                         : (uint32_t)(int32_t)value;
    }
    put(own, bits, widths[form]);
}

/* -- subframes ------------------------------------------------------------- */

static void refuse(moteus *own, uint32_t kind, uint64_t number)
{
    put(own, kind, 1);
    put_varuint(own, number);
    put(own, UNKNOWN, 1);
}

static void read(moteus *own, uint64_t first, uint64_t count, uint32_t form)
{
    uint64_t at;
    for (at = first; at < first + count; at++)
        if (at >= MOTEUS_REGISTERS || own->steps[at][0] == 0.0) {
            refuse(own, BAD_READ, at);
            return;
        }
    put(own, REPLIES | form << 2 | (count < 4 ? (uint32_t)count : 0u), 1);
    if (count >= 4)
        put_varuint(own, count);
    put_varuint(own, first);
    for (at = first; at < first + count; at++)
        put_number(own, at, form);
}

/* Write registers. A write of the mode starts a new command. */
static void write(moteus *own, uint64_t first, uint64_t count, uint32_t form)
{
    uint64_t left = (uint64_t)(own->drive.heard.size - own->at), at;
    own->bad |= count > left / widths[form];
    for (at = first; at < first + count && !own->bad; at++) {
        double value = get_number(own, at, form);
        if (at == 0)
            memcpy(own->next, fresh, sizeof fresh);
        if (at == 0)
            own->next[MODE] = value;
        else if (at - FIRST > GAIN - TO)
            refuse(own, BAD_WRITE, at);
        else if (!isnan(own->next[MODE]))
            own->next[TO + at - FIRST] = value;
    }
}

static void stream(moteus *own, uint32_t kind)
{
    uint32_t channel = get(own);
    uint64_t size = get_varuint(own);
    uint64_t left = (uint64_t)(own->drive.heard.size - own->at);
    own->bad |= kind == TAKES && size > left;
    own->asks = kind == TAKES ? MOTEUS_TAKE : MOTEUS_GIVE;
    own->size = size < DATA ? (int32_t)size : DATA;
    if (kind == GIVES)
        put(own, GIVEN | channel << 8, 2);
    if (!own->bad && own->used < DATA)
        own->drive.tell(HANDLE);
    own->at += kind == TAKES ? own->size : 0;
}

/* Execute a subframe, which begins with its type. */
static void subframe(moteus *own)
{
    uint32_t kind = get(own), form = kind >> 2 & 3u;
    uint64_t count = kind & 3u, first;
    if (kind == NOTHING)
        return;
    if (kind == TAKES || kind == GIVES) {
        stream(own, kind);
        return;
    }
    own->bad |= kind >= REPLIES;
    count = count ? count : get_varuint(own);
    first = get_varuint(own);
    if (own->bad)
        return;
    if (kind < READS)
        write(own, first, count, form);
    else
        read(own, first, count, form);
}

/* Advance the registers to the present time. */
static void measure(moteus *own)
{
    const motor *m = own->drive.motor;
    double *r = own->registers;
    r[0x000] = own->mode;
    r[0x001] = motor_position(m) / TURN;
    r[0x002] = m->measured / TURN;
    r[0x003] = m->torque;
    r[0x00A] = r[0x00E] = m->temperature;
    r[0x00C] = own->home;
    r[0x00F] = own->fault;
    r[0x102] = own->version;
    memcpy(r + FIRST, own->command + TO, (GAIN - MODE) * sizeof *r);
}

/* -- what it does ---------------------------------------------------------- */

double moteus_timeout(const moteus *own)
{
    double asked = own->command[TIME];
    if (isnan(asked))
        return (double)INFINITY;
    return asked != 0.0 ? asked : own->default_timeout;
}

/* Reset to the state at power-up. */
void moteus_reset(moteus *own)
{
    own->mode = STOPPED;
    own->fault = 0;
    own->drive.motor->limit = own->drive.ranges.torque;
    memcpy(own->command, fresh, sizeof fresh);
}

/* Follow the last command. */
void moteus_follow(moteus *own)
{
    const double *c = own->command, torque = own->drive.ranges.torque;
    motor *m = own->drive.motor;
    m->limit = isnan(c[MOST]) || c[MOST] > torque ? torque : c[MOST];
    m->active = 1;
    m->position = isnan(c[TO]) ? motor_position(m) : c[TO] * TURN;
    m->velocity = c[SPEED] * TURN;
    m->kp = c[KP] * own->kp;
    m->kd = c[KD] * own->kd;
    m->asked = c[TORQUE];
}

/* Switch the bridge off. The supply voltage stops the motor currents within
 * some 10 us, for any bandwidth of the loop. */
void moteus_let_go(moteus *own)
{
    motor_stop(own->drive.motor);
    own->drive.motor->torque = 0.0;
}

static void stop(moteus *own)
{
    moteus_let_go(own);
    own->mode = STOPPED;
    own->fault = 0;
    own->drive.commanded = (double)NAN;
}

/* Accept a position command that the planner would not limit. */
static void take(moteus *own)
{
    drive *d = &own->drive;
    if (!(own->next[FASTEST] < 0.0) || !(own->next[GAIN] < 0.0))
        return;
    memcpy(own->command, own->next, sizeof own->command);
    d->timeout = moteus_timeout(own);
    drive_feed(d);
    if (own->mode == POSITION)
        moteus_follow(own);
    own->asks = MOTEUS_CALIBRATE;
    if (own->mode == STOPPED)
        d->tell(HANDLE);
}

/* Execute the subframes in turn, then, if all were valid, the command. */
int32_t moteus_obey(drive *d)
{
    moteus *own = (moteus *)d;
    const can_frame *f = &d->heard;
    uint32_t source = f->id >> 8;
    uint8_t *data;
    if (f->remote || f->id > 0xFFFFu)
        return 0;
    own->at = own->bad = own->used = 0;
    own->next[MODE] = (double)NAN;
    measure(own);
    while (own->at < f->size && !own->bad)
        subframe(own);
    if (own->bad)
        return 0;
    if (trunc(own->next[MODE]) == STOPPED)
        stop(own);
    else if (trunc(own->next[MODE]) == POSITION &&
             (own->mode == STOPPED || own->mode == CALIBRATING ||
              own->mode == POSITION))
        take(own);
    if (own->used == 0 || own->used > DATA || !(source & WANTS_ANSWER))
        return 0;
    data = drive_answer(d, d->id << 8 | (source & 0x7Fu), own->used);
    d->reply.size = can_size(can_code(&d->reply));
    memset(data, NOTHING, DATA);
    memcpy(data, own->answer, (size_t)own->used);
    d->reply.extended = d->reply.id > 0x7FFu;
    d->reply.fd = 1;
    return 1;
}
