/* A drive: a node with a motor. */
#ifndef DRIVE_H
#define DRIVE_H

#include "fields.h"
#include "wire.h"

#define MAILBOXES 3 /* most answers that wait; the drives' chips are STM32 or
                     * similar */
#define ANSWERS 32  /* most answers that are late */
#define FILTERS 8

/* A filter takes a frame with `number` in the bits `mask` of its identifier. */
typedef struct {
    uint32_t number, mask;
} filter;

struct drive;

typedef struct {
    task task;
    struct drive *drive;
    can_frame frame;
} answer;

/* Calls of the families in Python. HANDLE: obey `heard`, and write any answer
 * to `reply`. LEFT_ALONE: the timeout has passed. HOT: a winding is too hot.
 * CALM: the torque has fallen below calm_below. */
enum { HANDLE, LEFT_ALONE, HOT, CALM };

/* A drive, as hil/drives/drive.py describes it. answers_in: s from the end of a
 * frame to its answer. commanded: time of the last command, s; NaN without a
 * command. calm_below: N m; 0: never calm. catch_up: brings the motor to the
 * present time; its argument is `of`. obey: obeys the frame `heard`. obey
 * returns true if `reply` has an answer, with the state before the frame.
 * stepped: called with each step's torque, unless it is 0. The struct of a
 * family with more state in C begins with this struct. */
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

void drive_begin(drive *d, wire *w);
int32_t drive_obey(drive *d);
uint8_t *drive_answer(drive *d, uint32_t id, int32_t size);
void drive_feed(drive *d);
void drive_send(drive *d, const can_frame *f);
double drive_step(void *of, double seconds, double now, double angle,
                  double velocity);
int drive_limp(const void *of);

#endif
