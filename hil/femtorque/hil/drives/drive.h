/* A drive: a node with a motor. */
#ifndef DRIVE_H
#define DRIVE_H

#include "fields.h"
#include "wire.h"

#define MAILBOXES 3 /* answers that wait at most; the drives' chips are STM32 or
                     * similar */
#define ANSWERS 32  /* answers that are late at most */
#define FILTERS 8

/* A frame for it has `number` in the bits of `mask` of its identifier. */
typedef struct {
    uint32_t number, mask;
} filter;

struct drive;

typedef struct {
    task task;
    struct drive *drive;
    can_frame frame;
} answer;

/* Calls of the families in Python. handle: obey `heard`, with an answer at
 * `reply` if there is one; left_alone: after its timeout; hot: a winding is too
 * hot; calm: its torque has come below calm_below. */
enum { HANDLE, LEFT_ALONE, HOT, CALM };

/* As hil/drives/drive.py describes it; answers_in: s from the end of a frame to
 * its answer; commanded: NaN without a command.
 * calm_below: N m, 0: never. catch_up: with `of`, brings the motor to now.
 * obey: obeys `heard`; returns true if there is an answer, with the state
 * before, at `reply`. stepped: hears of each step's torque, if there is one. A
 * family that has more in C has a struct that begins with this one. */
typedef struct drive {
    node node;
    wire *wire;
    motor *motor;
    double answers_in, late, boot, listens_from, commanded, timeout, calm_below;
    uint32_t id;
    ranges ranges;
    int32_t cut, powered, supplied, queued, filters;
    filter filter[FILTERS];
    can_frame queue[MAILBOXES], heard, reply;
    answer answers[ANSWERS];
    waiter recovers;
    void (*catch_up)(void *of);
    void *of;
    int32_t (*obey)(struct drive *d);
    int32_t (*tell)(int32_t what);
    void (*stepped)(double torque, double seconds, double now,
                    double velocity);
} drive;

extern const node_ways drive_ways;

void drive_begin(drive *d, wire *w);
int32_t drive_obey(drive *d);
uint8_t *drive_answer(drive *d, uint32_t id, int32_t size);
void drive_feed(drive *d);
void drive_send(drive *d, const can_frame *f);
double drive_step(void *of, double seconds, double now, double angle,
                  double velocity);
int drive_limp(const void *of);

#endif
