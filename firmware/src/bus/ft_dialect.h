/* Drives by their numbers, as in ft_drive: frames of the family of each, and
 * what is to be known of a drive before it is armed. */
#ifndef FT_DIALECT_H
#define FT_DIALECT_H

#include "ft_config.h" /* FT_BUS_DRIVES */

#if FT_BUS_DRIVES > 0

#include "ft_drive.h" /* ft_drive_target, ft_drive_said */
#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* What an answer about a setting is worth. */
typedef enum {
    FT_ANSWER_OTHER, /* it is about another one */
    FT_ANSWER_RIGHT,
    FT_ANSWER_WRONG
} ft_answer;

/* Set where a drive's own setting has no number: the range of its velocity
 * field, as its motion shows it. */
#define FT_DIALECT_VELOCITY 0xFFFFu

/* Return whether its states tell whether it is enabled, and whether the range
 * of its velocities is known: asked for, or there is none. */
bool ft_dialect_tells(uint32_t i);
bool ft_dialect_velocity_known(uint32_t i);

void ft_dialect_enable(uint32_t i, ft_frame *f);
void ft_dialect_disable(uint32_t i, bool clear, ft_frame *f);
void ft_dialect_command(uint32_t i, const ft_drive_target *t, float *carried,
                        ft_frame *f);
ft_drive_heard ft_dialect_hear(uint32_t i, const ft_frame *f,
                               ft_drive_said *said);

/* Settings that matter are asked for step by step. One that is the file's to
 * say is written where it is another; nothing is stored in the drive. place:
 * where the joint is by its drive's last state, rad. */
uint32_t ft_dialect_steps(uint32_t i);

/* Return the step to be taken again and again while the drive is off, because
 * it shows nothing near zero; beyond the last one: none. */
uint32_t ft_dialect_again(uint32_t i);

/* Return the step that shows whether the drive has been without power, which
 * lets it forget what was written to it; beyond the last one: none. */
uint32_t ft_dialect_forgets(uint32_t i);
void ft_dialect_ask(uint32_t i, uint32_t step, ft_frame *f);
bool ft_dialect_writes(uint32_t i, uint32_t step);
void ft_dialect_write(uint32_t i, uint32_t step, ft_frame *f);
ft_answer ft_dialect_judge(uint32_t i, uint32_t step,
                           const ft_drive_said *said, float place);

/* Return where a drive is by a number for its position, rad of the joint. One
 * that is taken to move on may be beyond its field. */
float ft_dialect_place(uint32_t i, int32_t position);

/* Return how far a number for a position is from the drive's zero, in halves
 * of a step; and how far it went from another one, in steps. */
int64_t ft_dialect_halves(uint32_t i, uint32_t position);
int32_t ft_dialect_went(uint32_t i, int32_t from, uint32_t to);

/* Let the frame to a silent drive that is off make it answer in time, if it
 * is one that may have been set to answer late. phase: ticks since the last
 * such try. */
void ft_dialect_wake(uint32_t i, uint32_t phase, ft_frame *f);

/* Let the frame to a drive that is off be a command of nothing now and then, if
 * it is one that without any may go on with its last voltages, and then not
 * even leave. */
void ft_dialect_release(uint32_t i, uint32_t tick, ft_frame *f);

/* Let a command now and then ask whether the drive is enabled, where its
 * states do not tell. */
void ft_dialect_look(uint32_t i, uint32_t tick, bool enabled, ft_frame *f);

#endif
#endif
