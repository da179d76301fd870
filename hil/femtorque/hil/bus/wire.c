/* A CAN bus ("wire"), simulated in whole frames whose duration follows from
 * their bits. The model leaves out effects that only a bit-by-bit simulation
 * would show: noise that only some nodes receive, overload frames, and edges
 * within a bit. A bus that is held dominant ends a frame after six bits. */
#include "wire.h"

#include "parts.h"

#include <math.h>

#define FLAG 6           /* bits, ISO 11898-1:2015, 10.4.4 */
#define FLAG_DELIMITER 8 /* bits */
#define PRESSED 8        /* each sequence of eight dominant bits after an error
                          * flag counts as one more error, 12.1.4.2 f */
#define SUSPENDED 8      /* additional bits that an error passive node waits
                          * after its frame, 10.4.6.4 */
#define SEQUENCE 11      /* number of consecutive recessive bits after which a
                          * bus is idle, 10.9.4 */
#define SWITCH 20        /* maximum number of bits until another bit rate loses
                          * synchronisation: two stuff errors */
#define DELIMITER 1      /* bits: CRC delimiter; */
#define ACK 2            /* ACK slot and ACK delimiter */
#define INTERMISSION 3
#define FIRST 9          /* the first node's own error, then a dominant bit
                          * after its error flag */
#define ONE_TERMINATOR 0.3 /* fraction of frames that reflections disturb on a
                            * cable with one open end; chosen, not measured */

enum { HEARS = 1, SENDS }; /* on a wire that is held */

/* The early end of a frame: the sender's error, after `at` bits. */
typedef struct {
    int32_t error, at;
} trouble;

static double bit_of(node *n)
{
    n->ways->look(n);
    return timing_bit(&n->timing);
}

/* -- who waits ------------------------------------------------------------- */

static void waited(void *of)
{
    waiter *x = of;
    if (x->done)
        return;
    x->done = 1;
    x->act(x->of);
}

static void waiter_idle(const wire *w, waiter *x)
{
    if (x->done)
        return;
    x->since = parts_seconds(w->parts);
    task_after(w->parts, &x->task, x->left * x->sequence);
}

static void all_idle(const wire *w)
{
    waiter *x;
    for (x = w->waiters; x != 0; x = x->next)
        waiter_idle(w, x);
}

/* Take the wire. From now on no node sees an idle bus. */
static void occupy(wire *w)
{
    double now = parts_seconds(w->parts);
    waiter *x;
    for (x = w->waiters; x != 0; x = x->next) {
        if (!x->task.due.armed)
            continue;
        task_cancel(w->parts, &x->task);
        x->left -= (int32_t)((now - x->since) / x->sequence + 1e-6);
    }
    task_cancel(w->parts, &w->begins);
}

static void unlink_waiter(wire *w, const waiter *x)
{
    waiter **at = &w->waiters;
    while (*at != 0 && *at != x)
        at = &(*at)->next;
    if (*at != 0)
        *at = x->next;
}

/* Count the recessive bits that end a frame and its intermission. */
static void count_sequence(wire *w)
{
    waiter *x;
    for (x = w->waiters; x != 0; x = x->next)
        if (--x->left <= 0)
            waited(x);
}

static void forget_done(wire *w)
{
    waiter **at = &w->waiters;
    while (*at != 0)
        if ((*at)->done)
            *at = (*at)->next;
        else
            at = &(*at)->next;
}

/* Wait until a node has received a number of sequences of recessive bits. */
void wire_wait(wire *w, waiter *x, node *n, int32_t sequences)
{
    waiter **at = &w->waiters;
    wire_forget(w, x);
    x->left = sequences;
    x->sequence = SEQUENCE * bit_of(n);
    x->done = 0;
    x->task.act = waited;
    x->task.of = x;
    x->next = 0;
    while (*at != 0)
        at = &(*at)->next;
    *at = x;
    if (w->idle)
        waiter_idle(w, x);
}

/* Cancel a wait. */
void wire_forget(wire *w, waiter *x)
{
    unlink_waiter(w, x);
    x->done = 1;
    task_cancel(w->parts, &x->task);
}

