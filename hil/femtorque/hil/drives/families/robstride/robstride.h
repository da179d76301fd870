/* A RobStride drive. */
#ifndef ROBSTRIDE_H
#define ROBSTRIDE_H

#include "drive.h"

/* host: that the drive answers. faults: bits in its identifiers. */
typedef struct {
    drive drive;
    uint32_t host, faults;
} robstride;

int32_t robstride_obey(drive *d);

#endif
