/* Measurements of the board: bus voltage and temperatures.
 *
 * The converter samples all inputs in one sequence. Each tick starts this
 * sequence. The next tick reads the results without waiting. If a sequence has
 * not ended by then, or the converter has stopped, the bus voltage reads as 0
 * V. */
#include "ft_board.h" /* FT_SENSES, FT_BUS_SCALE, FT_CELSIUS */
#include "ft_chip.h"
#include "ft_parts.h"

static float ft_bus_volts = FT_BUS_VOLTAGE; /* of this tick */

#if defined(FT_SENSES) && !FT_TOLERANT

static const uint8_t ft_sense_channels[] = { FT_SENSES };
enum { FT_SENSE_COUNT = sizeof ft_sense_channels };

static uint32_t ft_bus_counts[2]; /* counts of the last two ticks */

/* Convert all channels, and wait for the results. */
static bool ft_sense_once(void)
{
    ft_converter_go();
    return ft_converter_await();
}

/* Discard the first sequence, which is less accurate. */
bool ft_sense_start(void)
{
    if (!ft_converter_start(ft_sense_channels, FT_SENSE_COUNT) ||
        !ft_sense_once() || !ft_sense_once())
        return false;
    ft_bus_counts[0] = ft_bus_counts[1] = ft_converter_counts(0);
    ft_converter_go();
    return true;
}

/* Return the median of three counts. */
static inline uint32_t ft_median(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Read this tick's measurement of the bus, or 0 if it is not finished. */
static inline uint32_t ft_bus_take(bool there)
{
    uint32_t now = there ? ft_converter_counts(0) : 0u;
    uint32_t middle = ft_median(ft_bus_counts[0], ft_bus_counts[1], now);
    ft_bus_counts[0] = ft_bus_counts[1];
    ft_bus_counts[1] = now;
    return middle;
}

/* After a late tick the converter may still be busy. */
float ft_chip_bus_voltage(void)
{
    bool done = ft_converter_done();
    if (FT_BUS_SENSED)
        ft_bus_volts = FT_BUS_SCALE * (float)ft_bus_take(done);
    if (done)
        ft_converter_go();
    return ft_bus_volts;
}

#else /* nothing to measure, or an emulator */

bool ft_sense_start(void)
{
    return true;
}

float ft_chip_bus_voltage(void)
{
    return ft_bus_volts;
}

#endif

float ft_bus_ratio(void)
{
    return ft_bus_volts * (1.0f / FT_BUS_VOLTAGE);
}

#if defined(FT_CELSIUS) && !FT_TOLERANT

#define FT_KELVIN 273.15f
enum { FT_RAIL = 24, FT_TOP = 4096 }; /* valid distance from either end, counts;
                                       * highest reading, counts */

static const float ft_celsius[] = { FT_CELSIUS };

/* Return the temperature of one sensor. */
static float ft_celsius_of(uint32_t counts)
{
    const float *entry = &ft_celsius[counts / FT_CELSIUS_STEP];
    float share = (float)(counts % FT_CELSIUS_STEP) / (float)FT_CELSIUS_STEP;
    return entry[0] + share * (entry[1] - entry[0]);
}

/* A broken wire reads as NaN. */
float ft_chip_temperature(void)
{
    float hottest = -FT_KELVIN;
    for (uint32_t i = FT_BUS_SENSED; i < FT_SENSE_COUNT; i++) {
        uint32_t counts = ft_converter_counts(i);
        if (counts < FT_RAIL || counts > FT_TOP - FT_RAIL)
            return __builtin_nanf("");
        float one = ft_celsius_of(counts);
        if (one > hottest)
            hottest = one;
    }
    return hottest;
}

#else

float ft_chip_temperature(void)
{
    return 25.0f;
}

#endif
