/* The slow watch; see ft_watch.h. */
#include "ft_watch.h"

#include "ft_chip.h"     /* ft_chip_temperature, ft_chip_driver_fault */
#include "ft_config.h"   /* ft_joint, ft_lab_joint, FT_TEMPERATURE_MAX */
#include "ft_crc.h"      /* ft_crc32, ft_crc32_more */
#include "ft_heat.h"     /* ft_heat_idle */
#include "ft_messages.h" /* FT_FAULT_ */
#include "ft_state.h"    /* ft */

#define PIECE 16u /* bytes looked at in one round */

/* The tables that a check sum guards. */
static const struct {
    const void *table;
    uint32_t size;
    const uint32_t *crc;
} guarded[] = {
    { ft_joint, sizeof ft_joint, &ft_joint_crc },
    { ft_lab_joint, sizeof ft_lab_joint, &ft_lab_crc },
    { ft_heat, sizeof ft_heat, &ft_heat_crc },
};

#define TABLES (sizeof guarded / sizeof guarded[0])

static struct {
    uint32_t table, at; /* where the next piece begins */
    uint32_t crc;       /* of the pieces before it */
} round_;

/* Return whether every table is what it was when the image was built. */
bool ft_watch_constants(void)
{
    uint32_t i;
    bool whole = true;

    for (i = 0; i < TABLES; i++)
        whole = whole && ft_crc32(guarded[i].table, guarded[i].size)
                             == *guarded[i].crc;
    return whole;
}

/* Look at one piece of the constants. */
static void look_at_constants(void)
{
    const uint8_t *bytes = guarded[round_.table].table;
    uint32_t left = guarded[round_.table].size - round_.at;
    uint32_t n = left < PIECE ? left : PIECE;

    round_.crc = ft_crc32_more(round_.crc, bytes + round_.at, n);
    round_.at += n;
    if (n < left)
        return;
    if (round_.crc != *guarded[round_.table].crc)
        ft.safety.alarms.of[FT_ALARM_MEMORY] = FT_FAULT_CONFIGURATION;
    round_.table = round_.table + 1u < TABLES ? round_.table + 1u : 0u;
    round_.at = round_.crc = 0;
}

/* Look at what the board says of itself. A temperature that is no number is
 * too high. */
static void look_at_board(void)
{
    uint32_t joint = ft_heat_idle();
    uint8_t alarm = joint == FT_GOOD ? FT_FAULT_NONE : FT_FAULT_OVERLOAD;

    ft.safety.warm_joint = (uint8_t)joint;
    ft_chip_drivers_look(false);
    ft.temperature = ft_chip_temperature();
    if (!((ft_real)ft.temperature <= FT_TEMPERATURE_MAX))
        alarm = FT_FAULT_OVER_TEMPERATURE;
    if (ft_chip_driver_fault())
        alarm = FT_FAULT_DRIVER;
    ft.safety.alarms.of[FT_ALARM_BOARD] = alarm;
}

/* One round. */
void ft_watch_idle(void)
{
    look_at_board();
    if (!ft_chip_stack_whole())
        ft.safety.alarms.of[FT_ALARM_MEMORY] = FT_FAULT_STACK;
    look_at_constants();
}
