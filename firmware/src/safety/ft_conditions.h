/* Conditions of commands, and faults. */
#ifndef FT_CONDITIONS_H
#define FT_CONDITIONS_H

#include "ft_safety.h" /* ft_safety, ft_safety_input */

#include <stdbool.h>
#include <stdint.h>

/* A check returns FT_GOOD, the first joint that fails, or FT_NO_JOINT. */
typedef uint32_t (*ft_check)(const ft_safety_input *in);

typedef struct {
    uint8_t event;
    uint8_t refusal;
    ft_check check;
} ft_condition;

/* States in which a fault is checked. FT_POWERED: while the outputs are on.
 * FT_ARMED: while the law makes torques, so not while the motors brake.
 * FT_OF_JOINTS: in the same states as FT_ARMED, for findings of the tick.
 * FT_OF_KNOTS: always, but only once. A fault switches the outputs off
 * immediately, or after a stop on the path. */
enum { FT_ALWAYS = 1, FT_ARMED = 2, FT_OF_JOINTS = 4, FT_OF_KNOTS = 8,
       FT_POWERED = 16 };
enum { FT_OFF, FT_STOP };

typedef struct {
    uint8_t fault;
    uint8_t where;
    uint8_t reaction;
    ft_check check;
} ft_fault_rule;

#define FT_NO_EVENT 0xFFu /* ends a table; greater than any event */

extern const ft_condition ft_conditions_of_arm[];
extern const ft_condition ft_conditions[]; /* in the order of the events */
extern const ft_fault_rule ft_faults[];
extern const uint32_t ft_faults_count;

uint32_t ft_counting(const ft_safety *s);
uint32_t ft_suspects(const ft_safety *s, const ft_safety_input *in);
uint32_t ft_fault_of_start(uint32_t chip_errors);

#endif
