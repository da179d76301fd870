/* Drives by their row in ft_drive: the frames of each one's family, and the
 * settings that have to be right before it is armed. */
#ifndef FT_DIALECT_H
#define FT_DIALECT_H

#include "ft_config.h" /* FT_BUS_DRIVES */

#if FT_BUS_DRIVES > 0

#include "ft_drive.h" /* ft_drive_target, ft_drive_said */
#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* Verdict on an answer about a setting. */
typedef enum {
    FT_ANSWER_OTHER, /* it is about another setting */
    FT_ANSWER_RIGHT,
    FT_ANSWER_WRONG
} ft_answer;

/* Number in place of a setting's own, for the range of a velocity field that
 * the drive cannot be asked for, but that its motion shows. */
#define FT_DIALECT_VELOCITY 0xFFFFu

/* Return whether the drive's states report whether it is enabled. */
bool ft_dialect_tells(uint32_t i);

/* Return whether the range of its velocity field is known: it can be asked for,
 * or there is none. */
bool ft_dialect_velocity_known(uint32_t i);

/* Return whether its state has to be asked for in every tick, while heartbeats
 * report unasked whether it is enabled. */
bool ft_dialect_polled(uint32_t i);
void ft_dialect_poll(uint32_t i, ft_frame *f);

void ft_dialect_enable(uint32_t i, ft_frame *f);
void ft_dialect_disable(uint32_t i, bool clear, ft_frame *f);
void ft_dialect_command(uint32_t i, const ft_drive_target *t, float *carried,
                        ft_frame *f);
ft_drive_heard ft_dialect_hear(uint32_t i, const ft_frame *f,
                               ft_drive_said *said);

/* Settings that matter are asked for step by step. One that the mechanism file
 * decides is written if it differs; it is not stored in the drive. place: of
 * the joint by its drive's last state, rad. */
uint32_t ft_dialect_steps(uint32_t i);

/* Return the step that is asked again and again while the drive is off, because
 * near zero it shows nothing; beyond the last step: none. */
uint32_t ft_dialect_again(uint32_t i);

/* Return the step that shows whether the drive has been without power, and so
 * has forgotten what was written to it; beyond the last step: none. */
uint32_t ft_dialect_forgets(uint32_t i);
void ft_dialect_ask(uint32_t i, uint32_t step, ft_frame *f);
bool ft_dialect_writes(uint32_t i, uint32_t step);
void ft_dialect_write(uint32_t i, uint32_t step, ft_frame *f);
ft_answer ft_dialect_judge(uint32_t i, uint32_t step,
                           const ft_drive_said *said, float place);

/* Return the place that a number of a drive's position field stands for, rad of
 * the joint. An extrapolated number may be beyond the field. */
float ft_dialect_place(uint32_t i, int32_t position);

/* Return how far a number for a position is from the drive's zero, in half
 * steps. */
int64_t ft_dialect_halves(uint32_t i, uint32_t position);

/* Return how far the drive went from one number for its position to another, in
 * steps. */
int32_t ft_dialect_went(uint32_t i, int32_t from, uint32_t to);

/* Change the frame to a silent drive that is off so that the drive answers in
 * time, if its family may have been set to answer late. phase: ticks since the
 * last such try. */
void ft_dialect_wake(uint32_t i, uint32_t phase, ft_frame *f);

/* Make the frame to a drive that is off a command of no torque now and then, if
 * its family may otherwise go on with its last voltages, and then does not even
 * leave its mode. */
void ft_dialect_release(uint32_t i, uint32_t tick, ft_frame *f);

/* Let a command ask now and then whether the drive is enabled, if its states do
 * not report that. */
void ft_dialect_look(uint32_t i, uint32_t tick, bool enabled, ft_frame *f);

#endif
#endif
