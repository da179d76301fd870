/* A half-duplex bus of Feetech's servos: the packets of a tick, and the
 * answers.
 *
 * The board and the servos share one half-duplex line. Each tick has one packet
 * with the duties of all servos, and one question to all servos. The servos
 * answer one after the other. The board receives the bytes that it sends, as an
 * echo. If this echo is missing or wrong, a second device transmits or the line
 * is shorted. The board then ignores the tick's bytes. */
#ifndef FT_STS_H
#define FT_STS_H

#include "ft_config.h" /* FT_WIRES, FT_WIRE_MOST */

#if FT_WIRES > 0

#include "ft_frame.h" /* ft_frame */
#include "ft_goal.h"  /* ft_goal, ft_loop */

#include <stdbool.h>
#include <stdint.h>

/* A frame to or from a servo. id holds the servo's number, the frame's flags,
 * the register to read (0: the state) and the register's size. In an answer,
 * the servo's error bits take the place of the flags. */
#define FT_STS_ID(servo, meant, number, size) \
    ((servo) | (uint32_t)(meant) << 8 | (uint32_t)(number) << 16 \
     | (uint32_t)(size) << 24)
#define FT_STS_SERVO(id) ((id) & 0xFFu)
#define FT_STS_MEANT(id) ((id) >> 8 & 0xFFu)
#define FT_STS_NUMBER(id) ((id) >> 16 & 0xFFu)
#define FT_STS_SIZE(id) ((id) >> 24 & 0xFu)
#define FT_STS_IS_ON 0x80000000u /* in an answer: the motor is on */

/* Meanings, as bits. RUN: the motor runs with the duty in data[0..1]. SWITCH:
 * switch the motor on if RUN is set, otherwise off. SET: write data[2..3] to
 * the register. QUIET: the board asks no servo in this tick. AIM, in position
 * mode: ft_goal_take() takes the goal from the data.
 * STRAINED, in an answer: the reported load is not the load of the loop. */
enum { FT_STS_RUN = 1, FT_STS_SWITCH = 2, FT_STS_SET = 4,
       FT_STS_QUIET = 8, FT_STS_AIM = 16, FT_STS_STRAINED = 64 };

/* Registers. */
enum { FT_STS_TORQUE = 40, FT_STS_GOAL = 42, FT_STS_DUTY = 44,
       FT_STS_STATE = 56, FT_STS_STATE_SIZE = 8 };

/* Maximum numbers of bytes that the board sends and receives in a tick. */
#define FT_STS_OUT (32u + 7u * FT_WIRE_MOST)
#define FT_STS_IN (FT_STS_OUT + 16u * FT_WIRE_MOST + 16u)

typedef struct {
    uint8_t out[FT_STS_OUT], in[FT_STS_IN];
    uint32_t size;            /* of out */
    ft_frame answer[FT_WIRE_MOST];
    uint32_t answers, read;   /* answers received, answers already returned */
    uint8_t number, width;    /* register to read, bytes of each answer */
    uint32_t servos;
    uint8_t servo[FT_WIRE_MOST];
    bool on[FT_WIRE_MOST];    /* last report, or a later switch-off */
#if FT_SERVO_LOOP
    ft_goal goal[FT_WIRE_MOST];
#endif
    uint16_t echoes, damaged; /* receptions without a correct echo; bytes that
                               * belong to no packet */
} ft_sts;

#if FT_SERVO_LOOP
extern const ft_loop ft_sts_loop;
#endif

/* Pack the frames of all servos on the bus into the packets of one tick. */
void ft_sts_pack(ft_sts *w, const ft_frame frames[], uint32_t count);

/* Process the first `came` bytes of `in`, which arrived after the packets were
 * sent. */
void ft_sts_came(ft_sts *w, uint32_t came);

/* Return the next answer in `f`. Return false if there are no more answers. */
bool ft_sts_next(ft_sts *w, ft_frame *f);

#endif
#endif
