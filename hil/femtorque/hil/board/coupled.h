/* The C interface of coupled.c, which hil/board/coupled.py reads too. */
#ifndef COUPLED_H
#define COUPLED_H

#include "bus_steps.h"
#include "drv8301.h"
#include "parts.h"
#include "plant_steps.h"

#define MOST 32     /* joints */
#define CHANNELS 19 /* of a converter */

#define DRIVERS 4   /* gate drivers */

enum { FLOATS, SIGNED, ANTIPHASE, HALVES };

/* port, pin: of the direction signal, low with port -1. */
typedef struct {
    int32_t kind, port, pin;
    pin one, other;
    double sign;
} bridge;

enum { STEADY, IN_LINE, SHUNT };

/* The source of the voltage on an analogue pin. sign: sign of the sensor's
 * current relative to the motor's. below: the shunt is in series with the low
 * switch. heard: Python changes the voltage. */
typedef struct {
    int32_t kind, joint, heard;
    double zero, sign, slope, low, high;
    pin below;
} sense;

/* wire: as in hil/board/power_stage.py. held: an external support holds the arm
 * at rest. stopped: brakes are closed. by_hand: Python simulates the plant.
 * many: the plant has several modes. */
typedef struct {
    parts *chip;
    double together, grip;
    int32_t held, stopped, by_hand, many, joints;
    double plant_at, changed_at, bus, terminals[MOST], wire[MOST];
    bridge bridges[MOST];
    sense senses[CONVERTERS][CHANNELS];
    drv8301 *drivers[DRIVERS]; /* 0: no such driver */
    int32_t select[DRIVERS][2]; /* port and pin of each driver's chip select */
    double origin[MOST], per_unit[MOST]; /* of the encoders */
    int64_t counted[MOST]; /* encoder counts, if the plant is in Python */
    plant_steps *plant;  /* `take` is 0 if the plant is in Python */
    bus_line *line;      /* 0, or servos and drives, in C */
    int32_t place[MOST]; /* numbers of the motors among the plant's joints */
    void (*stuck)(void); /* the plant cannot go on */
    void (*pass)(double until, int32_t held); /* simulates a plant in Python */
    void (*follow)(void); /* allow the plant to change its mode */
    double (*hear)(int32_t joint, double volts); /* of a sensor */
    void (*switched)(void); /* a frame has changed the state of a gate driver */
} coupled;

double bridge_share(const parts *chip, const bridge *r);
double sense_volts(const parts *chip, const sense *s, double amperes,
                   double from, double to);
void coupled_terminals(const coupled *b, double *found);
void coupled_change(void *board);
void coupled_bring_up(void *board);
double coupled_volts(void *board, int32_t converter, uint32_t channel,
                     double from, double to);
int32_t coupled_exchange(void *board, uint32_t word, uint32_t mode);
int64_t coupled_counts(void *board, int32_t joint);

#endif
