/* A wire of Dynamixel X servos, protocol 2.0: the packets of a tick, and the
 * answers.
 *
 * Board and servos talk on one wire. A tick has one packet with all goals, and
 * one question to all servos. The servos answer in one packet, to which each
 * adds its part, with the check sum of all bytes before. Parts after a missing
 * or disturbed part are ignored. A servo takes part once it has answered alone
 * with a delay of zero and with its firmware. After too many missing answers it
 * no longer takes part, so that the servos after it are heard. If a servo's
 * firmware does not know this question, the board asks one half of the servos
 * for two ticks, then the other half, and each answers with one packet.
 *
 * The board's bytes come back to the board first. If they do not, another
 * sender talks or the wire is shorted, and the tick's bytes are ignored. */
#ifndef FT_DXL_H
#define FT_DXL_H

#include "ft_config.h" /* FT_WIRES, FT_WIRE_MOST, FT_SILENT_TICKS */

#if FT_WIRES > 0

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* A frame to or from a servo: the servo's number, the frame's meaning, the
 * register that is asked for (0: the state) and the register's size. An answer
 * has the servo's errors in the place of the meaning. */
#define FT_DXL_ID(servo, meant, number, size) \
    ((servo) | (uint32_t)(meant) << 8 | (uint32_t)(number) << 16 \
     | (uint32_t)(size) << 24)
#define FT_DXL_SERVO(id) ((id) & 0xFFu)
#define FT_DXL_MEANT(id) ((id) >> 8 & 0xFFu)
#define FT_DXL_NUMBER(id) ((id) >> 16 & 0xFFu)
#define FT_DXL_SIZE(id) ((id) >> 24 & 0xFu)
#define FT_DXL_IS_ON 0x80000000u /* in an answer: the motor is on */

/* Meanings, as bits. RUN: the motor runs, with the goal of data[0..1]. SWITCH:
 * switch the motor on, or off without RUN. SET: write data[0..3] to the
 * register. LATE: the servo may answer late or not at all, and is asked alone.
 * REBOOT: reboot the servo, which clears its errors. In a tick with LATE or
 * REBOOT no other servo is asked. data[FT_DXL_GOAL]: the goal's register. */
enum { FT_DXL_RUN = 1, FT_DXL_SWITCH = 2, FT_DXL_SET = 4, FT_DXL_LATE = 8,
       FT_DXL_REBOOT = 16 };
enum { FT_DXL_GOAL = 4 };

/* Registers. */
enum { FT_DXL_FIRMWARE = 6, FT_DXL_DELAY = 9, FT_DXL_TORQUE = 64,
       FT_DXL_LEVEL = 68, FT_DXL_ERROR = 70, FT_DXL_WATCHDOG = 98,
       FT_DXL_DUTY = 100, FT_DXL_CURRENT = 102, FT_DXL_STATE = 126,
       FT_DXL_SUPPLY = 144 };

/* Bytes of the state, from the torque to the error, of supply and warmth. */
enum { FT_DXL_STATE_SIZE = 10, FT_DXL_TORQUE_SIZE = 7, FT_DXL_SUPPLY_SIZE = 3 };

/* Bit 7 of an answer's error, while the error has not been read. */
#define FT_DXL_ALERT 0x80u

/* Largest numbers of bytes that a tick sends, and that come in a tick. */
#define FT_DXL_OUT (112u + 20u * FT_WIRE_MOST)
#define FT_DXL_IN (FT_DXL_OUT + 24u * FT_WIRE_MOST + 16u)

/* State of a servo. */
typedef struct {
    uint8_t id;
    bool asked;       /* in this tick */
    bool on;          /* motor, as reported or as switched since then */
    bool prompt;      /* its answers have no delay */
    bool late;        /* its answers have a delay, not written yet */
    bool takes_part;
    bool old;         /* its firmware does not know fast sync read */
    uint8_t error;    /* value of register 70 */
    uint8_t alert;    /* FT_DXL_ALERT if the last answer had it */
    uint8_t volts;    /* 0.1 V */
    uint8_t warmth;   /* deg C */
    uint8_t missed;   /* missing answers since its last answer */
} ft_dxl_servo;

typedef struct {
    uint8_t out[FT_DXL_OUT], in[FT_DXL_IN];
    uint32_t size;            /* of out */
    ft_frame answer[FT_WIRE_MOST];
    uint32_t answers, read;   /* answers that came, that were taken out */
    uint8_t number, width;    /* register asked for, bytes of each answer */
    bool fast;                /* the question was a fast sync read */
    bool puzzled;             /* an error of a servo was not read yet */
    uint32_t servos, asked;   /* on the wire, and in this tick */
    uint32_t next;            /* servo that was asked alone last */
    uint32_t ticks;           /* wraps */
    ft_dxl_servo servo[FT_WIRE_MOST];
    uint16_t echoes, damaged; /* wrong echoes; bytes outside packets */
} ft_dxl;

/* Pack the frames to all servos of the wire into the packets of a tick. */
void ft_dxl_pack(ft_dxl *w, const ft_frame frames[], uint32_t count);

/* Take in the first `came` bytes of `in`, which came after the packets. */
void ft_dxl_came(ft_dxl *w, uint32_t came);

/* Take out the next answer. Return false if no answer is left. */
bool ft_dxl_next(ft_dxl *w, ft_frame *f);

#endif
#endif
