/* The interface of coupled.c, which hil/board/coupled.py reads too. */
#ifndef COUPLED_H
#define COUPLED_H

#include "lent.h"
#include "plant_steps.h"

#define MOST 32     /* joints */
#define CHANNELS 19 /* of a converter */

/* A pin that follows a compare value; follows 0: it is low. */
typedef struct {
    int32_t timer, channel, follows, inverted;
    double top;
} pin;

enum { FLOATS, SIGNED, ANTIPHASE, HALVES };

/* port, pin: of the direction, -1 where that is no output and thus low. wire:
 * as in hil/board/power_stage.py. */
typedef struct {
    int32_t kind, port, pin;
    pin one, other;
    double sign, wire;
} bridge;

enum { STEADY, IN_LINE, SHUNT };

/* The source of an analogue pin's voltage. sign: of the current at the sensor
 * relative to the motor's; below: the low switch in series with a shunt. */
typedef struct {
    int32_t kind, joint;
    double zero, sign, slope, low, high;
    pin below;
} sense;

/* held: an arm at rest is held up from outside; stopped: brakes are closed, the
 * arm is at rest, and all terminals float. */
typedef struct {
    lent *chip;
    double seconds_before, hz;
    int64_t cycles_then;
    double together, grip;
    int32_t held, stopped, joints;
    double plant_at, changed_at, bus, terminals[MOST];
    bridge bridges[MOST];
    sense senses[LENT_CONVERTERS][CHANNELS];
    double origin[MOST], per_unit[MOST]; /* of the encoders */
    int64_t counted[MOST]; /* counts of the encoders of a plant in Python */
    plant_steps *plant;  /* without `take`: the plant is in Python */
    int32_t place[MOST]; /* of the motors among the plant's joints */
    void (*stuck)(void); /* the plant cannot go on */
    void (*pass)(double time, int32_t held); /* move a plant in Python on */
    double (*count)(const lent_timer *t, double cycle);
} coupled;

void coupled_change(void *board);
void coupled_bring_up(void *board);
double coupled_volts(void *board, int32_t converter, uint32_t channel,
                     double from, double to);
int64_t coupled_counts(void *board, int32_t joint);

#endif
