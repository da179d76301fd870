/* A wire of Dynamixel X servos, protocol 2.0: the packets of a tick, and the
 * answers.
 *
 * Both sides talk on the one wire. A tick gives all servos their goals in one
 * packet, and asks all the same in another, to which they answer in one packet:
 * each adds its part, with the check sum of all before it. Nothing is believed
 * behind a part that is missing or disturbed. A servo takes part once it
 * has answered alone that it has no delay, and has said which firmware it has;
 * after too many missing answers it takes part no more, so that those behind it
 * in the question are heard. As long as one takes part whose firmware does not
 * know this question, one half of them is asked, for two ticks, then the other,
 * and each answers with a packet of its own.
 *
 * The board's own bytes come back to it first: if they do not, somebody else
 * talks, or the wire is shorted, and the tick's bytes are worth nothing. */
#ifndef FT_DXL_H
#define FT_DXL_H

#include "ft_config.h" /* FT_WIRES, FT_WIRE_MOST, FT_SILENT_TICKS */

#if FT_WIRES > 0

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* A frame to or from a servo: its number, its meaning, the register that is
 * asked for, its size; 0: the state. An answer has the servo's errors in the
 * place of a meaning. */
#define FT_DXL_ID(servo, meant, number, size) \
    ((servo) | (uint32_t)(meant) << 8 | (uint32_t)(number) << 16 \
     | (uint32_t)(size) << 24)
#define FT_DXL_SERVO(id) ((id) & 0xFFu)
#define FT_DXL_MEANT(id) ((id) >> 8 & 0xFFu)
#define FT_DXL_NUMBER(id) ((id) >> 16 & 0xFFu)
#define FT_DXL_SIZE(id) ((id) >> 24 & 0xFu)
#define FT_DXL_IS_ON 0x80000000u /* of an answer: its motor is on */

/* Meanings, as bits. RUN: its motor is on, with the goal of data[0..1]; SWITCH:
 * send it that, or that it is off; SET: the register gets data[0..3]; LATE: it
 * may answer late or not at all, and is asked alone; REBOOT: it forgets its
 * errors. In a tick with one of the last two nobody else is asked.
 * data[FT_DXL_GOAL]: the register of its goal. */
enum { FT_DXL_RUN = 1, FT_DXL_SWITCH = 2, FT_DXL_SET = 4, FT_DXL_LATE = 8,
       FT_DXL_REBOOT = 16 };
enum { FT_DXL_GOAL = 4 };

/* Registers. */
enum { FT_DXL_FIRMWARE = 6, FT_DXL_DELAY = 9, FT_DXL_TORQUE = 64,
       FT_DXL_LEVEL = 68, FT_DXL_ERROR = 70, FT_DXL_WATCHDOG = 98,
       FT_DXL_DUTY = 100, FT_DXL_CURRENT = 102, FT_DXL_STATE = 126,
       FT_DXL_SUPPLY = 144 };

/* Bytes of the state; from the torque to the error; of supply and warmth. */
enum { FT_DXL_STATE_SIZE = 10, FT_DXL_TORQUE_SIZE = 7, FT_DXL_SUPPLY_SIZE = 3 };

/* Stands for bit 7 of an answer's error, before the error was read. */
#define FT_DXL_ALERT 0x80u

/* Bytes of a tick's packets, and of what comes in a tick. */
#define FT_DXL_OUT (112u + 20u * FT_WIRE_MOST)
#define FT_DXL_IN (FT_DXL_OUT + 24u * FT_WIRE_MOST + 16u)

/* All that is known of a servo. */
typedef struct {
    uint8_t id;
    bool asked;       /* in this tick */
    bool on;          /* its motor: as it reported, or was switched since */
    bool prompt;      /* it has no delay before its answers */
    bool late;        /* it has one, which was not written since */
    bool takes_part;
    bool old;         /* its firmware does not know the question to all */
    uint8_t error;    /* as register 70 has it */
    uint8_t alert;    /* FT_DXL_ALERT: there is one, by its last answer */
    uint8_t volts;    /* 0.1 V */
    uint8_t warmth;   /* deg C */
    uint8_t missed;   /* answers since its last one */
} ft_dxl_servo;

typedef struct {
    uint8_t out[FT_DXL_OUT], in[FT_DXL_IN];
    uint32_t size;            /* of out */
    ft_frame answer[FT_WIRE_MOST];
    uint32_t answers, read;   /* that came, and of these taken out */
    uint8_t number, width;    /* register asked for, bytes of each answer */
    bool fast;                /* the question was one to all */
    bool puzzled;             /* a servo has an error that was not read yet */
    uint32_t servos, asked;   /* in all, and in this tick */
    uint32_t next;            /* servo that was asked alone last */
    uint32_t ticks;           /* wraps */
    ft_dxl_servo servo[FT_WIRE_MOST];
    uint16_t echoes, damaged; /* that were not as sent; bytes of no packet */
} ft_dxl;

/* Make the packets of a tick of the frames to all servos of the wire. */
void ft_dxl_pack(ft_dxl *w, const ft_frame frames[], uint32_t count);

/* Take in what came since they were sent: came bytes lie in in. */
void ft_dxl_came(ft_dxl *w, uint32_t came);

/* Take out the next answer. Return whether there was one. */
bool ft_dxl_next(ft_dxl *w, ft_frame *f);

#endif
#endif
