/* Adapters with lines of text. Sources: slcan is in LAWICEL's CAN232 manual,
 * its letters for CAN FD are CANable 2's, and fdcanusb is in mjbots' README. */
#include "ft_parts.h"

#include <stdio.h>  /* snprintf */
#include <string.h>

enum { FT_LINE_MOST = 256 }; /* no line of these protocols is longer */

static const uint8_t ft_sizes[16] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                      8, 12, 16, 20, 24, 32, 48, 64 };

uint32_t ft_size_of(uint32_t code)
{
    return ft_sizes[code & 15u];
}

uint32_t ft_code_of(uint32_t size)
{
    uint32_t code = 0;
    while (code < 15u && ft_sizes[code] < size)
        code++;
    return code;
}

/* ---- digits -------------------------------------------------------------- */

static char ft_digit(uint32_t value)
{
    return "0123456789ABCDEF"[value & 15u];
}

/* Return the value of a digit, or 16. */
static uint32_t ft_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - (uint32_t)'0';
    c |= 0x20u;
    return c >= 'a' && c <= 'f' ? c - (uint32_t)'a' + 10u : 16u;
}

/* Write `size` bytes of a frame's data. */
static uint32_t ft_put_data(uint8_t *to, const ft_frame *f, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        uint8_t byte = i < f->size && i < FT_FRAME_BYTES ? f->data[i] : 0u;
        to[2u * i] = (uint8_t)ft_digit(byte >> 4);
        to[2u * i + 1u] = (uint8_t)ft_digit(byte);
    }
    return 2u * size;
}

/* Read a number. Return its number of digits, or 0 for more than 8. */
static uint32_t ft_get_number(const uint8_t *from, uint32_t most,
                              uint32_t *number)
{
    uint32_t n = 0;
    for (*number = 0; n < most && ft_value(from[n]) < 16u; n++)
        *number = *number << 4 | ft_value(from[n]);
    return n <= 8u ? n : 0u;
}

/* Read bytes of data, and keep as many as a frame has room for. Return the
 * number of bytes. */
static uint32_t ft_get_data(const uint8_t *from, uint32_t most, ft_frame *f)
{
    uint32_t n = 0;
    for (; 2u * n + 1u < most; n++) {
        uint32_t high = ft_value(from[2u * n]);
        uint32_t low = ft_value(from[2u * n + 1u]);
        if (high > 15u || low > 15u)
            break;
        if (n < FT_FRAME_BYTES)
            f->data[n] = (uint8_t)(high << 4 | low);
    }
    return n;
}

/* Take the frame out of the first line, with `take`. */
static uint32_t ft_unpack_line(const uint8_t *bytes, uint32_t count,
                               ft_frame *f, const char *ends,
                               void (*take)(const uint8_t *line, uint32_t size,
                                            ft_frame *f))
{
    uint32_t n = 0;
    while (n < count && strchr(ends, bytes[n]) == NULL)
        n++;
    if (n == count)
        return n > FT_LINE_MOST ? n : 0u;
    take(bytes, n, f);
    return n + 1u;
}

/* ---- slcan --------------------------------------------------------------- */

/* Letters of frames, each for 11 and 29 bits: data, remote, CAN FD, CAN FD with
 * the fast data phase. */
static const char ft_letters[] = "tTrRdDbB";

static uint32_t ft_slcan_pack(uint8_t *bytes, const ft_frame *f, bool fd)
{
    uint32_t code = fd ? ft_code_of(f->size) : f->size;
    bool longer = (f->id & FT_FRAME_LONG) != 0;
    bool remote = (f->id & FT_FRAME_REMOTE) != 0;
    uint32_t kind = (remote ? 2u : fd ? 6u : 0u) + (longer ? 1u : 0u);
    uint32_t n = 0, digits = longer ? 8u : 3u;
    bytes[n++] = (uint8_t)ft_letters[kind];
    while (digits-- != 0u)
        bytes[n++] =
            (uint8_t)ft_digit((f->id & FT_FRAME_NUMBER) >> (4u * digits));
    bytes[n++] = (uint8_t)ft_digit(code);
    if (!remote)
        n += ft_put_data(bytes + n, f, ft_size_of(code));
    bytes[n++] = '\r';
    return n;
}

