/* An ODrive with CANSimple. */
#ifndef ODRIVE_CAN_H
#define ODRIVE_CAN_H

#include "drive.h"

/* An ODrive (drive.py) and its last inputs, rad, rad/s, N m. */
typedef struct {
    drive drive;
    double beat, pos_gain, vel_gain, position, velocity, torque;
    uint32_t errors, control, input;
    uint8_t firmware[3];
    task beats;
} odrive_can;

void odrive_can_begin(odrive_can *own);
void odrive_can_follow(odrive_can *own);
int32_t odrive_can_obey(drive *d);

#endif
