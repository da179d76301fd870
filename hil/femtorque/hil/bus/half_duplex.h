/* One wire on which a board and servos send in turn, 8N1. */
#ifndef HALF_DUPLEX_H
#define HALF_DUPLEX_H

#include "task.h"

#define BURST 65536u       /* bytes that the board sends at once, at most */
#define ANSWERS_SIZE 8192u /* bytes that servos answer together, at most, */
#define ANSWER_SIZE 512u   /* and one of them */
#define NAMED 253          /* servos that a question names, at most */

struct servo;

/* A kind of servos. look brings id, listening and delay up to date. heard obeys
 * a packet that is sent to all servos and is no question. answer puts its
 * answer to a question behind the parts of others, which have `before` bytes,
 * and returns its size, or 0 if it has none. */
typedef struct {
    void (*look)(struct servo *s);
    void (*heard)(struct servo *s, const uint8_t *packet, uint32_t size);
    uint32_t (*answer)(struct servo *s, const uint8_t *packet, uint32_t size,
                       uint8_t *whole, uint32_t before);
} servo_ways;

/* A servo on the wire. parts: the parts whose time it has. catch_up brings its
 * motor to now, and gets `of`. late: s by which its answers are late. cut: its
 * wire is off, its supply is on. delay: s from the end of the question, or of
 * the answer before, to its own answer. named: it answers next. */
typedef struct servo {
    const servo_ways *ways;
    struct servo *next;
    struct parts *parts;
    void (*catch_up)(void *of);
    void *of;
    double late, delay;
    int32_t cut, powered, id, listening, named;
} servo;

/* ids: the servos that answer, in this order. size: bytes of each answer. gap:
 * s between their parts if they make one answer together, else negative. */
typedef struct {
    double gap;
    uint32_t size;
    int32_t count;
    uint8_t ids[NAMED];
} question;

/* Packets of a kind. split returns the size of a burst's first packet, or 0 if
 * there is none, and skips the bytes before it. ask returns whether servos
 * answer a packet, and which. */
typedef struct {
    uint32_t (*split)(const uint8_t *burst, uint32_t size, uint32_t *skipped);
    int32_t (*ask)(const uint8_t *packet, uint32_t size, question *q);
} framing;

/* hil/bus/half_duplex.py describes a wire. byte: s. spacing: s, of the board's
 * bytes. driven: s until which its driver is on. at, ends: place of the next
 * packet in the burst. asked: the question, which is not answered from `next`
 * on, by `left` servos. said: bytes of the answer so far. noise returns whether
 * it disturbs a packet, babble the bits of others beside a byte. log, if there
 * is one, hears of packets. arrive passes bytes to the board, with `board` and
 * whether they are disturbed. */
typedef struct one_wire {
    struct parts *parts;
    const framing *framing;
    servo *servos;
    double byte, error_rate, spacing, driven;
    int32_t shorted, babbles, next;
    task hears, turn;
    uint32_t size, at, ends, asked_size, said;
    const uint8_t *asked;
    question left;
    uint8_t burst[BURST], answer[ANSWERS_SIZE], part[ANSWERS_SIZE];
    int32_t (*noise)(void);
    int32_t (*babble)(void);
    void (*log)(double seconds, const uint8_t *packet, uint32_t size);
    void (*arrive)(void *board, const uint8_t *data, uint32_t size,
                   int32_t disturbed);
    void *board;
} one_wire;

void one_wire_attach(one_wire *w, servo *s);
uint32_t one_wire_packets(const one_wire *w, const uint8_t *burst,
                          uint32_t size);
uint8_t one_wire_echo(const one_wire *w, uint8_t byte);
void one_wire_sent(one_wire *w, const uint8_t *data, uint32_t size,
                   double seconds, double before, double after);

#endif
