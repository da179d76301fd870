/* The slow watch; see ft_watch.h. */
#include "ft_watch.h"

#include "ft_chip.h"     /* ft_chip_temperature, ft_chip_driver_fault */
#include "ft_config.h"   /* FT_GUARDED */
#include "ft_crc.h"      /* ft_crc32, ft_crc32_more */
#include "ft_messages.h" /* FT_FAULT_ */

#define PIECE 16u         /* bytes of the tables in a round */
#define CODE_PIECE 64u    /* bytes of the image in a round */
#define START_PIECE 4096u /* bytes of the image at the start */

/* The tables with a check sum. */
static const struct {
    const void *table;
    uint32_t size;
    const uint32_t *crc;
} guarded[] = {
    FT_GUARDED
};

#define TABLES (sizeof guarded / sizeof guarded[0])

static struct {
    uint32_t table, at; /* begin of the next piece */
    uint32_t crc;       /* of the pieces before */
} round_;

static struct {
    uint32_t at, crc;
} code; /* the same of the image */

/* Return whether every table has the check sum from the build. */
bool ft_watch_constants(void)
{
    uint32_t i;
    bool whole = true;

    for (i = 0; i < TABLES; i++)
        whole = whole && ft_crc32(guarded[i].table, guarded[i].size)
                             == *guarded[i].crc;
    return whole;
}

/* Return whether the image has its check sum. Feed the watchdog, since with a
 * slow clock the check outlasts its period. */
bool ft_watch_code(void)
{
    ft_image image = ft_chip_image();
    uint32_t at, crc = 0;

    for (at = 0; at < image.size; at += START_PIECE) {
        uint32_t left = image.size - at;
        uint32_t n = left < START_PIECE ? left : START_PIECE;

        crc = ft_crc32_more(crc, image.bytes + at, n);
        ft_chip_feed_watchdog();
    }
    return crc == image.crc;
}

/* Add a piece of the tables to the check sum, compared at a table's end. */
static void look_at_constants(ft_alarms *alarms)
{
    const uint8_t *bytes = guarded[round_.table].table;
    uint32_t left = guarded[round_.table].size - round_.at;
    uint32_t n = left < PIECE ? left : PIECE;

    round_.crc = ft_crc32_more(round_.crc, bytes + round_.at, n);
    round_.at += n;
    if (n < left)
        return;
    if (round_.crc != *guarded[round_.table].crc)
        alarms->set.of[FT_ALARM_MEMORY] = FT_FAULT_CONFIGURATION;
    round_.table = round_.table + 1u < TABLES ? round_.table + 1u : 0u;
    round_.at = round_.crc = 0;
}

/* Add one piece of the image to the check sum. At the end compare the check
 * sum. The tables are part of the image. An error in a table is therefore
 * reported for the table, not for the code. */
static void look_at_code(ft_alarms *alarms)
{
    ft_image image = ft_chip_image();
    uint32_t left = image.size - code.at;
    uint32_t n = left < CODE_PIECE ? left : CODE_PIECE;

    code.crc = ft_crc32_more(code.crc, image.bytes + code.at, n);
    code.at += n;
    if (n < left)
        return;
    if (code.crc != image.crc)
        alarms->set.of[FT_ALARM_MEMORY] =
            ft_watch_constants() ? FT_FAULT_CODE : FT_FAULT_CONFIGURATION;
    code.at = code.crc = 0;
}

/* Set the board's alarm for a driver fault, a high temperature or an overloaded
 * joint. NaN is a high temperature. */
static void look_at_board(ft_alarms *alarms, ft_sensors *sensors,
                          uint32_t joint)
{
    uint8_t alarm = joint == FT_GOOD ? FT_FAULT_NONE : FT_FAULT_OVERLOAD;

    alarms->warm_joint = (uint8_t)joint;
    ft_chip_drivers_look(false);
    sensors->temperature = ft_chip_temperature();
    if (!((ft_real)sensors->temperature <= FT_TEMPERATURE_MAX))
        alarm = FT_FAULT_OVER_TEMPERATURE;
    if (ft_chip_driver_fault())
        alarm = FT_FAULT_DRIVER;
    alarms->set.of[FT_ALARM_BOARD] = alarm;
}

/* Make one round of checks. */
void ft_watch_idle(ft_alarms *alarms, ft_sensors *sensors, uint32_t tick,
                   const ft_real torque[FT_JOINTS])
{
    look_at_board(alarms, sensors, ft_heat_idle(tick, torque));
    if (!ft_chip_stack_whole())
        alarms->set.of[FT_ALARM_MEMORY] = FT_FAULT_STACK;
    look_at_constants(alarms);
    look_at_code(alarms);
}
