/* A half-duplex serial bus ("wire"), 8N1: board and servos send in turn. */
#ifndef HALF_DUPLEX_H
#define HALF_DUPLEX_H

#include "task.h"

#define BURST 65536u       /* maximum size of a burst */
#define ANSWERS_SIZE 8192u /* maximum number of bytes in a common answer */
#define ANSWER_SIZE 512u   /* maximum number of bytes in one servo's answer */
#define NAMED 253          /* most servos in a question */

struct servo;

/* The functions of a type of servo. look: updates id, listening and delay.
 * heard: executes a packet that needs no answer; all servos receive this
 * packet. answer: writes the servo's answer after the `before` bytes of other
 * servos, and returns the size of the answer, or 0. */
typedef struct {
    void (*look)(struct servo *s);
    void (*heard)(struct servo *s, const uint8_t *packet, uint32_t size);
    uint32_t (*answer)(struct servo *s, const uint8_t *packet, uint32_t size,
                       uint8_t *whole, uint32_t before);
} servo_ways;

/* A servo on the bus. parts: the chip that gives the time. catch_up(of):
 * simulates the motor up to the present time. late: additional delay of the
 * servo's answers, s. cut: the servo has power but no data line. delay: time
 * from the end of the question, or of the previous answer, to the servo's
 * answer, s. named: the servo answers next. */
typedef struct servo {
    const servo_ways *ways;
    struct servo *next;
    struct parts *parts;
    void (*catch_up)(void *of);
    void *of;
    double late, delay;
    int32_t cut, powered, id, listening, named;
} servo;

/* ids: servos, in the order of their answers. size: bytes of each answer. gap:
 * between servos in a common answer, s; negative for separate answers. */
typedef struct {
    double gap;
    uint32_t size;
    int32_t count;
    uint8_t ids[NAMED];
} question;

/* The packets of a protocol. split: returns the size of the first packet in a
 * burst, or 0 if there is no packet. skipped: number of bytes before that
 * packet. ask: returns true if servos answer a packet, and fills the
 * question. */
typedef struct {
    uint32_t (*split)(const uint8_t *burst, uint32_t size, uint32_t *skipped);
    int32_t (*ask)(const uint8_t *packet, uint32_t size, question *q);
} framing;

/* hil/bus/half_duplex.py describes the bus ("wire"). byte: duration of a
 * servo's byte, s. spacing: duration of a byte of the board, s. driven: time
 * until which the board's driver is on, s. at, ends: index of the next packet
 * in the burst. asked: the packet with the question. left: the question; the
 * servos from `next` on have not answered yet. said: number of bytes of the
 * answer so far. noise: returns true if noise disturbs a packet. babble:
 * returns the bits of a babbling node. log: called with each packet, unless it
 * is 0. arrive: passes bytes to the board; `disturbed` is true if the bytes are
 * corrupted. */
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
