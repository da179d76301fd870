/* A Damiao drive. */
#ifndef DAMIAO_H
#define DAMIAO_H

#include "drive.h"

#define DAMIAO_REGISTERS 82

/* status: upper four bits of the drive's feedback. */
typedef struct {
    drive drive;
    double registers[DAMIAO_REGISTERS];
    int32_t status;
} damiao;

double damiao_timeout(const damiao *own);
void damiao_feedback(damiao *own);
int32_t damiao_obey(drive *d);

#endif
