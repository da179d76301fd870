/* MIT commands and the feedback; drive.py has their sources and all else. */
#include "damiao.h"

#include <math.h>

#define CLEAR 0xFB /* the first of the special codes */
#define MIT 1.0    /* mode */
#define ENABLED 1
#define TIMEOUT_UNIT 50e-6 /* s; damiao-motor's register table */

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

/* Obey an MIT command. */
int32_t damiao_obey(drive *d)
{
    damiao *own = (damiao *)d;
    const can_frame *f = &d->heard;
    if (f->extended || f->remote)
        return 0;
    if (f->id != d->id || f->size != MIT_SIZE || mit_special(f->data, CLEAR))
        return drive_obey(d);
    damiao_feedback(own);
    if (own->registers[CTRL_MODE] == MIT && own->status == ENABLED) {
        ranges r = set_to(own);
        mit_command(d->motor, f->data, &r);
    }
    d->timeout = damiao_timeout(own);
    drive_feed(d);
    return 1;
}
