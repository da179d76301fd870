/* Operation commands, stops and state of a RobStride. drive.py names the
 * sources and handles the other frames. */
#include "robstride.h"

#include <math.h>

#define OPERATE 1u /* types of frames */
#define STATE 2u
#define STOP 4u
#define RUN 2u  /* mode */
#define SIZE 8  /* bytes of every frame */
#define BITS 16 /* of every field */

static void put(uint8_t *to, uint32_t code)
{
    to[0] = (uint8_t)(code >> 8);
    to[1] = (uint8_t)code;
}

static double get(const uint8_t *from, double lo, double hi)
{
    uint32_t code = (uint32_t)from[0] << 8 | from[1];
    return field_value(code, lo, hi, BITS);
}

/* Answer with the state. */
static void state(robstride *own)
{
    drive *d = &own->drive;
    const motor *m = d->motor;
    const ranges *r = &d->ranges;
    uint32_t mode = m->active ? RUN : 0u;
    uint32_t id = STATE << 24 | mode << 22 | own->faults << 16 | d->id << 8;
    uint8_t *data = drive_answer(d, id | own->host, SIZE);
    d->reply.extended = 1;
    put(data, field_code(motor_position(m), -r->position, r->position, BITS));
    put(data + 2, field_code(m->measured, -r->velocity, r->velocity, BITS));
    put(data + 4, field_code(m->torque, -r->torque, r->torque, BITS));
    put(data + 6, (uint32_t)fmax(rint(10.0 * m->temperature), 0.0));
}

/* Execute a frame that is not an operation command. The frame's identifier
 * contains the number of the host. */
static int32_t other(robstride *own)
{
    drive *d = &own->drive;
    own->host = d->heard.id >> 8 & 0xFFu;
    state(own);
    if (d->heard.id >> 24 != STOP)
        return drive_obey(d);
    motor_stop(d->motor);
    own->faults = d->heard.data[0] == 1 ? 0u : own->faults;
    return 1;
}

/* Obey a frame. An operation command contains its torque in the identifier. */
int32_t robstride_obey(drive *d)
{
    const can_frame *f = &d->heard;
    const ranges *r = &d->ranges;
    motor *m = d->motor;
    if (!f->extended || f->remote || f->size != SIZE)
        return 0;
    if (f->id >> 24 != OPERATE)
        return other((robstride *)d);
    state((robstride *)d);
    drive_feed(d);
    m->position = get(f->data, -r->position, r->position);
    m->velocity = get(f->data + 2, -r->velocity, r->velocity);
    m->kp = get(f->data + 4, 0.0, r->kp);
    m->kd = get(f->data + 6, 0.0, r->kd);
    m->asked =
        field_value(f->id >> 8 & 0xFFFFu, -r->torque, r->torque, BITS);
    return 1;
}
