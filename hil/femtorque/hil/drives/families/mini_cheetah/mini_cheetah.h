/* A drive with the mini-cheetah's frames. */
#ifndef MINI_CHEETAH_H
#define MINI_CHEETAH_H

#include "drive.h"

/* master: identifier of the replies. size: number of bytes of a reply. warm: a
 * reply ends with temperature and error. early: see drive.py. seen: last torque
 * measured while the drive commutated, N m. */
typedef struct {
    drive drive;
    double seen;
    int32_t master, size, warm, error, early;
} mini_cheetah;

void mini_cheetah_special(mini_cheetah *own, int32_t code);
int32_t mini_cheetah_obey(drive *d);

#endif
