/* A node on the wire: its bit timing, its error counters, and the events that
 * it hears. */
#ifndef NODE_H
#define NODE_H

#include "can_frame.h"

#define PASSIVE 127 /* a node with a higher count is error passive */
#define OFF 255     /* ISO 11898-1:2015, 12.1.4 */

/* Errors, with the numbers of CAN controllers (RM0090 32.9.2, ESR.LEC; M_CAN
 * PSR.LEC). */
enum {
    NO_ERROR,
    STUFF_ERROR,
    FORM_ERROR,
    ACK_ERROR,
    RECESSIVE_ERROR,
    DOMINANT_ERROR
};

/* quantum: duration, s. before, after: quanta before and after the sample
 * point. jump: quanta of resynchronisation. */
typedef struct {
    double quantum;
    int32_t before, after, jump;
} bit_timing;

struct node;

/* A kind of nodes. look: brings timing, fast, fd, silent and listening up to
 * date. offer: writes the frame that the node would send now, or returns 0. The
 * wire calls offer whenever the wire is free. sees_itself: returns true if the
 * node samples its own bits of the data phase right, with a delay of its
 * transceiver, s. The other functions handle events. The wire updates the error
 * counters before an event. began: the node's frame is on the wire. lost: the
 * node has lost arbitration. sent, failed: its frame was sent or disturbed.
 * heard, disturbed: the frame of another node was good or disturbed. A kind may
 * have 0 for sees_itself, began or lost. The wire then takes true, and calls
 * nothing. */
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

/* fast: timing of the data phase, if the node knows CAN FD. silent: the node
 * hears and never drives the wire. listening: the node takes part. transmit,
 * receive: error counters. Only the wire uses the other members. offers: the
 * frame `offered` waits. sends: the node sends the present frame, or has sent
 * the last frame. hears: the node hears the present frame. astray: the node
 * cannot read that frame. first: the node saw the error first. pressed: the
 * node sends (SENDS) or hears (HEARS) on a wire that is held dominant. */
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
