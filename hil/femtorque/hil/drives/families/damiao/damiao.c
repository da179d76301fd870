/* Commands, special commands and feedback of a Damiao drive. drive.py names the
 * sources and contains the registers. */
#include "damiao.h"

#include <math.h>

#define BROADCAST 0x7FFu
#define BY_VELOCITY 0x200u /* offset that a mode adds to the identifier */
#define MIT 1.0            /* mode */
#define TIMEOUT_UNIT 50e-6 /* unit, s; damiao-motor's register table */

enum { CLEAR = 0xFB, ENABLE, DISABLE, ZERO }; /* special codes */
enum { DISABLED, ENABLED };                    /* larger numbers are faults */
enum { MST_ID = 7, TIMEOUT = 9, CTRL_MODE, PMAX = 21, VMAX, TMAX };

double damiao_timeout(const damiao *own)
{
    double units = own->registers[TIMEOUT];
    return units != 0.0 ? units * TIMEOUT_UNIT : (double)INFINITY;
}

static ranges set_to(const damiao *own)
{
    ranges r = own->drive.ranges;
    r.position = own->registers[PMAX];
    r.velocity = own->registers[VMAX];
    r.torque = own->registers[TMAX];
    return r;
}

/* Answer with the state. */
void damiao_feedback(damiao *own)
{
    drive *d = &own->drive;
    ranges r = set_to(own);
    uint8_t *data = drive_answer(d, (uint32_t)own->registers[MST_ID], 8);
    data[0] = (uint8_t)((uint32_t)own->status << 4 | (d->id & 15u));
    mit_state(data + 1, d->motor, &r);
    data[6] = data[7] =
        (uint8_t)fmin(fmax(rint(d->motor->temperature), 0.0), 255.0);
}

static void special(damiao *own, int32_t code)
{
    motor *m = own->drive.motor;
    int32_t ends = own->status == ENABLED ? DISABLE : CLEAR;
    if (code == ZERO) {
        motor_zero(m);
    } else if (code == ENABLE && own->status == DISABLED) {
        own->status = ENABLED;
        m->active = own->registers[CTRL_MODE] == MIT;
    } else if (code == ends && own->status != DISABLED) {
        own->status = DISABLED;
        motor_stop(m);
    }
}

/* Obey a command. In this model only commands of MIT mode produce torque. */
int32_t damiao_obey(drive *d)
{
    damiao *own = (damiao *)d;
    const can_frame *f = &d->heard;
    ranges r = set_to(own);
    if (f->extended || f->remote)
        return 0;
    if (f->id == BROADCAST)
        return drive_obey(d);
    if (f->size != MIT_SIZE &&
        (f->size != 4 || f->id != d->id + BY_VELOCITY))
        return 0;
    damiao_feedback(own);
    if (f->size == MIT_SIZE && mit_special(f->data, CLEAR))
        special(own, f->data[7]);
    else if (f->id == d->id && own->registers[CTRL_MODE] == MIT &&
             own->status == ENABLED)
        mit_command(d->motor, f->data, &r);
    d->timeout = damiao_timeout(own);
    drive_feed(d);
    return 1;
}
