/* A Dynamixel X: its control table, its loops and its motor. */
#ifndef DXL_H
#define DXL_H

#include "half_duplex.h"
#include "numbers.h"

/* step, ampere, most, grams, divisor, p_gain, d_gain: of the model, as in servo.py. rate: number
 * of the wire's bitrate. ohm: of the winding. volts: of the supply. angle,
 * velocity: of the output. seen: reported velocity. current: of the motor at
 * time `at`, A. integral: of the current loop, V. zero: angle in the middle of
 * the turn, rad. given: voltage at the motor, V. wanted: steps of current or
 * duty. fed: time of the last packet, s. ready: time from which the servo is on
 * the wire, s. overload_since: NaN without an overload. driven: time at which
 * the motor last had a voltage, s. centre, phase: as in hil/drives/servo.py. */
typedef struct {
    servo wired;
    uint8_t registers[DXL_REGISTERS], stored[DXL_STORED];
    double step, ampere, grams, ohm, centre, phase, volts, temperature;
    double angle, velocity, seen, current, at, integral, zero, given, wanted;
    double fed, ready, overload_since, driven, divisor;
    int32_t most, p_gain, d_gain, rate;
} dxl;

const servo_ways *dxl_ways(void);
const framing *dxl_framing(void);
int32_t dxl_get(const dxl *m, uint32_t at, uint32_t count);
uint32_t dxl_word(const dxl *m, uint32_t at);
void dxl_put(dxl *m, uint32_t at, int64_t value, uint32_t count);
double dxl_boundary(const dxl *m, double now);
int64_t dxl_counts(const dxl *m, double angle);
void dxl_reset_goals(dxl *m);
void dxl_forget_turns(dxl *m);
double dxl_share(const dxl *m);
void dxl_fail(dxl *m, uint8_t code);
void dxl_power_up(dxl *m, double angle);
int dxl_drives(const void *motor);
double dxl_terminal(void *motor, double now, double angle, double velocity,
                    double current);

#endif
