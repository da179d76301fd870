/* A RobStride drive. */
#ifndef ROBSTRIDE_H
#define ROBSTRIDE_H

#include "drive.h"

/* host: number of the host that the drive answers. faults: fault bits in the
 * identifiers of the answers. */
typedef struct {
    drive drive;
    uint32_t host, faults;
} robstride;

int32_t robstride_obey(drive *d);

#endif
