/* Plays errors that provers found, with the firmware's code under sanitizers.
 * REPLAY chooses one error a build. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef REPLAY_STALE
#include "ft_bus.c"

/* A drive falls silent before the board has written a setting. */
static int replay(void)
{
    static ft_bus bus;
    static ft_observer seen;
    static bool homed[FT_JOINTS];
    int32_t counts[FT_JOINTS];

    bus.drive[0].state = FT_BUS_SEEN;
    bus.drive[0].age = FT_SILENT_TICKS;
    bus.drive[0].asked = 1;
    bus.drive[0].writes = true;
    ft_bus_hear(&bus, &seen, homed, counts);
    return bus.drive[0].state != FT_BUS_SILENT || bus.drive[0].writes;
}
#endif

#ifdef REPLAY_SUM
#include "ft_bus.c"

/* A servo turns as far as its number can count. */
static int replay(void)
{
    static ft_observer seen;
    ft_bus_drive d = { .held = true, .answered = true, .position = 10,
                       .fed = INT32_MAX - 5 };

    return moved(&d, 0, &seen) != 16 || d.fed != 10;
}
#endif

#ifdef REPLAY_STATE
#include "ft_sts.c"

/* A frame sets the first register of a state, which has eight bytes. */
static int replay(void)
{
    static ft_sts wire;
    ft_frame *frames = calloc(FT_WIRE_MOST, sizeof *frames);
    uint32_t i;

    for (i = 0; i < FT_WIRE_MOST; i++)
        frames[i].id = FT_STS_ID(i + 1u, FT_STS_SET, FT_STS_STATE, 0u);
    ft_sts_pack(&wire, frames, FT_WIRE_MOST);
    free(frames);
    return wire.size > FT_STS_OUT;
}
#endif

#ifdef REPLAY_TABLE
#include "ft_sense.c"

bool ft_converter_start(const uint8_t channels[], uint32_t count)
{
    return channels != NULL && count > 0u;
}

void ft_converter_go(void) { }
bool ft_converter_await(void) { return true; }
bool ft_converter_done(void) { return true; }
uint32_t ft_converter_counts(uint32_t i) { return UINT32_MAX - i; }

/* A converter reports more counts than a thermistor's table has. */
static int replay(void)
{
    return !isnan(ft_chip_temperature());
}
#endif

int main(void)
{
    return replay();
}
