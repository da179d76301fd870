/* A host's adapter on a CAN bus. */
#ifndef ADAPTER_H
#define ADAPTER_H

#include "wire.h"

#define QUEUE 1000 /* waiting frames at most; a frame takes 100 us at 1 Mbit/s */

/* queue: a ring in which `waiting` frames wait, from `first` on. take: called
 * with `of` and each frame of other nodes, unless it is 0. */
typedef struct adapter {
    node node;
    wire *wire;
    int32_t first, waiting;
    can_frame queue[QUEUE];
    void (*take)(void *of, const can_frame *f);
    void *of;
} adapter;

void adapter_begin(adapter *a, wire *w);
int32_t adapter_send(adapter *a, const can_frame *f);

#endif
