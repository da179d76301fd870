/* A second process. It switches the drives off after a crash, a kill or a halt
 * of the first process. After a failure of the kernel, the adapter or the PC,
 * only the drives' own time limits act. */
#include "ft_board.h" /* FT_GUARD_NS */
#include "ft_config.h" /* FT_SERVO_LOOP */
#include "ft_parts.h"

#include <sched.h>      /* sched_setscheduler */
#include <signal.h>
#include <sys/mman.h>   /* mmap */
#include <sys/prctl.h>
#include <time.h>       /* nanosleep */
#include <unistd.h>     /* fork */

#if FT_WIRES > 0 && FT_SERVO_LOOP
#define FT_HOLDING 1 /* servos with their own loops hold the arm */
#else
#define FT_HOLDING 0
#endif

typedef struct {
    volatile uint64_t fed; /* time, ns */
    volatile bool over;
} ft_shared;

enum { FT_GUARD_PRIORITY = 61 }; /* the ticks have 60 */

static ft_shared *ft_life;
static volatile sig_atomic_t ft_alone; /* the second process has ended */

/* Return whether the first process lives and has run a tick lately. */
static bool ft_lives(pid_t first)
{
    if (getppid() != first)
        return false;
    return ft_clock_granted() || ft_clock_now() - ft_life->fed < FT_GUARD_NS;
}

/* Take a higher priority than the first process, which may be in a loop. */
static void ft_be_first(void)
{
    struct sched_param how = { .sched_priority = FT_GUARD_PRIORITY };
    (void)sched_setscheduler(0, SCHED_FIFO, &how);
}

/* Watch the first process, then switch the drives off. Kill a first process
 * that has only stopped: otherwise it would send an old command later. Send the
 * frames twice, because the first process may have left half a frame. */
static void ft_watch(pid_t first)
{
    const struct timespec pause = { 0, FT_GUARD_NS / 8 };
    while (ft_lives(first) && !ft_life->over)
        (void)nanosleep(&pause, NULL);
    if (ft_life->over)
        _exit(0);
    if (getppid() == first)
        (void)kill(first, SIGKILL);
    for (int i = 0; i < 2; i++) {
        ft_buses_stop();
#if !FT_HOLDING
        ft_wires_stop();
#endif
        (void)nanosleep(&pause, NULL);
    }
    ft_link_end();
    ft_say("the board's process has died or stopped",
           FT_HOLDING ? "servos hold the arm" : "drives switched off");
    _exit(1);
}

static void ft_note_end(int number)
{
    (void)number;
    ft_alone = 1;
}

bool ft_guard_start(void)
{
    pid_t first = getpid(), second;
    ft_life = mmap(NULL, sizeof *ft_life, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ft_life == MAP_FAILED) {
        ft_say_why("no memory for the second process", "");
        return false;
    }
    ft_guard_feed();
    (void)signal(SIGCHLD, ft_note_end);
    second = fork();
    if (second < 0) {
        ft_say_why("no second process", "");
        return false;
    }
    if (second == 0) {
        (void)prctl(PR_SET_NAME, "femtorque-guard");
        (void)signal(SIGINT, SIG_IGN); /* the first process obeys Ctrl-C */
        (void)signal(SIGTERM, SIG_IGN);
        (void)signal(SIGHUP, SIG_IGN);
        if (!ft_clock_granted())
            ft_be_first();
        ft_watch(first);
    }
    return true;
}

void ft_guard_feed(void)
{
    ft_life->fed = ft_clock_now();
    if (ft_alone != 0)
        ft_say("the second process has ended", "only time limits are left");
    ft_alone = 0;
}

void ft_guard_end(void)
{
    ft_life->over = true;
}
