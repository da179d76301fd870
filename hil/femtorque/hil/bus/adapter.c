/* An adapter sends the host's frames in turn, and passes received frames on. */
#include "adapter.h"

static void look(node *n)
{
    n->listening = !node_off(n);
}

static int32_t offer(node *n, can_frame *f)
{
    const adapter *a = n->owner;
    if (a->waiting == 0 || !node_listens(n))
        return 0;
    *f = a->queue[a->first];
    return 1;
}

static void sent(node *n)
{
    adapter *a = n->owner;
    a->first = (a->first + 1) % QUEUE;
    a->waiting--;
}

static void heard(node *n, const can_frame *f)
{
    const adapter *a = n->owner;
    if (a->take != 0)
        a->take(a->of, f);
}

static void ignore_error(node *n, int32_t error)
{
    (void)n, (void)error;
}

static const node_ways ways = {look, offer,        0,     0,           0,
                               sent, ignore_error, heard, ignore_error};

/* Queue a frame. Return 0 if the queue is full. */
int32_t adapter_send(adapter *a, const can_frame *f)
{
    if (a->waiting == QUEUE)
        return 0;
    a->queue[(a->first + a->waiting) % QUEUE] = *f;
    a->waiting++;
    wire_ask(a->wire, &a->node);
    return 1;
}

void adapter_begin(adapter *a, wire *w)
{
    a->wire = w;
    a->node.ways = &ways;
    a->node.owner = a;
}
