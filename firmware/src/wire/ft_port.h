/* The port to the host: frames, the check of knots, recordings and reports. No
 * function waits. */
#ifndef FT_PORT_H
#define FT_PORT_H

#include "ft_bus.h"      /* ft_bus */
#include "ft_control.h"  /* ft_control */
#include "ft_messages.h" /* ft_msg_status, ft_msg_knot, ... */
#include "ft_safety.h"   /* ft_safety, ft_alarms, ft_sensors, ft_time */

#include <stdbool.h>
#include <stdint.h>

/* The parts of the application that the port reads and changes. */
typedef struct {
    ft_safety *safety;
    ft_control *control;
    const ft_time *time;
    const ft_sensors *sensors;
    FT_IF(FT_DRIVES, const ft_bus *bus;)
} ft_port_ends;

void ft_port_start(void);
void ft_port_idle(const ft_port_ends *to);

/* ---- knots ----------------------------------------------------------- */

/* Check one knot. Push a good knot. Return whether the knot was accepted. */
bool ft_knots_take(ft_queue *q, const ft_msg_knot *m,
                   const int32_t coarse[FT_JOINTS], ft_alarms *alarms);

/* ---- recordings ------------------------------------------------------ */

/* A recording is a ring of samples. Every n-th tick stores four words of the
 * telemetry block. The host reads the recording afterwards. */
#define FT_CAPTURE_COLUMNS 4u
#define FT_CAPTURE_SAMPLES 1024u /* a power of two */

extern volatile bool ft_capture_on; /* a sample may be due */

void ft_capture_start(const ft_msg_capture *m);
void ft_capture_read(uint32_t first, ft_msg_data *m);
void ft_capture_tick(const ft_control *c, uint32_t tick, uint32_t state);

/* ---- reports --------------------------------------------------------- */

/* Addresses of the last tick's numbers. A debugger or a virtual board reads the
 * numbers at these addresses, so no tick copies them. */
typedef struct {
    const ft_real *torque_ff, *torque;
    const float *duty;
    const ft_real *u;              /* half increments; velocity is u times 2
                                    * FT_TICK_HZ */
    const ft_turn *position;
    ft_target *const *target;      /* of this tick */
    const volatile uint32_t *tick; /* the next one */
    const uint32_t *mode;          /* mode of torque_ff, 0 without modes */
    const ft_step_state *step;     /* state of the step */
    uint32_t step_bytes;
    const volatile uint8_t *state; /* of the safety states */
    const uint8_t *fault;          /* the first since CLEAR */
} ft_telemetry_map;

extern const ft_telemetry_map ft_telemetry; /* in ft_app.c */

/* The numbers as one block of words: torque_ff, torque, duty, rate,
 * target_rate, position and target of every joint, then the tick. */
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