/* -- a frame --------------------------------------------------------------- */

static void forget_last(wire *w)
{
    node *n;
    for (n = w->nodes; n != 0; n = n->next)
        n->sends = 0;
}

/* Ask all nodes for the frame that they would send now. Return the first node
 * with a frame to send, or 0. waiting: set if a node may send now. lowest: the
 * lowest arbitration number of these nodes. */
static node *offered(const wire *w, uint32_t *lowest, int *waiting)
{
    node *n, *first = 0;
    *lowest = UINT32_MAX;
    *waiting = 0;
    for (n = w->nodes; n != 0; n = n->next) {
        n->offers = n->ways->offer(n, &n->offered);
        if (!n->offers)
            continue;
        first = first == 0 ? n : first;
        if (n->sends && node_passive(n)) { /* an error passive node waits after
                                            * its own frame */
            n->offers = 0;
            continue;
        }
        *waiting = 1;
        if (can_arbitration(&n->offered) < *lowest)
            *lowest = can_arbitration(&n->offered);
    }
    return first;
}

static double noise_of(const wire *w)
{
    double open = w->terminators == 2 ? 0.0
                : w->terminators == 1 ? ONE_TERMINATOR
                                      : 1.0;
    return fmax(w->error_rate, open);
}

/* Return the bits of a frame before noise disturbs it, or 0. */
static int32_t noise(wire *w, const can_image *p)
{
    double share = noise_of(w);
    if (share > 0.0)
        return w->noise(share, p->count);
    w->calm++;
    return 0;
}

/* Return the bits before several senders' frames differ, or 0. */
static int32_t clash(const node *sender, const can_image *p)
{
    can_image other;
    const node *n;
    int32_t least = 0, at;
    for (n = sender->next; n != 0; n = n->next) {
        if (!n->sends)
            continue;
        can_draw(&n->offered, &other);
        at = can_difference(p, &other);
        if (at != 0 && (least == 0 || at < least))
            least = at;
    }
    return least;
}

/* Mark the nodes that receive the frame, and those nodes among them that cannot
 * read it. Return the number of nodes that acknowledge the frame. */
static int32_t hearers(const wire *w, const node *sender)
{
    node *n;
    int32_t helpers = 0;
    for (n = w->nodes; n != 0; n = n->next) {
        n->hears = !n->sends && node_listens(n);
        n->astray = n->hears && !node_follows(n, &sender->offered, sender);
        n->first = 0;
        helpers += n->hears && !n->astray && !n->silent;
    }
    return helpers;
}

/* Mark each node that cannot read the frame and therefore sends an error flag.
 * Return the number of marked nodes. */
static int32_t loud(const wire *w)
{
    node *n;
    int32_t count = 0;
    for (n = w->nodes; n != 0; n = n->next) {
        n->first = n->astray && !node_passive(n) && !n->silent;
        count += n->first;
    }
    return count;
}

/* Return true if all senders can read back their own bits in the data phase. */
static int see_themselves(const wire *w)
{
    node *n;
    for (n = w->nodes; n != 0; n = n->next)
        if (n->sends && n->ways->sees_itself != 0 &&
            !n->ways->sees_itself(n, w->loop_delay))
            return 0;
    return 1;
}

static int32_t senders(const wire *w)
{
    const node *n;
    int32_t count = 0;
    for (n = w->nodes; n != 0; n = n->next)
        count += n->sends != 0;
    return count;
}

/* Find the error that ends a frame early, if any. */
static trouble trouble_of(wire *w, const node *sender, const can_image *p)
{
    trouble found = {NO_ERROR, 0};
    int32_t helpers = hearers(w, sender), own = clash(sender, p);
    if (w->shorted) {
        found.error = DOMINANT_ERROR;
        found.at = 1;
    } else if (own != 0) {
        found.error = RECESSIVE_ERROR;
        found.at = own;
    } else if (loud(w) != 0) {
        found.error = RECESSIVE_ERROR;
        found.at = p->count < SWITCH ? p->count : SWITCH;
    } else if (sender->offered.fast && !see_themselves(w)) {
        found.error = RECESSIVE_ERROR;
        found.at = p->begins + 1;
    } else if ((found.at = noise(w, p)) != 0) {
        found.error = STUFF_ERROR;
    } else if (helpers == 0 && senders(w) == 1) {
        found.error = ACK_ERROR;
        found.at = p->count + DELIMITER + ACK / 2;
    }
    return found;
}

