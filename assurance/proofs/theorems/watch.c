/* The slow checks of memory and drivers and the temperature model of motors and
 * drivers, safety/ft_watch.c and ft_heat.c. */
#include "proof.h"

#include "ft_config.c"
#include "ft_heat.c"
#include "ft_number.h"
#include "ft_watch.c"

static ft_alarms alarms;
static ft_sensors sensors;
static ft_real torque[FT_JOINTS];
static uint8_t flash[3u * 4096u + 100u]; /* three pieces and a part */
static ft_image image;
static float degrees;
static bool fault, stack;

ft_image ft_chip_image(void) { return image; }
float ft_chip_temperature(void) { return degrees; }
bool ft_chip_driver_fault(void) { return fault; }
bool ft_chip_stack_whole(void) { return stack; }
void ft_chip_feed_watchdog(void) { }
void ft_chip_drivers_look(bool all) { }

uint32_t ft_crc32_more(uint32_t crc, const void *bytes, size_t size)
{
    CLAIM(__CPROVER_r_ok(bytes, size));
    return nondet_u32();
}

uint32_t ft_crc32(const void *bytes, size_t size)
{
    CLAIM(__CPROVER_r_ok(bytes, size));
    return nondet_u32();
}

/* Return whether the next byte to check exists. */
static bool well(void)
{
    return round_.table < TABLES && round_.at < guarded[round_.table].size
           && code.at < image.size;
}

static void any_state(void)
{
    uint32_t j;

    ANYTHING(alarms);
    ANYTHING(sensors);
    ANYTHING(round_);
    ANYTHING(code);
    image.bytes = flash;
    image.size = nondet_u32();
    image.crc = nondet_u32();
    degrees = nondet_float();
    fault = nondet_bool();
    stack = nondet_bool();
    for (j = 0; j < FT_JOINTS; j++) {
        torque[j] = nondet_float();
        GIVEN(ft_size(torque[j]) <= ft_joint[j].effort);
    }
    GIVEN(image.size > 0u && image.size <= sizeof flash && well());
}

/* A cycle of the checks reads no byte outside the tables and the image, and
 * keeps its position within them. A temperature that is too high or NaN, a
 * driver fault and an overwritten stack guard are reported in the same cycle.
 * Run: unwind=12 */
void prove_watch_idle(void)
{
    any_state();
    ft_watch_idle(&alarms, &sensors, nondet_u32(), torque);
    CLAIM(well());
    CLAIM(degrees <= FT_TEMPERATURE_MAX
          || alarms.set.of[FT_ALARM_BOARD] == FT_FAULT_OVER_TEMPERATURE
          || (fault && alarms.set.of[FT_ALARM_BOARD] == FT_FAULT_DRIVER));
    CLAIM(!fault || alarms.set.of[FT_ALARM_BOARD] == FT_FAULT_DRIVER);
    CLAIM(stack || alarms.set.of[FT_ALARM_MEMORY] != 0u);
    END;
}

/* If the check sum of a table or an image is incorrect at the end of a cycle,
 * it is reported in this cycle.
 * Run: unwind=12 */
void prove_watch_sums(void)
{
    any_state();
    alarms.set.of[FT_ALARM_MEMORY] = 0;
    if (nondet_bool()) {
        const uint32_t table = round_.table;

        look_at_constants(&alarms);
        CLAIM(round_.table == table || alarms.set.of[FT_ALARM_MEMORY] == 0u
              || alarms.set.of[FT_ALARM_MEMORY] == FT_FAULT_CONFIGURATION);
        CLAIM(alarms.set.of[FT_ALARM_MEMORY] == 0u || round_.at == 0u);
    } else {
        look_at_code(&alarms);
        CLAIM(alarms.set.of[FT_ALARM_MEMORY] == 0u || code.at == 0u);
    }
    CLAIM(well());
    (void)ft_watch_code();
    (void)ft_watch_constants();
    END;
}

/* Every row of the temperature model uses the torque of an existing joint. A
 * row that is above its limit, or has not yet cooled down, is reported with its
 * joint.
 * Run: unwind=10 mechanisms=warm */
void prove_heat_told(void)
{
    uint32_t i, joint;

    any_state();
    ANYTHING(warm);
    joint = ft_heat_idle(nondet_u32(), torque);
    CLAIM(joint < FT_JOINTS || joint == FT_GOOD);
    for (i = 0; i < FT_HEATS; i++)
        CLAIM(!warm.over[i] || joint < FT_JOINTS);
    END;
}
