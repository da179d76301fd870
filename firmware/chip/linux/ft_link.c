/* The host's port. It is a Unix socket that only this user may open, or an open
 * descriptor of the starter. It serves one host at a time. */
#include "ft_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>       /* ppoll */
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>   /* umask */
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FT_MODE = 0600, FT_SEND_SIZE = 4096 };

static int ft_server = -1, ft_host = -1;
static const char *ft_file; /* of the socket that this process has made */
static struct {
    uint8_t bytes[FT_SEND_SIZE];
    size_t count;
} ft_out;

/* ---- start --------------------------------------------------------------- */

/* Remove the socket of a killed process. Return false if a process listens at
 * the socket. */
static bool ft_free(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool used = fd >= 0 &&
                connect(fd, (const struct sockaddr *)at, sizeof *at) == 0;
    struct stat there;
    if (!used && errno == ECONNREFUSED && lstat(at->sun_path, &there) == 0 &&
        S_ISSOCK(there.st_mode))
        (void)unlink(at->sun_path);
    (void)close(fd);
    return !used;
}

/* Make the socket with its mode, and listen. */
static bool ft_listen(const struct sockaddr_un *at)
{
    mode_t before = umask(0777 & ~FT_MODE);
    bool bound = bind(ft_server, (const struct sockaddr *)at, sizeof *at) == 0;
    (void)umask(before);
    return bound && listen(ft_server, 1) == 0;
}

bool ft_link_start(const char *where)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int given = ft_descriptor(where);
    if (given >= 0) {
        ft_host = given;
        return fcntl(given, F_SETFL, O_NONBLOCK) == 0;
    }
    ft_server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (strlen(where) >= sizeof at.sun_path) {
        ft_say("the port's path is too long", where);
        return false;
    }
    memcpy(at.sun_path, where, strlen(where));
    if (!ft_free(&at)) {
        ft_say("another board serves this port", where);
        return false;
    }
    if (!ft_listen(&at)) {
        ft_say_why("the port cannot be listened at", where);
        return false;
    }
    ft_file = where;
    return true;
}

void ft_link_end(void)
{
    if (ft_file != NULL)
        (void)unlink(ft_file);
}

/* ---- the host ------------------------------------------------------------ */

static void ft_hang_up(void)
{
    (void)close(ft_host);
    ft_host = -1;
    ft_out.count = 0;
}

bool ft_link_await(uint64_t until)
{
    struct pollfd who = { ft_host >= 0 ? ft_host : ft_server, POLLIN, 0 };
    uint64_t now = ft_clock_now();
    if (!ft_clock_granted() && now >= until)
        return false; /* a host that sends without end delays no tick */
    uint64_t wait = ft_clock_granted() ? 0u : until - now;
    struct timespec most = { (time_t)(wait / FT_NS_PER_S),
                             (long)(wait % FT_NS_PER_S) };
    return ppoll(&who, 1, &most, NULL) > 0 && (who.revents & POLLIN) != 0;
}

/* Return whether a host is connected. Accept the next host if not. */
static bool ft_connected(void)
{
    if (ft_host < 0 && ft_server >= 0)
        ft_host = accept4(ft_server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return ft_host >= 0;
}

size_t ft_chip_receive(uint8_t *bytes, size_t room)
{
    if (!ft_connected())
        return 0;
    ssize_t n = recv(ft_host, bytes, room, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        ft_hang_up();
    return n > 0 ? (size_t)n : 0u;
}

/* Send waiting bytes. */
static void ft_send_on(void)
{
    ssize_t n = send(ft_host, ft_out.bytes, ft_out.count, MSG_NOSIGNAL);
    if (n <= 0)
        return;
    ft_out.count -= (size_t)n;
    memmove(ft_out.bytes, ft_out.bytes + n, ft_out.count);
}

/* Without a host, the bytes are lost as on a wire. */
bool ft_chip_send(const uint8_t *bytes, size_t size)
{
    if (ft_host < 0)
        return true;
    if (size > sizeof ft_out.bytes - ft_out.count)
        ft_send_on();
    if (size > sizeof ft_out.bytes - ft_out.count)
        return false;
    memcpy(ft_out.bytes + ft_out.count, bytes, size);
    ft_out.count += size;
    ft_send_on();
    return true;
}

uint32_t ft_chip_line_errors(void)
{
    return 0; /* a socket loses and damages nothing */
}