/* Read the frame of a line. Other lines are answers. */
static void ft_slcan_take(const uint8_t *line, uint32_t size, ft_frame *f)
{
    const char *letter = size == 0u || line[0] == 0u
                             ? NULL : strchr(ft_letters, line[0]);
    if (letter == NULL)
        return;
    uint32_t kind = (uint32_t)(letter - ft_letters);
    uint32_t digits = (kind & 1u) != 0u ? 8u : 3u, number;
    if (size < digits + 2u || ft_value(line[digits + 1u]) > 15u ||
        ft_get_number(line + 1, digits, &number) != digits)
        return;
    uint32_t bytes = ft_size_of(ft_value(line[digits + 1u]));
    bool remote = (kind & 6u) == 2u;
    if (bytes > 8u && kind < 4u)
        return;
    const uint8_t *data = line + digits + 2;
    if (!remote && ft_get_data(data, size - digits - 2u, f) < bytes)
        return;
    f->id = ft_id_of(number, (kind & 1u) != 0u, remote);
    f->size = bytes;
}

static uint32_t ft_slcan_unpack(const uint8_t *bytes, uint32_t count,
                                ft_frame *f)
{
    return ft_unpack_line(bytes, count, f, "\r\a\n", ft_slcan_take);
}

/* Close the channel, set the rates, open it. S8 is 1 Mbit/s. */
static uint32_t ft_slcan_begin(uint8_t *bytes, uint32_t bitrate,
                               uint32_t data_bitrate)
{
    static const uint32_t rates[] = { 10000,  20000,  50000,  100000, 125000,
                                      250000, 500000, 750000, 1000000 };
    uint32_t i = 0;
    while (i < 9u && rates[i] != bitrate)
        i++;
    if (i == 9u || data_bitrate % 1000000u != 0u)
        return 0;
    uint32_t n = (uint32_t)snprintf((char *)bytes, 64, "\rC\rS%u\r", i);
    if (data_bitrate != 0u)
        n += (uint32_t)snprintf((char *)bytes + n, 64, "Y%u\r",
                                data_bitrate / 1000000u);
    return n + (uint32_t)snprintf((char *)bytes + n, 64, "O\r");
}

const ft_dialect ft_slcan = { "slcan", 1000000, ft_slcan_begin, ft_slcan_pack,
                              ft_slcan_unpack, "\r" };

/* ---- fdcanusb ------------------------------------------------------------ */

static uint32_t ft_fdcanusb_pack(uint8_t *bytes, const ft_frame *f, bool fd)
{
    bool longer = (f->id & FT_FRAME_LONG) != 0;
    uint32_t size = fd ? ft_size_of(ft_code_of(f->size)) : f->size;
    bool remote = (f->id & FT_FRAME_REMOTE) != 0;
    uint32_t n = (uint32_t)snprintf((char *)bytes, 32, "can %s %x ",
                                    longer ? "ext" : "std",
                                    f->id & FT_FRAME_NUMBER);
    n += ft_put_data(bytes + n, f, size);
    return n + (uint32_t)snprintf((char *)bytes + n, 16, " %s%s\n",
                                  fd ? "BF" : "bf", remote ? "R" : "");
}

/* Read `rcv ID DATA FLAGS`. An E, or an id above 7FF, means 29 bits. */
static void ft_fdcanusb_take(const uint8_t *line, uint32_t size, ft_frame *f)
{
    uint32_t number, digits, n;
    if (size < 6u || memcmp(line, "rcv ", 4) != 0)
        return;
    digits = ft_get_number(line + 4, size - 4u, &number);
    n = 4u + digits;
    if (digits == 0u || n == size || line[n] != ' ')
        return;
    uint32_t bytes = ft_get_data(line + n + 1, size - n - 1u, f);
    const uint8_t *flags = line + n + 1u + 2u * bytes;
    uint32_t left = size - n - 1u - 2u * bytes;
    if (bytes > 64u || (left != 0u && flags[0] != ' '))
        return;
    bool longer = number > 0x7FFu || memchr(flags, 'E', left) != NULL;
    f->id = ft_id_of(number, longer, memchr(flags, 'R', left) != NULL);
    f->size = bytes;
}

static uint32_t ft_fdcanusb_unpack(const uint8_t *bytes, uint32_t count,
                                   ft_frame *f)
{
    return ft_unpack_line(bytes, count, f, "\n\r", ft_fdcanusb_take);
}

/* Set the rates while the bus is off. */
static uint32_t ft_fdcanusb_begin(uint8_t *bytes, uint32_t bitrate,
                                  uint32_t data_bitrate)
{
    return (uint32_t)snprintf(
        (char *)bytes, 192,
        "\ncan off\nconf set can.bitrate %u\nconf set can.fd_bitrate %u\n"
        "can on\n",
        bitrate, data_bitrate != 0u ? data_bitrate : bitrate);
}

const ft_dialect ft_fdcanusb = { "fdcanusb", 1000000, ft_fdcanusb_begin,
                                 ft_fdcanusb_pack, ft_fdcanusb_unpack, "\n" };
