/* The round trip of an adapter. It begins with the frames that switch all
 * drives off, and ends when all drives of a bus have answered. */
#include "ft_board.h"    /* FT_CAN_COUNT, FT_WIRE_COUNT, FT_TICK_NS */
#include "ft_families.h" /* ft_drive */
#include "ft_parts.h"

#include <stdio.h>
#include <stdlib.h> /* atoi, qsort */
#include <time.h>   /* nanosleep */

enum { FT_ROUNDS_MOST = 10000, FT_LOOK_NS = 20000,
       FT_GIVE_UP_NS = 100000000 };

static uint32_t ft_took[FT_ROUNDS_MOST]; /* round trips, ns */

static int ft_order(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Measure one round trip. Return its time, ns, or 0 without all answers. */
static uint32_t ft_round_trip(uint32_t bus, uint32_t drives)
{
    const struct timespec pause = { 0, FT_LOOK_NS };
    uint64_t began = ft_clock_now(), took = 0;
    uint32_t heard = 0;
    ft_buses_stop();
    ft_wires_stop();
    while (heard < drives && took < FT_GIVE_UP_NS) {
        (void)nanosleep(&pause, NULL);
        heard += bus + 1u > FT_CAN_COUNT
                     ? ft_wire_heard(bus - FT_CAN_COUNT, drives)
                     : ft_bus_heard(bus); /* no comparison with zero */
        took = ft_clock_now() - began;
    }
    return heard < drives ? 0u : (uint32_t)took;
}

/* Measure one bus. Print its number, the number of rounds, the number of
 * answered rounds, and the median and the longest time, ns. */
static void ft_measure(uint32_t bus, uint32_t rounds)
{
    uint32_t drives = 0, answered = 0;
    for (uint32_t i = 0; i < FT_BUS_DRIVES; i++)
        drives += ft_drive[i].bus == bus;
    uint64_t next = ft_clock_now();
    for (uint32_t i = 0; i < rounds; i++) {
        next += FT_TICK_NS;
        (void)ft_clock_sleep_until(next);
        ft_took[answered] = ft_round_trip(bus, drives);
        answered += ft_took[answered] != 0u;
    }
    qsort(ft_took, answered, sizeof ft_took[0], ft_order);
    printf("%u %u %u %u %u\n", bus, rounds, answered,
           answered != 0u ? ft_took[answered / 2u] : 0u,
           answered != 0u ? ft_took[answered - 1u] : 0u);
}

void ft_latency(const char *rounds)
{
    int asked = atoi(rounds);
    uint32_t n = asked < 1 ? 1u : asked > FT_ROUNDS_MOST ? FT_ROUNDS_MOST
                                                         : (uint32_t)asked;
    for (uint32_t bus = 0; bus < FT_CAN_COUNT + FT_WIRE_COUNT; bus++)
        ft_measure(bus, n);
}