/* Schedule the end of a frame and the end of its intermission. */
static void end_after(wire *w, double seconds, double bit)
{
    w->busy_seconds += seconds + INTERMISSION * bit;
    task_after(w->parts, &w->ends, seconds);
    task_after(w->parts, &w->rests, seconds + INTERMISSION * bit);
}

/* Simulate the transmission of the frame that the sending nodes have. */
static void play(wire *w)
{
    can_image p;
    node *n, *sender = 0;
    double bit, data_bit;
    trouble t;
    for (n = w->nodes; n != 0; n = n->next) {
        n->sends = n->offers;
        if (n->sends && n->ways->began != 0)
            n->ways->began(n);
        if (n->sends && sender == 0)
            sender = n;
    }
    bit = bit_of(sender);
    data_bit = sender->fd ? timing_bit(&sender->fast) : bit;
    w->frame = sender->offered;
    can_draw(&w->frame, &p);
    t = trouble_of(w, sender, &p);
    w->busy = 1;
    w->error = t.error;
    if (t.error == NO_ERROR) {
        double length = can_length(&p, bit, data_bit);
        task_after(w->parts, &w->comes, length - bit);
        end_after(w, length, bit);
    } else {
        int32_t flags = t.error == ACK_ERROR || w->shorted ? FLAG : 2 * FLAG;
        double until = can_seconds(&p, t.at, bit, data_bit) +
                       (flags + FLAG_DELIMITER) * bit;
        w->fast_phase = p.begins < t.at && t.at <= p.ends;
        end_after(w, until, bit);
    }
}

/* The bus is free: all nodes with a frame begin to send. The frame with the
 * lowest identifier wins the arbitration. */
static void begin(void *of)
{
    wire *w = of;
    uint32_t lowest;
    int waiting;
    node *n, *first = offered(w, &lowest, &waiting);
    if (!waiting) {
        forget_last(w);
        if (first != 0)
            task_after(w->parts, &w->begins, SUSPENDED * bit_of(first));
        return;
    }
    w->idle = 0;
    occupy(w);
    for (n = w->nodes; n != 0; n = n->next)
        if (n->offers && can_arbitration(&n->offered) != lowest) {
            n->offers = 0;
            if (n->ways->lost != 0)
                n->ways->lost(n);
        }
    play(w);
}

/* Deliver a frame to the receiving nodes one bit before the end of the frame
 * (10.9.6). The frame has an error if its sender has gone bus off. */
static void come(void *of)
{
    wire *w = of;
    int whole = 0;
    node *n;
    for (n = w->nodes; n != 0; n = n->next)
        whole = whole || (n->sends && node_listens(n));
    for (n = w->nodes; n != 0; n = n->next) {
        if (!n->hears || !node_listens(n))
            continue;
        if (whole && !n->astray) {
            node_heard(n);
            n->ways->heard(n, &w->frame);
        } else {
            node_disturbed(n, FIRST);
            n->ways->disturbed(n, STUFF_ERROR);
        }
    }
}

static void say_passed(const wire *w, int32_t error)
{
    if (w->passed != 0)
        w->passed(&w->frame, error);
}

/* End a disturbed frame. */
static void fail(const wire *w)
{
    int quiet = w->shorted || w->error == ACK_ERROR;
    node *n;
    for (n = w->nodes; n != 0 && !quiet; n = n->next)
        if (n->hears) {
            node_disturbed(n, n->first ? FIRST : 1);
            n->ways->disturbed(n, STUFF_ERROR);
        }
    for (n = w->nodes; n != 0; n = n->next)
        if (n->sends && node_listens(n)) {
            node_failed(n, w->error);
            n->ways->failed(n, w->error);
        }
}

