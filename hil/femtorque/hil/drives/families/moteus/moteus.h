/* A moteus controller. */
#ifndef MOTEUS_H
#define MOTEUS_H

#include "drive.h"

#define MOTEUS_REGISTERS 0x160
#define MOTEUS_COMMAND 11 /* the mode, and registers from 0x20 on */

/* Questions to Python. MOTEUS_TAKE: the diagnostic stream removes `size` bytes
 * from the frame. MOTEUS_GIVE: the diagnostic stream adds at most `size` bytes
 * to the answer. MOTEUS_CALIBRATE: the drive measures the offsets of its
 * current sensors. */
enum { MOTEUS_TAKE, MOTEUS_GIVE, MOTEUS_CALIBRATE };

/* registers, command: in the registers' units. steps: unit per step of a
 * register with 8, 16 and 32 bits; zeros without a register. kp, kd: N m/rad, N
 * m s/rad. default_timeout: s. next: the command that a frame writes; its mode
 * is NaN until the frame writes a mode. at: present position in the frame. bad:
 * the remaining frame cannot be decoded. used: bytes of the answer; a number
 * above the answer's capacity means no answer. */
typedef struct {
    drive drive;
    int32_t mode, fault, home, version;
    double registers[MOTEUS_REGISTERS], steps[MOTEUS_REGISTERS][3];
    double command[MOTEUS_COMMAND], next[MOTEUS_COMMAND];
    double kp, kd, default_timeout;
    int32_t asks, size, at, bad, used;
    uint8_t answer[DATA];
} moteus;

double moteus_timeout(const moteus *own);
void moteus_reset(moteus *own);
void moteus_follow(moteus *own);
void moteus_let_go(moteus *own);
int32_t moteus_obey(drive *d);

#endif
