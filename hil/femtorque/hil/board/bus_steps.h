/* The C interface of bus_steps.c. */
#ifndef BUS_STEPS_H
#define BUS_STEPS_H

#include "parts.h"
#include "plant_steps.h"

/* A servo. terminal: returns the voltage at the servo's motor from now on, V;
 * NaN if the terminals float. The arguments are the angle and velocity of the
 * output, and the motor's current, A. sign: direction of the servo. turns:
 * signed turns of the output per turn of the joint. gear, output: numbers of
 * the plant's joints for the motor and for the output. The motor and the output
 * may belong to the same joint. */
typedef struct {
    void *servo;
    double (*terminal)(void *servo, double now, double angle, double velocity,
                       double current);
    int (*drives)(const void *servo); /* whether its bridge is on */
    double sign, turns;
    int64_t gear, output;
} served;

/* A drive. turns, gear and output: as for a servo. step: returns the mean
 * torque at the drive's output over the coming seconds. zero: angle of the
 * output at the joint's zero, rad. */
typedef struct {
    void *drive;
    double (*step)(void *drive, double seconds, double now, double angle,
                   double velocity);
    int (*limp)(const void *drive); /* the drive's output turns freely */
    double turns, zero;
    int64_t gear, output;
} driven;

/* interval: s for which the voltage of a servo or the torque of a drive is
 * constant. motors (joints,): for each motor of the board, the number of its
 * joint in the plant. */
typedef struct {
    plant_steps *plant;
    int64_t servos, drives, joints;
    served *served;
    driven *driven;
    const int64_t *motors, *outputs;
    double interval;
} bus_line;

/* Servos and drives without a board. at: time up to which the joints are
 * simulated, s. held: the arm is held at its start. line: 0 if the plant is in
 * Python. still (joints,): voltages of the other motors. pass: Python simulates
 * the joints. stuck: the simulation of the plant has failed. */
typedef struct {
    parts *clock;
    bus_line *line;
    const double *still;
    double at;
    int32_t held;
    void (*pass)(void);
    void (*stuck)(void);
} bench;

int bus_acts(const bus_line *line);
int bus_steps(const bus_line *line, double since, double until,
              const double *terminals, int held);
void bus_look(const bus_line *line, plant_steps *seen);
void bench_bring_up(void *of);

#endif
