/* Serial ports of USB adapters, for raw bytes at any rate. Nothing waits. */
#include "ft_parts.h"

#include <asm/termbits.h> /* termios2: glibc's has no free rates */
#include <fcntl.h>
#include <linux/serial.h> /* serial_struct */
#include <sys/file.h>     /* flock */
#include <sys/ioctl.h>
#include <unistd.h>

/* Ask the driver to pass bytes on at once. An FTDI chip waits 16 ms by default.
 * Drivers without this setting (CDC ACM) do not wait. */
static void ft_be_prompt(int fd, const char *device)
{
    struct serial_struct how;
    if (ioctl(fd, TIOCGSERIAL, &how) != 0)
        return;
    how.flags |= (int)ASYNC_LOW_LATENCY;
    if (ioctl(fd, TIOCSSERIAL, &how) != 0)
        ft_say_why("no low latency", device);
}

static bool ft_set(int fd, uint32_t baud)
{
    struct termios2 how;
    if (ioctl(fd, TCGETS2, &how) != 0)
        return false;
    how.c_iflag = 0;
    how.c_oflag = 0;
    how.c_lflag = 0;
    how.c_cflag = CS8 | CREAD | CLOCAL | BOTHER | (BOTHER << IBSHIFT);
    how.c_ispeed = how.c_ospeed = baud;
    how.c_cc[VMIN] = how.c_cc[VTIME] = 0;
    return ioctl(fd, TCSETS2, &how) == 0 && ioctl(fd, TIOCEXCL) == 0 &&
           ioctl(fd, TCFLSH, TCIOFLUSH) == 0;
}

/* Lock the port: a second board would send to the same drives. TIOCEXCL does
 * not stop root. */
int ft_serial_open(const char *device, uint32_t baud)
{
    int fd = open(device, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    bool used = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (fd >= 0 && !used && ft_set(fd, baud)) {
        ft_be_prompt(fd, device);
        return fd;
    }
    if (used)
        ft_say("another program uses the serial port", device);
    else
        ft_say_why("the serial port cannot be used", device);
    if (fd >= 0)
        (void)close(fd);
    return -1;
}
