/* Feetech's STS servos in their PWM mode: a motor with a gear, to which the
 * board gives a duty. Frames are those of ft_sts.h. */
#ifndef FT_FEETECH_H
#define FT_FEETECH_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

/* Registers that matter before it is armed; all but LOCK, MODE and DELAY are
 * the owner's to set. FIRMWARE stands for registers 0 and 1, since no number
 * of a setting is 0. */
enum { FT_FEETECH_MODEL = 3, FT_FEETECH_DELAY = 7, FT_FEETECH_LEAST = 9,
       FT_FEETECH_MOST = 11, FT_FEETECH_FACTOR = 30,
       FT_FEETECH_OFFSET = 31, FT_FEETECH_MODE = 33, FT_FEETECH_LIMIT = 48,
       FT_FEETECH_LOCK = 55, FT_FEETECH_FIRMWARE = 256 };

#define FT_FEETECH_TURN 4096u /* counts */

/* share: of the supply, -1 to 1; most: it is not given more. */
void ft_feetech_run(ft_frame *f, const ft_drive_address *a, float share,
                    float most, float *carried);
void ft_feetech_switch(ft_frame *f, const ft_drive_address *a, bool on);
void ft_feetech_ask(ft_frame *f, const ft_drive_address *a, uint32_t number,
                    uint32_t size);
void ft_feetech_set(ft_frame *f, const ft_drive_address *a, uint32_t number,
                    uint32_t size, uint32_t value);

/* Let a frame ask nothing. */
void ft_feetech_quiet(ft_frame *f);

/* Let a frame ask whether the motor is on, instead of the state. */
void ft_feetech_guard(ft_frame *f);

ft_drive_heard ft_feetech_hear(const ft_frame *f, const ft_drive_address *a,
                               ft_drive_said *said);

#endif
