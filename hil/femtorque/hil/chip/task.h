/* A task that is scheduled for a cycle. */
#ifndef TASK_H
#define TASK_H

#include "due.h"

/* act: called with `of` when the task is due. next: the next task in the list,
 * which is sorted by time. */
typedef struct task {
    due due;
    void (*act)(void *of);
    void *of;
    struct task *next;
} task;

struct parts;

void task_after(struct parts *l, task *t, double seconds);
void task_after_cycles(struct parts *l, task *t, int64_t cycles);
void task_cancel(struct parts *l, task *t);
void task_do_first(struct parts *l);
void task_sort(struct parts *l);

#endif
