/* A moteus controller. */
#ifndef MOTEUS_H
#define MOTEUS_H

#include "drive.h"

#define MOTEUS_REGISTERS 0x160
#define MOTEUS_COMMAND 11 /* numbers: the mode, and registers from 0x20 on */

/* Questions to Python: the stream takes `size` bytes of the frame, or gives so
 * many at most to the answer; the currents' offsets are measured. */
enum { MOTEUS_TAKE, MOTEUS_GIVE, MOTEUS_CALIBRATE };

/* registers, command: in their own units; steps: of them with 8, 16 and 32
 * bits, zeros for a register that is none. kp, kd: N m/rad, N m s/rad.
 * default_timeout: s. next: the command that a frame writes, its mode NaN until
 * it has. at: place in the frame; bad: there is none. used: bytes of the
 * answer; more than it has: none. */
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
