/* Answers, heartbeats, and inputs; drive.py has their sources and all else. */
#include "odrive_can.h"

#include "parts.h"

#include <math.h>
#include <string.h>

#define TURN 6.283185307179586
#define VOLTS 24.0
#define AMBIENT 25.0 /* deg C, of its bridge */
#define MESSAGE 0x1Fu

enum { VERSION = 0x00, HEARTBEAT, ESTOP, ERROR, ESTIMATES = 0x09 };
enum { INPUT_POS = 0x0C, INPUT_TORQUE = 0x0E };
enum { IQ = 0x14, TEMPERATURE, SUPPLY = 0x17, TORQUES = 0x1C };
enum { IDLE = 1, POSITION_CONTROL = 3, CLOSED_LOOP = 8 };
enum { PASSTHROUGH = 1 };

static const uint8_t hardware[] = {5, 2, 0}; /* an S1 */

static void put(uint8_t *to, uint32_t bits)
{
    int32_t i;
    for (i = 0; i < 4; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
}

static void put_two(uint8_t *to, double first, double second)
{
    float both[2] = {(float)first, (float)second};
    uint32_t bits[2];
    memcpy(bits, both, sizeof bits);
    put(to, bits[0]);
    put(to + 4, bits[1]);
}

static double get(const uint8_t *from)
{
    uint32_t bits = (uint32_t)from[0] | (uint32_t)from[1] << 8 |
                    (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    float number;
    memcpy(&number, &bits, sizeof number);
    return (double)number;
}

/* Read thousandths. */
static double get_small(const uint8_t *from)
{
    return 1e-3 * (int16_t)(from[0] | from[1] << 8);
}

static int is_old(const odrive_can *own)
{
    return own->firmware[0] == 0 && own->firmware[1] < 6;
}

/* Answer a request; return 0 if there is no such message. */
static int32_t reply(odrive_can *own, uint32_t message)
{
    drive *d = &own->drive;
    const motor *m = d->motor;
    double wanted = m->active ? m->asked : 0.0;
    uint8_t *data = drive_answer(d, d->id << 5 | message, 8);
    switch (message) {
    case VERSION:
        data[0] = own->protocol;
        memcpy(data + 1, hardware, sizeof hardware);
        memcpy(data + 4, own->firmware, sizeof own->firmware);
        return 1;
    case ERROR:
        put(data, own->errors);
        put(data + 4, own->errors);
        return 1;
    case ESTIMATES:
        put_two(data, motor_position(m) / TURN, m->measured / TURN);
        return 1;
    case TEMPERATURE: put_two(data, AMBIENT, m->temperature); return 1;
    case SUPPLY: put_two(data, VOLTS, 0.0); return 1;
    case IQ: /* of a motor with 1 N m/A */
    case TORQUES: put_two(data, wanted, m->torque); return 1;
    default: return 0;
    }
}

/* -- heartbeats ------------------------------------------------------------ */

/* Send one and plan the next, until the supply is gone. */
static void beat(void *of)
{
    odrive_can *own = of;
    drive *d = &own->drive;
    can_frame f = {0};
    if (!d->powered || own->beat == 0.0)
        return;
    f.id = d->id << 5 | HEARTBEAT;
    f.size = 8;
    put(f.data, own->errors);
    f.data[4] = d->motor->active ? CLOSED_LOOP : IDLE;
    f.data[7] = is_old(own) ? 0x80 : 0;
    drive_send(d, &f);
    task_after(d->wire->parts, &own->beats, own->beat);
}

/* Send heartbeats from when it is on the bus. */
void odrive_can_begin(odrive_can *own)
{
    own->beats.act = beat;
    own->beats.of = own;
    task_after(own->drive.wire->parts, &own->beats,
               own->drive.boot + own->beat);
}

/* -- inputs ---------------------------------------------------------------- */

/* Do what was asked for, in its mode; other modes than these two are not
 * modelled. */
void odrive_can_follow(odrive_can *own)
{
    motor *m = own->drive.motor;
    int held = own->control == POSITION_CONTROL;
    if (!m->active)
        return;
    m->position = held ? own->position : 0.0;
    m->velocity = held ? own->velocity : 0.0;
    m->kp = held ? own->vel_gain * own->pos_gain / TURN : 0.0;
    m->kd = held ? own->vel_gain / TURN : 0.0;
    m->asked = own->input == PASSTHROUGH ? own->torque : 0.0;
}

/* Answer a request or take an input; a message that is too short is none. */
int32_t odrive_can_obey(drive *d)
{
    odrive_can *own = (odrive_can *)d;
    const can_frame *f = &d->heard;
    uint32_t message = f->id & MESSAGE;
    if (f->extended || f->fd || (message == VERSION && is_old(own)))
        return 0;
    drive_feed(d);
    if (f->remote || (f->size == 0 && message != ESTOP))
        return reply(own, message);
    if (message == INPUT_TORQUE && f->size >= 4) {
        own->torque = get(f->data);
    } else if (message == INPUT_POS && f->size >= 8) {
        own->position = get(f->data) * TURN;
        own->velocity = get_small(f->data + 4) * TURN;
        own->torque = get_small(f->data + 6);
    } else {
        return drive_obey(d);
    }
    odrive_can_follow(own);
    return 0;
}
