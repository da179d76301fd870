/* A wire of Feetech's servos: the packets of a tick, and the answers.
 *
 * Board and servos talk on one wire. A tick has one packet with all duties, and
 * one question to all servos, which answer one after the other. The board's
 * bytes come back to the board first. If they do not, another sender talks or
 * the wire is shorted, and the tick's bytes are ignored. */
#ifndef FT_STS_H
#define FT_STS_H

#include "ft_config.h" /* FT_WIRES, FT_WIRE_MOST */

#if FT_WIRES > 0

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* A frame to or from a servo: the servo's number, the frame's meaning, the
 * register that is asked for (0: the state) and the register's size. An answer
 * has the servo's error bits in the place of the meaning. */
#define FT_STS_ID(servo, meant, number, size) \
    ((servo) | (uint32_t)(meant) << 8 | (uint32_t)(number) << 16 \
     | (uint32_t)(size) << 24)
#define FT_STS_SERVO(id) ((id) & 0xFFu)
#define FT_STS_MEANT(id) ((id) >> 8 & 0xFFu)
#define FT_STS_NUMBER(id) ((id) >> 16 & 0xFFu)
#define FT_STS_SIZE(id) ((id) >> 24 & 0xFu)
#define FT_STS_IS_ON 0x80000000u /* in an answer: the motor is on */

/* Meanings, as bits. RUN: the motor runs, with the duty of data[0..1]. SWITCH:
 * switch the motor on, or off without RUN. SET: write data[2..3] to the
 * register. QUIET: ask no servo in this tick. */
enum { FT_STS_RUN = 1, FT_STS_SWITCH = 2, FT_STS_SET = 4,
       FT_STS_QUIET = 8 };

/* Registers. */
enum { FT_STS_TORQUE = 40, FT_STS_DUTY = 44, FT_STS_STATE = 56,
       FT_STS_STATE_SIZE = 8 };

/* Largest numbers of bytes that a tick sends, and that come in a tick. */
#define FT_STS_OUT (32u + 7u * FT_WIRE_MOST)
#define FT_STS_IN (FT_STS_OUT + 16u * FT_WIRE_MOST + 16u)

typedef struct {
    uint8_t out[FT_STS_OUT], in[FT_STS_IN];
    uint32_t size;            /* of out */
    ft_frame answer[FT_WIRE_MOST];
    uint32_t answers, read;   /* answers that came, that were taken out */
    uint8_t number, width;    /* register asked for, bytes of each answer */
    uint32_t servos;
    uint8_t servo[FT_WIRE_MOST];
    bool on[FT_WIRE_MOST];    /* as reported, or as switched since then */
    uint16_t echoes, damaged; /* wrong echoes; bytes outside packets */
} ft_sts;

/* Pack the frames to all servos of the wire into the packets of a tick. */
void ft_sts_pack(ft_sts *w, const ft_frame frames[], uint32_t count);

/* Take in the first `came` bytes of `in`, which came after the packets. */
void ft_sts_came(ft_sts *w, uint32_t came);

/* Take out the next answer. Return false if no answer is left. */
bool ft_sts_next(ft_sts *w, ft_frame *f);

#endif
#endif
