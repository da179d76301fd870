/* The command line, messages, signals, and the functions of a chip that a PC
 * does not have. */
#include "ft_board.h" /* FT_BUS_VOLTAGE, FT_NAME */
#include "ft_crc.h"   /* ft_crc32 */
#include "ft_model.h" /* FT_JOINTS */
#include "ft_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- command line -------------------------------------------------------- */

static int ft_count;
static char **ft_words; /* port=PATH, BUS=KIND:WHERE, clock=fd:N, latency=N */

void ft_options(int count, char **words)
{
    ft_count = count;
    ft_words = words;
}

const char *ft_option(const char *name)
{
    size_t size = strlen(name);
    for (int i = 1; i < ft_count; i++) {
        if (strncmp(ft_words[i], name, size) == 0 && ft_words[i][size] == '=')
            return ft_words[i] + size + 1;
    }
    return NULL;
}

const char *ft_option_port(void)
{
    const char *found = ft_option("port");
    if (found == NULL) {
        ft_say("usage", FT_NAME " port=PATH BUS=KIND:WHERE ...");
        exit(2);
    }
    return found;
}

int ft_option_clock(void)
{
    static int found = -2;
    if (found == -2) {
        const char *where = ft_option("clock");
        found = where == NULL ? -1 : ft_descriptor(where);
    }
    return found;
}

int ft_descriptor(const char *where)
{
    return strncmp(where, "fd:", 3) == 0 ? atoi(where + 3) : -1;
}

void ft_say(const char *what, const char *which)
{
    fprintf(stderr, "board: %s%s%s\n", what, *which ? ": " : "", which);
}

void ft_say_why(const char *what, const char *which)
{
    const char *why = strerror(errno);
    fprintf(stderr, "board: %s (%s)%s%s\n", what, why, *which ? ": " : "",
            which);
}

/* ---- the end ------------------------------------------------------------- */

static volatile sig_atomic_t ft_asked;

static void ft_ask_to_end(int number)
{
    (void)number;
    ft_asked = 1;
}

void ft_signals_start(void)
{
    struct sigaction how = { .sa_handler = ft_ask_to_end };
    (void)sigaction(SIGINT, &how, NULL);
    (void)sigaction(SIGTERM, &how, NULL);
    (void)sigaction(SIGHUP, &how, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* an adapter that is gone is an error */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* end with the starter */
}

bool ft_signalled(void)
{
    return ft_asked != 0;
}

/* A PC has no e-stop loop. A signal, such as Ctrl-C, acts like an open one. */
bool ft_chip_estop(void)
{
    return ft_signalled();
}

void ft_chip_leave(void)
{
    ft_link_end();
    ft_guard_end();
    exit(0);
}

bool ft_chip_has_loader(void)
{
    return false;
}

void ft_chip_feed_watchdog(void)
{
    ft_guard_feed();
}

/* ---- outputs: drives on buses alone -------------------------------------- */

static bool ft_on;

void ft_chip_outputs(bool enabled)
{
    ft_on = enabled;
}

bool ft_chip_outputs_enabled(void)
{
    return ft_on;
}

void ft_chip_safe(void)
{
    ft_on = false;
}

void ft_chip_duties(const float duty[])
{
    (void)duty; /* drives take frames */
}

void ft_chip_brake(bool open)
{
    (void)open;
}

void ft_chip_servo_supply(bool on)
{
    (void)on;
}

void ft_chip_show(uint32_t state, uint32_t tick)
{
    (void)state;
    (void)tick;
}

/* ---- measurements: what the drives report -------------------------------- */

void ft_chip_encoders(int32_t counts[])
{
    memset(counts, 0, FT_JOINTS * sizeof counts[0]);
}

float ft_chip_bus_voltage(void)
{
    return FT_BUS_VOLTAGE;
}

float ft_chip_temperature(void)
{
    return 25.0f;
}

bool ft_chip_index(uint32_t joint)
{
    (void)joint;
    return false;
}

bool ft_chip_driver_fault(void)
{
    return false;
}

void ft_chip_drivers_look(bool at_all)
{
    (void)at_all;
}

bool ft_chip_drivers_ready(void)
{
    return true;
}

uint32_t ft_chip_driver_status(void)
{
    return 0;
}

bool ft_chip_supply_good(void)
{
    return true;
}

uint32_t ft_chip_current_fault(uint32_t *joint)
{
    *joint = 0;
    return FT_CURRENT_GOOD;
}

bool ft_chip_current_zero(uint32_t *joint)
{
    *joint = 0;
    return true;
}

/* ---- identity ------------------------------------------------------------ */

extern const uint8_t __executable_start[], etext[];

/* Return the code in memory, with its check sum at the start. */
ft_image ft_chip_image(void)
{
    static ft_image image;
    if (image.bytes == NULL) {
        image.bytes = __executable_start;
        image.size = (uint32_t)(etext - __executable_start);
        image.crc = ft_crc32(image.bytes, image.size);
    }
    return image;
}

/* A stack that overflows ends the process. */
bool ft_chip_stack_whole(void)
{
    return true;
}

uint32_t ft_chip_reset_cause(void)
{
    return FT_RESET_POWER;
}

void ft_chip_remember(uint32_t word)
{
    (void)word;
}

uint32_t ft_chip_remembered(void)
{
    return 0;
}

/* Make a number of the names of PC and port, which differs for every board. */
void ft_chip_history(ft_history *h)
{
    struct utsname host;
    memset(h, 0, sizeof *h);
    if (uname(&host) != 0)
        host.nodename[0] = '\0';
    uint32_t parts[3] = {
        ft_crc32((const uint8_t *)host.nodename, strlen(host.nodename)),
        ft_crc32((const uint8_t *)ft_option_port(), strlen(ft_option_port())),
        (uint32_t)getuid(),
    };
    memcpy(h->unique, parts, sizeof parts);
}
