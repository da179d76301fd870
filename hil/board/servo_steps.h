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
    int (*drives)(const void *servo); /* whether its bridge is on */
    double sign, turns;
    int64_t gear, output;
} served;

/* interval: s for which a servo's voltage is held. motors: number of the
 * plant's joint with each of the board's motors, `joints` in all. */
typedef struct {
    plant_steps *plant;
    int64_t servos, joints;
    served *served;
    const int64_t *motors, *outputs;
    double interval;
} servo_line;

int servos_drive(const servo_line *line);
int servo_steps(const servo_line *line, double since, double until,
                const double *terminals);
void servo_look(const servo_line *line, plant_steps *seen);

#endif
