/* A drive answers shortly after a frame, with its state before the frame. The
 * families' C (hil/drives/families) executes the frames of each control cycle,
 * and Python executes all other frames. */
#include "drive.h"

#include "parts.h"

#include <math.h>
#include <string.h>

#define RECOVERY 128     /* recessive sequences in bus off; chosen */
#define HOTTEST 100.0    /* maximum temperature of the winding, deg C; the
                          * makers' limits can be set to 80 and above */
#define TORQUE_STEPS 2047.0 /* steps from zero in a 12-bit field */

/* -- the node -------------------------------------------------------------- */

static void look(node *n)
{
    const drive *d = n->owner;
    n->listening = d->powered && !d->cut && !node_off(n) &&
                   (d->boot == 0.0 ||
                    parts_seconds(d->wire->parts) >= d->listens_from);
}

static int32_t offer(node *n, can_frame *f)
{
    const drive *d = n->owner;
    if (d->queued == 0 || !node_listens(n))
        return 0;
    *f = d->queue[0];
    return 1;
}

static void ignore_error(node *n, int32_t error)
{
    (void)n, (void)error;
}

static void sent(node *n)
{
    drive *d = n->owner;
    int32_t i;
    if (d->queued == 0)
        return;
    d->queued--;
    for (i = 0; i < d->queued; i++)
        d->queue[i] = d->queue[i + 1];
}

static void recover(void *of)
{
    drive *d = of;
    d->node.transmit = d->node.receive = 0;
    wire_ask(d->wire, &d->node);
}

static void failed(node *n, int32_t error)
{
    drive *d = n->owner;
    (void)error;
    if (node_off(n))
        wire_wait(d->wire, &d->recovers, n, RECOVERY);
}

/* Append a frame to the queue, if the queue is not full. */
void drive_send(drive *d, const can_frame *f)
{
    if (d->queued == MAILBOXES || !d->powered)
        return;
    d->queue[d->queued++] = *f;
    wire_ask(d->wire, &d->node);
}

static void reply(void *of)
{
    const answer *a = of;
    drive_send(a->drive, &a->frame);
}

/* Send the answer after a delay. */
static void reply_later(drive *d)
{
    answer *a = d->answers;
    while (a < d->answers + ANSWERS && a->task.due.armed)
        a++;
    if (a == d->answers + ANSWERS)
        return;
    a->drive = d;
    a->frame = d->reply;
    a->task.act = reply;
    a->task.of = a;
    task_after(d->wire->parts, &a->task, d->answers_in + d->late);
}

/* Have Python execute a frame: each frame of a family without C, and the rare
 * frames of the other families. */
int32_t drive_obey(drive *d)
{
    return d->tell(HANDLE);
}

/* Begin an answer of zeros. Return the address of the packet's data. */
uint8_t *drive_answer(drive *d, uint32_t id, int32_t size)
{
    memset(&d->reply, 0, sizeof d->reply);
    d->reply.id = id;
    d->reply.size = size;
    d->reply.fd = d->reply.fast = d->node.fd;
    return d->reply.data;
}

/* Record the time of a command. */
void drive_feed(drive *d)
{
    d->commanded = parts_seconds(d->wire->parts);
}

/* Return true if a frame may be addressed to the drive. */
static int concerns(const drive *d, const can_frame *f)
{
    int32_t i;
    for (i = 0; i < d->filters; i++)
        if ((f->id & d->filter[i].mask) == d->filter[i].number)
            return 1;
    return d->filters == 0;
}

static void heard(node *n, const can_frame *f)
{
    drive *d = n->owner;
    if (d->catch_up != 0)
        d->catch_up(d->of);
    if (!d->powered || !concerns(d, f)) /* the supply may have failed during the
                                         * simulation up to the present time */
        return;
    d->heard = *f;
    if (d->obey(d))
        reply_later(d);
}

static const node_ways drive_ways = {look, offer,  0,     0,           0,
                              sent, failed, heard, ignore_error};

void drive_begin(drive *d, wire *w)
{
    d->wire = w;
    d->node.ways = &drive_ways;
    d->node.owner = d;
    d->recovers.act = recover;
    d->recovers.of = d;
}

/* -- the motor ------------------------------------------------------------- */

/* Return the mean torque at the output over the next `seconds`, N m. */
double drive_step(void *of, double seconds, double now, double angle,
                  double velocity)
{
    drive *d = of;
    motor *m = d->motor;
    double torque;
    if (!d->powered) {
        m->torque = 0.0;
    } else if (now - d->commanded > d->timeout) {
        d->commanded = (double)NAN;
        d->tell(LEFT_ALONE);
    }
    if (m->temperature > HOTTEST && m->active)
        d->tell(HOT);
    torque = motor_step(m, seconds, angle, velocity);
    if (d->calm_below != 0.0 && !m->standing && fabs(m->torque) < d->calm_below)
        d->tell(CALM);
    if (d->stepped != 0)
        d->stepped(torque, seconds, now, velocity);
    return torque;
}

/* Return true if the output turns freely: the drive is off, or has no position
 * loop and a command with zero gains and at most one step of torque. No code of
 * the torque's field stands for exactly zero. */
int drive_limp(const void *of)
{
    const drive *d = of;
    const motor *m = d->motor;
    return !(d->powered && m->active) ||
           (!m->standing && !m->holding && m->kp == 0.0 && m->kd == 0.0 &&
            fabs(m->asked) <= d->ranges.torque / TORQUE_STEPS);
}
