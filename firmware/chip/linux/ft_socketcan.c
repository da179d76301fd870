/* Adapters that the kernel knows (SocketCAN). One call sends all frames of a
 * tick, and one call receives them. An open socket of the starter that carries
 * the same records serves on a kernel without CAN. */
#include "ft_parts.h"

#include <errno.h>
#include <linux/can.h>
#include <linux/can/error.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FT_MOST = 32 }; /* frames of a call */

/* ---- open ---------------------------------------------------------------- */

/* Receive data frames and the state of the bus, but no remote frames. */
static bool ft_set_up(int fd, bool can_fd)
{
    const struct can_filter data = { 0, CAN_RTR_FLAG };
    const can_err_mask_t news = CAN_ERR_TX_TIMEOUT | CAN_ERR_CRTL |
                                CAN_ERR_BUSOFF | CAN_ERR_RESTARTED;
    const int on = can_fd;
    return setsockopt(fd, SOL_CAN_RAW, CAN_RAW_FILTER, &data, sizeof data) ==
               0 &&
           setsockopt(fd, SOL_CAN_RAW, CAN_RAW_ERR_FILTER, &news,
                      sizeof news) == 0 &&
           setsockopt(fd, SOL_CAN_RAW, CAN_RAW_FD_FRAMES, &on, sizeof on) == 0;
}

/* Bind a socket to an interface, which must have CAN FD's size if needed. */
static bool ft_bind(int fd, const char *interface, bool can_fd)
{
    struct sockaddr_can at = { .can_family = AF_CAN };
    struct ifreq asked;
    memset(&asked, 0, sizeof asked);
    strncpy(asked.ifr_name, interface, sizeof asked.ifr_name - 1u);
    if (ioctl(fd, SIOCGIFMTU, &asked) != 0)
        return false;
    if (can_fd && asked.ifr_mtu < (int)CANFD_MTU) {
        ft_say("the interface is set up for classic CAN, not for CAN FD",
               interface);
        return false;
    }
    if (ioctl(fd, SIOCGIFINDEX, &asked) != 0)
        return false;
    at.can_ifindex = asked.ifr_ifindex;
    return bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
}

/* Take a name that only one process of this network namespace can have: a
 * second board would send to the same drives. */
static bool ft_claim(const char *interface)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(name.sun_path + 1, sizeof name.sun_path - 1u,
                   "femtorque %s", interface);
    return bind(fd, (const struct sockaddr *)&name, sizeof name) == 0;
}

bool ft_socketcan_open(ft_adapter *a, const char *name, const char *where)
{
    a->fd = ft_descriptor(where);
    if (a->fd >= 0)
        return true;
    if (!ft_claim(where)) {
        ft_say("another board uses the CAN interface", where);
        return false;
    }
    a->fd = socket(AF_CAN, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, CAN_RAW);
    if (a->fd >= 0 && ft_set_up(a->fd, a->can_fd) &&
        ft_bind(a->fd, where, a->can_fd)) {
        ft_say(name, where);
        return true;
    }
    ft_say_why("the CAN interface cannot be used", where);
    return false;
}

/* ---- out ----------------------------------------------------------------- */

static uint32_t ft_kernel_id(uint32_t id)
{
    uint32_t number = id & FT_FRAME_NUMBER;
    if ((id & FT_FRAME_LONG) != 0)
        number |= CAN_EFF_FLAG;
    return (id & FT_FRAME_REMOTE) != 0 ? number | CAN_RTR_FLAG : number;
}

static void ft_put(struct canfd_frame *to, const ft_frame *f, bool can_fd)
{
    uint32_t kept = f->size < FT_FRAME_BYTES ? f->size : FT_FRAME_BYTES;
    memset(to, 0, sizeof *to);
    to->can_id = ft_kernel_id(f->id);
    to->len = (uint8_t)(can_fd ? ft_size_of(ft_code_of(f->size)) : f->size);
    to->flags = can_fd ? CANFD_BRS : 0;
    memcpy(to->data, f->data, kept);
}