static void end(void *of)
{
    wire *w = of;
    node *n;
    w->busy = 0;
    if (w->error != NO_ERROR)
        fail(w);
    else
        for (n = w->nodes; n != 0; n = n->next)
            if (n->sends && node_listens(n)) {
                node_sent(n);
                n->ways->sent(n);
            }
    say_passed(w, w->error);
}

/* Make the bus idle after a frame and its intermission. */
static void rest(void *of)
{
    wire *w = of;
    count_sequence(w);
    forget_done(w);
    w->idle = 1;
    all_idle(w);
    begin(w);
}

/* -- held dominant --------------------------------------------------------- */

static double slowest(const wire *w)
{
    double most = 0.0;
    node *n;
    for (n = w->nodes; n != 0; n = n->next)
        most = fmax(most, bit_of(n));
    return most;
}

/* The bus is held dominant: add one error to all receiving nodes after the bits
 * of an error flag, and one more after each eight bits (12.1.4.2, f). */
static void press(void *of)
{
    wire *w = of;
    int32_t flag = w->flag, error = flag ? RECESSIVE_ERROR : FORM_ERROR;
    int seen = 0;
    node *n;
    for (n = w->nodes; n != 0; n = n->next) {
        if (!node_listens(n) || (n->pressed == HEARS && n->receive >= OFF))
            n->pressed = 0;
        seen = seen || n->pressed;
    }
    for (n = w->nodes; n != 0; n = n->next)
        if (n->pressed == SENDS) {
            node_failed(n, error);
            n->ways->failed(n, error);
        }
    for (n = w->nodes; n != 0; n = n->next)
        if (n->pressed == HEARS) {
            node_disturbed(n, flag ? 1 : PRESSED);
            n->ways->disturbed(n, flag ? STUFF_ERROR : FORM_ERROR);
        }
    w->flag = 0;
    if (seen)
        task_after(w->parts, &w->presses, (flag + PRESSED) * w->slowest);
}

/* Hold the bus dominant until `wire_release` is called. The sender detects a
 * bit error, and the other nodes detect a stuff error. Because the bus stays
 * dominant, no node receives an error delimiter after its error flag. */
void wire_hold(wire *w)
{
    node *n;
    w->held = 1;
    w->idle = 0;
    occupy(w);
    task_cancel(w->parts, &w->comes);
    task_cancel(w->parts, &w->ends);
    task_cancel(w->parts, &w->rests);
    for (n = w->nodes; n != 0; n = n->next)
        n->pressed = w->busy && n->sends ? SENDS : node_listens(n) ? HEARS : 0;
    if (w->busy)
        say_passed(w, RECESSIVE_ERROR);
    w->busy = 0;
    w->flag = FLAG;
    w->slowest = slowest(w);
    task_after(w->parts, &w->presses, FLAG * w->slowest);
}

/* Release the wire. Nodes may send once recessive bits make it idle. */
void wire_release(wire *w)
{
    w->held = 0;
    w->idle = 1;
    task_cancel(w->parts, &w->presses);
    all_idle(w);
    task_after(w->parts, &w->begins, SEQUENCE * slowest(w));
}

/* -- what nodes ask -------------------------------------------------------- */

/* Note that a node has a frame, which begins at its next bit if idle. */
void wire_ask(wire *w, node *n)
{
    if (w->idle && !w->begins.due.armed)
        task_after(w->parts, &w->begins, bit_of(n));
}

void wire_attach(wire *w, node *n)
{
    node **at = &w->nodes;
    while (*at != 0)
        at = &(*at)->next;
    n->next = 0;
    *at = n;
}

static void plan(task *t, void (*act)(void *of), wire *w)
{
    t->act = act;
    t->of = w;
}

/* Initialise a bus without nodes. parts: the chip that gives the time. */
void wire_begin(wire *w, struct parts *parts)
{
    w->parts = parts;
    w->terminators = 2;
    w->idle = 1;
    plan(&w->begins, begin, w);
    plan(&w->comes, come, w);
    plan(&w->ends, end, w);
    plan(&w->rests, rest, w);
    plan(&w->presses, press, w);
}
