/* A half-duplex bus of Dynamixel X servos, protocol 2.0: the packets of a tick,
 * and the answers.
 *
 * The board and the servos share one half-duplex line. Each tick has one packet
 * with the goals of all servos, and one question to all servos. All servos
 * answer in one common packet. Each servo appends its part, with the check sum
 * of all bytes before. If a part is missing or disturbed, the board ignores all
 * later parts. The board includes a servo in this question after the servo has
 * answered alone. The single answers must have a delay of zero and the firmware
 * version. After too many missing answers the board leaves the servo out of the
 * question, because the parts of later servos would be lost. If a servo's
 * firmware does not know this question, the board sends a different question.
 * The board then alternates: for two ticks it asks one half of the servos, for
 * two ticks the second half. Each servo answers with its own packet.
 *
 * The board receives the bytes that it sends, as an echo. If this echo is
 * missing or wrong, a second device transmits or the line is shorted. The board
 * then ignores the tick's bytes. */
#ifndef FT_DXL_H
#define FT_DXL_H

#include "ft_config.h" /* FT_WIRES, FT_WIRE_MOST, FT_SILENT_TICKS */

#if FT_WIRES > 0

#include "ft_frame.h" /* ft_frame */
#include "ft_goal.h"  /* ft_goal, ft_loop */

#include <stdbool.h>
#include <stdint.h>

/* A frame to or from a servo. id holds the servo's number, the frame's flags,
 * the register to read (0: the state) and the register's size. In an answer,
 * the servo's error byte takes the place of the flags. */
#define FT_DXL_ID(servo, meant, number, size) \
    ((servo) | (uint32_t)(meant) << 8 | (uint32_t)(number) << 16 \
     | (uint32_t)(size) << 24)
#define FT_DXL_SERVO(id) ((id) & 0xFFu)
#define FT_DXL_MEANT(id) ((id) >> 8 & 0xFFu)
#define FT_DXL_NUMBER(id) ((id) >> 16 & 0xFFu)
#define FT_DXL_SIZE(id) ((id) >> 24 & 0xFu)
#define FT_DXL_IS_ON 0x80000000u /* in an answer: the motor is on */

/* Meanings, as bits. RUN: the motor runs with the goal in data[0..1]. SWITCH:
 * switch the motor on if RUN is set, otherwise off. SET: write data[0..3] to
 * the register. LATE: the servo may answer late or not at all, so the board
 * asks only this servo. REBOOT: reboot the servo. A reboot clears the servo's
 * errors. If one frame has LATE or REBOOT, the board asks no servo without LATE
 * in this tick. data[FT_DXL_GOAL]: the goal's register. AIM, in position mode:
 * ft_goal_take() takes the goal from the data. STRAINED, in an answer: the
 * reported load is not the load of the loop. */
enum { FT_DXL_RUN = 1, FT_DXL_SWITCH = 2, FT_DXL_SET = 4, FT_DXL_LATE = 8,
       FT_DXL_REBOOT = 16, FT_DXL_AIM = 32, FT_DXL_STRAINED = 64 };
enum { FT_DXL_GOAL = 4 };

/* Registers. */
enum { FT_DXL_FIRMWARE = 6, FT_DXL_DELAY = 9, FT_DXL_TORQUE = 64,
       FT_DXL_LEVEL = 68, FT_DXL_ERROR = 70, FT_DXL_WATCHDOG = 98,
       FT_DXL_DUTY = 100, FT_DXL_CURRENT = 102, FT_DXL_POSITION = 116,
       FT_DXL_SUPPLY = 144 };

/* Sizes in bytes: the registers from the torque switch to the error, supply
 * voltage and temperature. The state has the registers current, velocity and
 * position. In position mode the register of the duty comes first. */
enum { FT_DXL_TORQUE_SIZE = 7, FT_DXL_SUPPLY_SIZE = 3,
       FT_DXL_LOAD_SIZE = FT_SERVO_LOOP * 2 };
enum { FT_DXL_STATE = 126 - FT_DXL_LOAD_SIZE,
       FT_DXL_STATE_SIZE = 10 + FT_DXL_LOAD_SIZE };

/* Bit 7 of an answer's error byte. Bit 7 is set until the error register has
 * been read. */
#define FT_DXL_ALERT 0x80u

/* Maximum numbers of bytes that the board sends and receives in a tick. */
#define FT_DXL_OUT (112u + 20u * FT_WIRE_MOST)
#define FT_DXL_IN (FT_DXL_OUT + 24u * FT_WIRE_MOST + 16u)

/* State of a servo. */
typedef struct {
    uint8_t id;
    bool asked;       /* in this tick */
    bool on;          /* state of the motor, as last reported or switched off
                       * later */
    bool prompt;      /* its answers have no delay */
    bool late;        /* its answers have a delay that the board must set to
                       * 0 */
    bool takes_part;
    bool old;         /* true if its firmware has no fast sync read */
    uint8_t error;    /* value of register 70 */
    uint8_t alert;    /* FT_DXL_ALERT if this bit was set in the last answer */
    uint8_t volts;    /* 0.1 V */
    uint8_t warmth;   /* deg C */
    uint8_t missed;   /* missing answers since its last answer */
#if FT_SERVO_LOOP
    ft_goal goal;
#endif
} ft_dxl_servo;

typedef struct {
    uint8_t out[FT_DXL_OUT], in[FT_DXL_IN];
    uint32_t size;            /* of out */
    ft_frame answer[FT_WIRE_MOST];
    uint32_t answers, read;   /* answers received, answers already returned */
    uint8_t number, width;    /* register to read, bytes of each answer */
    bool fast;                /* true if the question was a fast sync read */
    bool puzzled;             /* the error register of a servo must be read */
    uint32_t servos, asked;   /* number of servos on the bus, and of servos
                               * asked in this tick */
    uint32_t next;            /* number of the servo that was last asked
                               * alone */
    uint32_t ticks;           /* wraps */
    ft_dxl_servo servo[FT_WIRE_MOST];
    uint16_t echoes, damaged; /* receptions without a correct echo; bytes that
                               * belong to no packet */
} ft_dxl;

#if FT_SERVO_LOOP
extern const ft_loop ft_dxl_loop;
#endif

/* Pack the frames of all servos on the bus into the packets of one tick. */
void ft_dxl_pack(ft_dxl *w, const ft_frame frames[], uint32_t count);

/* Process the first `came` bytes of `in`, which arrived after the packets were
 * sent. */
void ft_dxl_came(ft_dxl *w, uint32_t came);

/* Return the next answer in `f`. Return false if there are no more answers. */
bool ft_dxl_next(ft_dxl *w, ft_frame *f);

#endif
#endif
