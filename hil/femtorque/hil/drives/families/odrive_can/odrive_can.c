/* Estimates, heartbeats and inputs of an ODrive. drive.py names the sources and
 * handles the other frames. */
#include "odrive_can.h"

#include "parts.h"

#include <string.h>

#define TURN 6.283185307179586
#define MESSAGE 0x1Fu

enum { VERSION, HEARTBEAT, ESTOP };
enum { ESTIMATES = 9, INPUT_POS = 12, INPUT_TORQUE = 14 };
enum { IDLE = 1, POSITION_CONTROL = 3, CLOSED_LOOP = 8 };
enum { PASSTHROUGH = 1 };

static void put(uint8_t *to, uint32_t bits)
{
    int32_t i;
    for (i = 0; i < 4; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
}

static void put_float(uint8_t *to, double value)
{
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put(to, bits);
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

/* -- heartbeats ------------------------------------------------------------ */

/* Send a heartbeat and schedule the next, while powered. */
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

/* Start to send heartbeats once the drive is on the bus. */
void odrive_can_begin(odrive_can *own)
{
    own->beats.act = beat;
    own->beats.of = own;
    task_after(own->drive.wire->parts, &own->beats,
               own->drive.boot + own->beat);
}

/* -- inputs ---------------------------------------------------------------- */

/* Follow the inputs in torque or position mode, the modelled modes. */
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

/* Answer a request for estimates. */
static int32_t estimate(drive *d)
{
    uint8_t *data = drive_answer(d, d->heard.id, 8);
    put_float(data, motor_position(d->motor) / TURN);
    put_float(data + 4, d->motor->measured / TURN);
    return 1;
}

/* Answer a request or accept an input. Ignore a message that is too short. */
int32_t odrive_can_obey(drive *d)
{
    odrive_can *own = (odrive_can *)d;
    const can_frame *f = &d->heard;
    uint32_t message = f->id & MESSAGE;
    if (f->extended || f->fd || (message == VERSION && is_old(own)))
        return 0;
    drive_feed(d);
    if (f->remote || (f->size == 0 && message != ESTOP))
        return message == ESTIMATES ? estimate(d) : drive_obey(d);
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
