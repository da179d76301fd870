/* What the board tells about itself. */
#ifndef FT_REPORT_H
#define FT_REPORT_H

#include "ft_messages.h" /* ft_msg_status, ft_msg_ident */
#include "ft_model.h"    /* FT_JOINTS */

#include <stdint.h>

/* What the last tick did; a debugger or a virtual board reads it by name. */
typedef struct {
    float torque_ff[FT_JOINTS];
    float torque[FT_JOINTS];
    float duty[FT_JOINTS];
    float rate[FT_JOINTS];
    float target_rate[FT_JOINTS];
    int32_t position[FT_JOINTS];
    int32_t target[FT_JOINTS];
    uint32_t tick;
} ft_telemetry_t;

extern ft_telemetry_t ft_telemetry;

/* The mode of the interval that torque_ff is for, where there are several. */
extern uint32_t ft_telemetry_mode;

void ft_report_start(uint32_t chip_errors);
void ft_report_tick(void);
void ft_report_status(ft_msg_status *s);
void ft_report_ident(ft_msg_ident *m);

#endif
