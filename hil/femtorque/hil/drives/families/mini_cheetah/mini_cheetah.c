/* Commands and replies of mini-cheetah and CubeMars (see drive.py). */
#include "mini_cheetah.h"

#include <math.h>

#define LEAST (1.0 * 0.45) /* 1 A times N m/A: early firmware leaves its mode
                            * only below this torque */
#define BUS_VOLTS 24

enum { ENTER = 0xFC, EXIT, ZERO }; /* special codes */

/* Reply with the state, then voltage or temperature: 0 to 255 stand for -40 to
 * 215 deg C (AK driver manual, 5.3, the example of a reply). */
static void reply(mini_cheetah *own)
{
    const motor *m = own->drive.motor;
    uint8_t *data =
        drive_answer(&own->drive, (uint32_t)own->master, own->size);
    data[0] = (uint8_t)own->drive.id;
    mit_state(data + 1, m, &own->drive.ranges);
    data[6] = BUS_VOLTS;
    if (own->warm)
        data[6] = (uint8_t)fmin(fmax(rint(m->temperature) + 40.0, 0.0), 255.0);
    data[7] = (uint8_t)own->error;
}

/* Obey a special command. A drive with an error cannot be enabled. When the
 * drive leaves the mode, the error is cleared. */
void mini_cheetah_special(mini_cheetah *own, int32_t code)
{
    drive *d = &own->drive;
    motor *m = d->motor;
    double seen = fabs(m->standing ? own->seen : m->torque);
    if (code == ZERO)
        motor_zero(m);
    if (code == ZERO || (code == ENTER && own->error))
        return;
    own->error = 0;
    d->calm_below = 0.0;
    if (code == EXIT && own->early && m->active && seen >= LEAST) {
        d->calm_below = LEAST;
        m->position = m->velocity = m->kp = m->kd = m->asked = 0.0;
        return;
    }
    motor_stop(m);
    m->active = code == ENTER;
}

/* Obey a command. A drive that is leaving its mode ignores commands. */
int32_t mini_cheetah_obey(drive *d)
{
    const can_frame *f = &d->heard;
    if (f->extended || f->remote || f->size != MIT_SIZE)
        return 0;
    reply((mini_cheetah *)d);
    if (mit_special(f->data, ENTER)) {
        mini_cheetah_special((mini_cheetah *)d, f->data[7]);
        return 1;
    }
    d->motor->standing = 0;
    if (d->calm_below == 0.0)
        mit_command(d->motor, f->data, &d->ranges);
    drive_feed(d);
    return 1;
}
