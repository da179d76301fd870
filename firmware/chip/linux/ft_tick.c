/* Start, and control ticks.
 *
 * One thread runs everything, so a tick interrupts nothing. The thread sleeps
 * until the absolute time of a tick, runs the tick, and serves the host until
 * shortly before the next tick. If a tick is a whole period late, the missed
 * periods are left out. */
#include "ft_app.h"
#include "ft_board.h" /* FT_TICK_NS, FT_NAME */
#include "ft_chip.h"
#include "ft_parts.h"

#include <fcntl.h>    /* open */
#include <sched.h>    /* sched_setscheduler */
#include <stdio.h>
#include <stdlib.h>   /* exit */
#include <sys/mman.h> /* mlockall */
#include <unistd.h>

enum { FT_PRIORITY = 60,      /* of SCHED_FIFO; interrupt threads have 50 */
       FT_QUIET_NS = 200000,  /* time before a tick in which the host waits */
       FT_ROUNDS = 64,        /* most rounds of the main loop after a tick */
       FT_ENDING_MS = 200 };  /* time to switch the drives off at the end */

static uint64_t ft_next;  /* time of the next tick, ns */
static uint64_t ft_worst; /* how late a tick was, ns */
static uint32_t ft_missed;

/* Ask the system for prompt ticks. Print each request that it refuses. */
static void ft_be_quick(void)
{
    static const int32_t no_sleep = 0;
    struct sched_param how = { .sched_priority = FT_PRIORITY };
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        ft_say_why("memory is not locked", "a fetched page delays a tick");
    if (sched_setscheduler(0, SCHED_FIFO, &how) != 0)
        ft_say_why("no real-time class", "any program may delay a tick");
    else
        ft_say("real-time class", "SCHED_FIFO 60");
    int latency = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    if (latency >= 0 && write(latency, &no_sleep, sizeof no_sleep) < 0)
        (void)close(latency); /* the request holds while the file is open */
}

/* Open all adapters. */
static bool ft_adapters_start(void)
{
    bool good = true;
#if FT_CAN_COUNT > 0
    good = ft_chip_buses_start() && good;
#endif
#if FT_WIRE_COUNT > 0
    good = ft_chip_wires_start() && good;
#endif
    return good;
}

uint32_t ft_chip_start(void)
{
    ft_signals_start();
    if (!ft_link_start(ft_option_port()) || !ft_adapters_start() ||
        !ft_guard_start()) {
        ft_link_end();
        exit(1);
    }
    if (!ft_clock_granted())
        ft_be_quick();
    return FT_CHIP_GOOD;
}

void ft_chip_run(void)
{
    ft_next = ft_clock_now() + FT_TICK_NS;
}

/* Do not wait: ft_serve does. */
void ft_chip_wait(void)
{
}

/* Serve the host until shortly before the next tick. */
static void ft_serve(void)
{
    uint32_t rounds = 0;
    do
        ft_app_idle();
    while (++rounds < FT_ROUNDS && ft_link_await(ft_next - FT_QUIET_NS));
}

/* Leave out the periods that have passed. A missed tick is a fault only while
 * the outputs are on. */
static void ft_catch_up(uint64_t now)
{
    uint64_t late = now - ft_next;
    ft_worst = late > ft_worst ? late : ft_worst;
    if (late >= FT_TICK_NS) {
        ft_next += late / FT_TICK_NS * FT_TICK_NS;
        ft_missed++;
        if (ft_chip_outputs_enabled())
            ft_app_missed();
    }
    ft_next += FT_TICK_NS;
}

/* Print the number of missed ticks, and the largest delay. */
static void ft_tell(void)
{
    char line[80];
    (void)snprintf(line, sizeof line, "%u missed, the latest by %.3f ms",
                   ft_missed, 1e-6 * (double)ft_worst);
    ft_say("ticks", line);
}

static void ft_round(void)
{
    ft_catch_up(ft_clock_sleep_until(ft_next));
    ft_app_tick();
    ft_serve();
}

/* Run the board until a signal asks it to end. The signal opens the e-stop
 * loop, so the last ticks switch the drives off. */
int main(int count, char **words)
{
    uint64_t left = FT_ENDING_MS * (uint64_t)1000000u / FT_TICK_NS + 3u;
    ft_options(count, words);
    if (ft_option("latency") != NULL) {
        ft_be_quick();
        if (ft_adapters_start())
            ft_latency(ft_option("latency"));
        return 0;
    }
    ft_app_start(ft_chip_start());
    ft_chip_run();
    ft_say(FT_NAME, "ready");
    while (!ft_signalled())
        ft_round();
    for (; left != 0u; left--)
        ft_round();
    ft_tell();
    ft_chip_leave();
}
