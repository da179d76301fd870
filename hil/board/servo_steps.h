/* The interface of servo_steps.c. */
#ifndef SERVO_STEPS_H
#define SERVO_STEPS_H

#include "plant_steps.h"

/* One servo. terminal: V at its motor from now on, NaN where the motor floats,
 * at an angle and velocity of its output and with a current, A, of its motor.
 * sign: of the servo's direction; turns: turns of its output per turn of the
 * joint, signed. gear, output: numbers of the plant's joints that have the
 * motor and the output, which may be the same. */
typedef struct {
    void *servo;
    double (*terminal)(void *servo, double now, double angle, double velocity,
                       double current);
    double sign, turns;
    int64_t gear, output;
} served;

/* h: length of an interval, s. */
typedef struct {
    plant_steps *plant;
    int64_t servos;
    served *served;
    double h;
} servo_line;

int servo_steps(servo_line *line, double since, int64_t count);

#endif
