/* Planned tasks, few at any time, so a sorted list is fast enough. */
#include "task.h"

#include "parts.h"

#include <math.h>

static void insert(parts *l, task *t)
{
    task **at = &l->tasks;
    while (*at != 0 && ((*at)->due.at < t->due.at ||
                        ((*at)->due.at == t->due.at &&
                         (*at)->due.order < t->due.order)))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

/* Schedule a task in some cycles, or change its time. */
void task_after_cycles(parts *l, task *t, int64_t cycles)
{
    task_cancel(l, t);
    parts_plan(l, &t->due, l->count->now + cycles);
    insert(l, t);
}

void task_after(parts *l, task *t, double seconds)
{
    task_after_cycles(l, t, (int64_t)rint(seconds * l->hz));
}

void task_cancel(parts *l, task *t)
{
    task **at = &l->tasks;
    if (!t->due.armed)
        return;
    t->due.armed = 0;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
}

/* Run the first task. */
void task_do_first(parts *l)
{
    task *t = l->tasks;
    task_cancel(l, t);
    t->act(t->of);
}

/* Sort all tasks after their cycles have changed. */
void task_sort(parts *l)
{
    task *t = l->tasks, *next;
    l->tasks = 0;
    for (; t != 0; t = next) {
        next = t->next;
        insert(l, t);
    }
}
