/* Reports of the board about itself. */
#ifndef FT_REPORT_H
#define FT_REPORT_H

#include "ft_bus.h"      /* ft_bus */
#include "ft_control.h"  /* ft_control */
#include "ft_messages.h" /* ft_msg_status, ft_msg_ident */
#include "ft_model.h"    /* ft_real, ft_turn */
#include "ft_motion.h"   /* ft_target */
#include "ft_safety.h"   /* ft_safety, ft_sensors, ft_time */
#include "ft_step.h"     /* ft_step_state */

#include <stdint.h>

/* Places of the last tick's numbers: a debugger or a virtual board reads them
 * there, so that no tick has to copy them. */
typedef struct {
    const ft_real *torque_ff, *torque;
    const float *duty;
    const ft_real *u;              /* half increments: times 2 FT_TICK_HZ */
    const ft_turn *position;
    ft_target *const *target;      /* where the target of this tick is */
    const volatile uint32_t *tick; /* the next one */
    const uint32_t *mode;          /* of torque_ff, or 0: there is but one */
    const ft_step_state *step;     /* what the next tick goes on from */
    uint32_t step_bytes;
    const volatile uint8_t *state; /* of the safety states */
    const uint8_t *fault;          /* the first since CLEAR */
} ft_telemetry_map;

extern const ft_telemetry_map ft_telemetry; /* in ft_app.c */

/* These as one block of words: torque_ff, torque, duty, rate, target_rate,
 * position and target of every joint, then the tick. */
#define FT_REPORT_WORDS (7u * FT_JOINTS + 1u)

void ft_report_start(uint32_t chip_errors);
void ft_report_followed(ft_msg_followed *m, const ft_follow *f, uint32_t tick);
void ft_report_status(ft_msg_status *s, const ft_time *time,
                      const ft_sensors *sensors, const ft_safety *safety,
                      const ft_control *control);
uint32_t ft_report_word(const ft_control *c, uint32_t tick, uint32_t word);
void ft_report_ident(ft_msg_ident *m);
void ft_report_felt(ft_msg_felt *m, const ft_contact *f, uint32_t tick);
FT_IF(FT_DRIVES, void ft_report_drives(ft_msg_drives *m, const ft_bus *b,
                                       uint32_t tick);)
void ft_report_about(ft_msg_about *m, const uint8_t latched[FT_FAULT_NUMBERS],
                     uint32_t tick);

#endif
