/* Commands and replies; drive.py, and that of cubemars, have their sources and
 * all else. */
#include "mini_cheetah.h"

#include <math.h>

#define ENTER 0xFC /* the first of the special codes */
#define BUS_VOLTS 24

/* Reply with the state, and with the voltage or with the temperature, -40 to
 * 215 deg C as 0 to 255 (AK driver manual, 5.3, the example of a reply). */
void mini_cheetah_reply(mini_cheetah *own)
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

/* Obey a command; one that leaves its mode ignores it. */
int32_t mini_cheetah_obey(drive *d)
{
    const can_frame *f = &d->heard;
    if (f->extended || f->remote || f->size != MIT_SIZE)
        return 0;
    if (mit_special(f->data, ENTER))
        return drive_obey(d);
    mini_cheetah_reply((mini_cheetah *)d);
    d->motor->standing = 0;
    if (d->calm_below == 0.0)
        mit_command(d->motor, f->data, &d->ranges);
    drive_feed(d);
    return 1;
}
