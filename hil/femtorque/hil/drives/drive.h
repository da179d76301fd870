/* A drive: a node with a motor. */
#ifndef DRIVE_H
#define DRIVE_H

#include "fields.h"
#include "wire.h"

#define MAILBOXES 3 /* waiting answers at most */
#define ANSWERS 32  /* maximum number of late answers */
#define FILTERS 8

/* Accepts frames whose identifier has the bits `mask` of `number`. */
typedef struct {
    uint32_t number, mask;
} filter;

struct drive;

typedef struct {
    task task;
    struct drive *drive;
    can_frame frame;
} answer;

/* Calls from C to the families in Python. HANDLE: execute the frame `heard`,
 * and write any answer to `reply`. LEFT_ALONE: the timeout of commands has
 * passed. HOT: a winding is too hot. CALM: the torque has fallen below
 * calm_below. */
enum { HANDLE, LEFT_ALONE, HOT, CALM };

/* A drive, as hil/drives/drive.py describes it. answers_in: time from the end
 * of a frame to its answer, s. commanded: time of the last command, s; NaN
 * without a command. calm_below: torque below which the drive is calm, N m.
 * catch_up: simulates the motor up to the present time; its argument is `of`.
 * obey: executes the frame `heard`, and returns true if `reply` contains an
 * answer. The answer contains the state before the frame. stepped: called with
 * the torque of each step, unless it is 0. If a family has more state in C, its
 * struct begins with this struct. */
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
