/* The time of the ticks. It is the monotonic clock's, which no change of the
 * date moves.
 *
 * A simulator can grant the time instead. The board sends the time of its next
 * tick, ns, and waits. The simulator lets the drives run until this time, and
 * sends the time back. So every tick gets the same answers on any computer. */
#include "ft_parts.h"

#include <errno.h>
#include <sys/socket.h> /* recv, send */
#include <time.h>       /* clock_gettime, clock_nanosleep */

static uint64_t ft_granted;

bool ft_clock_granted(void)
{
    return ft_option_clock() >= 0;
}

static uint64_t ft_monotonic(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * FT_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t ft_clock_now(void)
{
    return ft_clock_granted() ? ft_granted : ft_monotonic();
}

uint32_t ft_chip_cycles(void)
{
    return (uint32_t)ft_monotonic();
}

/* Ask for a time, and wait until a time is granted. End this process if the
 * simulator has ended. */
static void ft_ask(uint64_t at)
{
    int fd = ft_option_clock();
    ssize_t n = send(fd, &at, sizeof at, MSG_NOSIGNAL);
    while (n > 0) {
        n = recv(fd, &ft_granted, sizeof ft_granted, 0);
        if (n == (ssize_t)sizeof ft_granted)
            return;
        n = n < 0 && errno == EINTR; /* a signal came: go on waiting */
    }
    ft_chip_leave();
}

uint64_t ft_clock_sleep_until(uint64_t at)
{
    struct timespec t = { (time_t)(at / FT_NS_PER_S),
                          (long)(at % FT_NS_PER_S) };
    if (!ft_clock_granted()) {
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
               EINTR)
            continue;
        return ft_monotonic();
    }
    do
        ft_ask(at);
    while (ft_granted < at);
    return ft_granted;
}
