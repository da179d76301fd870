/* A node on the bus: bit timing, error counters, and event handlers. */
#ifndef NODE_H
#define NODE_H

#include "can_frame.h"

#define PASSIVE 127 /* a node with a higher count is error passive */
#define OFF 255     /* ISO 11898-1:2015, 12.1.4 */

/* Error codes of CAN controllers (RM0090 32.9.2, ESR.LEC; M_CAN PSR.LEC). */
enum {
    NO_ERROR,
    STUFF_ERROR,
    FORM_ERROR,
    ACK_ERROR,
    RECESSIVE_ERROR,
    DOMINANT_ERROR
};

/* quantum: duration, s. before, after: quanta before and after the sample
 * point. jump: resynchronisation jump width, quanta. */
typedef struct {
    double quantum;
    int32_t before, after, jump;
} bit_timing;

struct node;

/* The functions of a type of node. look: updates timing, fast, fd, silent and
 * listening. offer: writes the frame that the node would send now, or returns
 * 0. The bus calls `offer` each time it becomes free. sees_itself: returns true
 * if the node samples its own bits of the data phase correctly; its argument is
 * the delay of the transceiver, s. The other functions handle events of the
 * bus. The bus updates the error counters before it calls an event. began: the
 * transmission of the node's frame has begun. lost: the node has lost
 * arbitration. sent, failed: the node's frame was sent without or with an
 * error. heard, disturbed: the frame of another node was valid or had an error.
 * The pointers sees_itself, began and lost of a type may be 0. In this case the
 * bus uses true, and does not call the function. */
typedef struct {
    void (*look)(struct node *n);
    int32_t (*offer)(struct node *n, can_frame *f);
    int32_t (*sees_itself)(struct node *n, double loop_delay);
    void (*began)(struct node *n);
    void (*lost)(struct node *n);
    void (*sent)(struct node *n);
    void (*failed)(struct node *n, int32_t error);
    void (*heard)(struct node *n, const can_frame *f);
    void (*disturbed)(struct node *n, int32_t error);
} node_ways;

/* fast: timing of the data phase, if the node supports CAN FD. silent: the node
 * receives and never drives the bus. listening: the node takes part in the
 * traffic. transmit, receive: error counters. Only the bus uses the other
 * members. offers: the frame `offered` waits for transmission. sends: the node
 * sends the present frame, or has sent the last frame. hears: the node receives
 * the present frame. astray: the node cannot read that frame. first: the node
 * detected the error first. pressed: the node sends (SENDS) or receives (HEARS)
 * while the bus is held dominant. */
typedef struct node {
    const node_ways *ways;
    void *owner;
    struct node *next;
    bit_timing timing, fast;
    int32_t fd, silent, listening, transmit, receive;
    can_frame offered;
    int32_t offers, sends, hears, astray, first, pressed;
} node;

double timing_bit(const bit_timing *t);
double timing_sample(const bit_timing *t);
double timing_tolerance(const bit_timing *t);
int32_t timings_agree(const bit_timing *a, const bit_timing *b);
int32_t node_passive(const node *n);
int32_t node_off(const node *n);
int32_t node_listens(node *n);
int32_t node_follows(const node *n, const can_frame *f, const node *sender);
void node_sent(node *n);
void node_heard(node *n);
void node_failed(node *n, int32_t error);
void node_disturbed(node *n, int32_t more);

#endif
