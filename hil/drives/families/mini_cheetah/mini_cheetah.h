/* A drive with the mini-cheetah's frames. */
#ifndef MINI_CHEETAH_H
#define MINI_CHEETAH_H

#include "drive.h"

/* master: identifier of the replies. size: of a reply, bytes. warm: its last
 * bytes are temperature and error. */
typedef struct {
    drive drive;
    int32_t master, size, warm, error;
} mini_cheetah;

void mini_cheetah_reply(mini_cheetah *own);
int32_t mini_cheetah_obey(drive *d);

#endif
