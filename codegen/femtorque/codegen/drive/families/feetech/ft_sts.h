/* A wire of Feetech's servos: the packets of a tick, and the answers.
 *
 * Both sides talk on the one wire. A tick gives all servos their duties in one
 * packet, and asks all the same in another, to which they answer one after the
 * other. The board's own bytes come back to it first: if they do not, somebody
 * else talks, or the wire is shorted, and the tick's bytes are worth
 * nothing. */
#ifndef FT_STS_H
#define FT_STS_H

#include "ft_config.h" /* FT_WIRES, FT_WIRE_MOST */

#if FT_WIRES > 0

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* A frame to or from a servo: its number, its meaning, the register that is
 * asked for, its size; 0: the state. An answer has the servo's error bits in
 * the place of a meaning. */
#define FT_STS_ID(servo, meant, number, size) \
    ((servo) | (uint32_t)(meant) << 8 | (uint32_t)(number) << 16 \
     | (uint32_t)(size) << 24)
#define FT_STS_SERVO(id) ((id) & 0xFFu)
#define FT_STS_MEANT(id) ((id) >> 8 & 0xFFu)
#define FT_STS_NUMBER(id) ((id) >> 16 & 0xFFu)
#define FT_STS_SIZE(id) ((id) >> 24 & 0xFu)
#define FT_STS_IS_ON 0x80000000u /* of an answer: its motor is on */

/* Meanings, as bits. RUN: its motor is on, with the duty of data[0..1]; SWITCH:
 * send it that, or that it is off; SET: the register gets data[2..3]; QUIET:
 * nobody is asked anything in this tick. */
enum { FT_STS_RUN = 1, FT_STS_SWITCH = 2, FT_STS_SET = 4,
       FT_STS_QUIET = 8 };

/* Registers. */
enum { FT_STS_TORQUE = 40, FT_STS_DUTY = 44, FT_STS_STATE = 56,
       FT_STS_STATE_SIZE = 8 };

/* Bytes of a tick's packets, and of what comes in a tick. */
#define FT_STS_OUT (32u + 7u * FT_WIRE_MOST)
#define FT_STS_IN (FT_STS_OUT + 16u * FT_WIRE_MOST + 16u)

typedef struct {
    uint8_t out[FT_STS_OUT], in[FT_STS_IN];
    uint32_t size;            /* of out */
    ft_frame answer[FT_WIRE_MOST];
    uint32_t answers, read;   /* that came, and of these taken out */
    uint8_t number, width;    /* register asked for, bytes of each answer */
    uint32_t servos;
    uint8_t servo[FT_WIRE_MOST];
    bool on[FT_WIRE_MOST];    /* as it reported last, or was switched since */
    uint16_t echoes, damaged; /* that were not as sent; bytes of no packet */
} ft_sts;

/* Make the packets of a tick of the frames to all servos of the wire. */
void ft_sts_pack(ft_sts *w, const ft_frame frames[], uint32_t count);

/* Take in what came since they were sent: came bytes lie in in. */
void ft_sts_came(ft_sts *w, uint32_t came);

/* Take out the next answer. Return whether there was one. */
bool ft_sts_next(ft_sts *w, ft_frame *f);

#endif
#endif
