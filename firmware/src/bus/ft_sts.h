/* A wire of Feetech's servos: the packets of a tick, and what comes back.
 *
 * Both sides talk on the one wire. A tick has all servos told their duties in
 * one packet, and asked the same in another, to which they answer one after
 * the other. What the board sends comes back to it first: where it does not,
 * somebody else talks, or the wire is shorted, and the tick's bytes are worth
 * nothing. */
#ifndef FT_STS_H
#define FT_STS_H

#include "ft_config.h" /* FT_WIRES, FT_WIRE_MOST */

#if FT_WIRES > 0

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* A frame to or from a servo: its number, what is meant, the register that is
 * asked for, its size; 0: the state. What comes has the servo's error bits
 * for what is meant. */
#define FT_STS_ID(servo, meant, number, size) \
    ((servo) | (uint32_t)(meant) << 8 | (uint32_t)(number) << 16 \
     | (uint32_t)(size) << 24)
#define FT_STS_SERVO(id) ((id) & 0xFFu)
#define FT_STS_MEANT(id) ((id) >> 8 & 0xFFu)
#define FT_STS_NUMBER(id) ((id) >> 16 & 0xFFu)
#define FT_STS_SIZE(id) ((id) >> 24 & 0xFu)
#define FT_STS_IS_ON 0x80000000u /* of what comes: its motor is on */

/* What is meant, as bits. RUN: its motor is on, with the duty of data[0..1];
 * SWITCH: tell it so, or that it is off; SET: the register gets data[2..3];
 * QUIET: nobody is asked anything in this tick. */
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
    bool on[FT_WIRE_MOST];    /* as it told last, unless told otherwise since */
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
