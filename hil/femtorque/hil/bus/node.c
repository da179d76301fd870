/* Error counters and error states of a node: ISO 11898-1:2015, 12.1.4. */
#include "node.h"

#include <math.h>

#define CALMED 120 /* receive error counter after a valid frame, if it was above
                    * PASSIVE; the range is 119 to 127, RM0090 32.7.6 */

/* Return s. */
double timing_bit(const bit_timing *t)
{
    return t->quantum * (double)(t->before + t->after);
}

/* Return the time of the sample point in a bit, s. */
double timing_sample(const bit_timing *t)
{
    return t->quantum * (double)t->before;
}

/* Return the tolerance of the oscillator as a fraction of its frequency. The
 * oscillator tolerance is the smaller of two limits (ISO 11898-1:2015,
 * 11.3.2.4). The first limit allows ten bits between two edges. The second
 * limit allows a node to find an error flag after six bits and the
 * delimiter. */
double timing_tolerance(const bit_timing *t)
{
    double quanta = (double)(t->before + t->after);
    return fmin((double)t->jump / (20.0 * quanta),
                (double)t->after / (2.0 * (13.0 * quanta - (double)t->after)));
}

/* Return true if two nodes can stay synchronised with each other. */
int32_t timings_agree(const bit_timing *a, const bit_timing *b)
{
    double one = timing_bit(a), other = timing_bit(b);
    return fabs(one - other) <=
           (timing_tolerance(a) + timing_tolerance(b)) * fmax(one, other);
}

/* Return true if a node's sample points fall within the BRS bit and the CRC
 * delimiter. Each node changes its bit rate at the sample point at which the
 * node itself samples these bits (ISO 11898-1:2015, 11.3.1). A node with a late
 * sample point takes the next bit for BRS, and the next bit is dominant. A node
 * with an early sample point resynchronises. */
static int32_t switches_agree(const node *n, const node *sender)
{
    double own = timing_sample(&n->timing), fast = timing_sample(&n->fast);
    double brs = timing_sample(&sender->timing) + timing_bit(&sender->fast) -
                 timing_sample(&sender->fast);
    double delimiter = timing_sample(&sender->fast) +
                       timing_bit(&sender->timing) -
                       timing_sample(&sender->timing);
    return own < brs && fast < delimiter;
}

int32_t node_passive(const node *n)
{
    return n->transmit > PASSIVE || n->receive > PASSIVE;
}

int32_t node_off(const node *n)
{
    return n->transmit > OFF;
}

/* Return true if the node takes part in the traffic now. */
int32_t node_listens(node *n)
{
    n->ways->look(n);
    return n->listening;
}

/* Return true if the node can read the bits of a sender. */
int32_t node_follows(const node *n, const can_frame *f, const node *sender)
{
    if (!timings_agree(&n->timing, &sender->timing))
        return 0;
    if (!f->fd)
        return 1;
    if (!n->fd)
        return 0;
    return !f->fast ||
           (sender->fd && timings_agree(&n->fast, &sender->fast) &&
            switches_agree(n, sender));
}

void node_sent(node *n)
{
    if (n->transmit > 0)
        n->transmit--;
}

void node_heard(node *n)
{
    if (n->receive > PASSIVE)
        n->receive = CALMED;
    else if (n->receive > 0)
        n->receive--;
}

/* Count a failed transmission. A missing acknowledgement is no error while the
 * node is error passive, or an empty bus would make it bus off. */
void node_failed(node *n, int32_t error)
{
    if (!(error == ACK_ERROR && node_passive(n)))
        n->transmit += 8;
}

/* Count a failed reception. */
void node_disturbed(node *n, int32_t more)
{
    n->receive = n->receive + more < OFF ? n->receive + more : OFF;
}