/* Drop frames for which the kernel's queue has no room. */
void ft_socketcan_send(ft_adapter *a, const ft_frame frames[], uint32_t count)
{
    struct canfd_frame out[FT_MOST];
    struct iovec place[FT_MOST];
    struct mmsghdr call[FT_MOST];
    uint32_t n = count < FT_MOST ? count : FT_MOST;
    memset(call, 0, sizeof call);
    for (uint32_t i = 0; i < n; i++) {
        ft_put(&out[i], &frames[i], a->can_fd);
        place[i].iov_base = &out[i];
        place[i].iov_len = a->can_fd ? CANFD_MTU : CAN_MTU;
        call[i].msg_hdr.msg_iov = &place[i];
        call[i].msg_hdr.msg_iovlen = 1;
    }
    int went = n == 0u ? 0 : sendmmsg(a->fd, call, n,
                                      MSG_DONTWAIT | MSG_NOSIGNAL);
    if (went < (int)n)
        ft_adapter_failed(a, n - (went < 0 ? 0u : (uint32_t)went));
}

/* ---- in ------------------------------------------------------------------ */

/* Take in the state of the bus. */
static void ft_note(ft_bus_health *h, const struct canfd_frame *f)
{
    if ((f->can_id & CAN_ERR_BUSOFF) != 0 && !h->off) {
        h->off = true;
        h->offs++;
    }
    if ((f->can_id & CAN_ERR_RESTARTED) != 0)
        h->off = false;
    if ((f->can_id & CAN_ERR_CRTL) == 0)
        return;
    h->sending = f->data[6];
    h->receiving = f->data[7];
    if ((f->data[1] & (CAN_ERR_CRTL_RX_OVERFLOW | CAN_ERR_CRTL_TX_OVERFLOW)) !=
        0)
        h->overruns++;
}

static void ft_get(ft_frame *f, const struct canfd_frame *from)
{
    uint32_t kept = from->len < FT_FRAME_BYTES ? from->len : FT_FRAME_BYTES;
    bool longer = (from->can_id & CAN_EFF_FLAG) != 0;
    f->id = ft_id_of(from->can_id & (longer ? CAN_EFF_MASK : CAN_SFF_MASK),
                     longer, (from->can_id & CAN_RTR_FLAG) != 0);
    f->size = from->len;
    memcpy(f->data, from->data, kept);
}

static void ft_take(ft_adapter *a, const struct canfd_frame *from, size_t size)
{
    if (size == 0u) { /* the other end of a socket has closed it */
        errno = ENODEV;
        ft_adapter_failed(a, 0);
    }
    if (size != CAN_MTU && size != CANFD_MTU)
        return;
    if ((from->can_id & CAN_ERR_FLAG) != 0)
        ft_note(&a->health, from);
    else if (from->len <= (size == CAN_MTU ? CAN_MAX_DLEN : CANFD_MAX_DLEN)) {
        ft_get(&a->kept[a->count++], from);
        a->health.off = false;
    }
}

void ft_socketcan_receive(ft_adapter *a)
{
    struct canfd_frame in[FT_MOST];
    struct iovec place[FT_MOST];
    struct mmsghdr call[FT_MOST];
    memset(call, 0, sizeof call);
    for (uint32_t i = 0; i < FT_MOST; i++) {
        place[i].iov_base = &in[i];
        place[i].iov_len = sizeof in[i];
        call[i].msg_hdr.msg_iov = &place[i];
        call[i].msg_hdr.msg_iovlen = 1;
    }
    int came = recvmmsg(a->fd, call, FT_MOST, MSG_DONTWAIT, NULL);
    if (came < 0 && errno != EAGAIN && errno != EINTR)
        ft_adapter_failed(a, 0);
    a->drained = came < FT_MOST;
    for (int i = 0; i < came; i++)
        ft_take(a, &in[i], call[i].msg_len);
}
