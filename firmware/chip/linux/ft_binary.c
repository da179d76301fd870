/* Adapters of Damiao and RobStride with binary frames, for classic CAN. Neither
 * is documented. The frames are those of several public clients, which agree,
 * and of the test vectors of dora-lerobot for Damiao's adapter. */
#define _DEFAULT_SOURCE /* endian.h */
#include "ft_parts.h"

#include <endian.h> /* htole32, htobe32 */
#include <string.h>

enum { FT_CAN_BYTES = 8 };

/* Fill in a received frame. */
static void ft_fill(ft_frame *f, uint32_t number, bool longer, bool remote,
                    const uint8_t *data, uint32_t size)
{
    f->id = ft_id_of(number, longer, remote);
    memcpy(f->data, data, size);
    f->size = size;
}

/* ---- Damiao's USB-CAN ---------------------------------------------------- */

enum { FT_DM_OUT = 30, FT_DM_IN = 16, FT_DM_RECEIVED = 0x11 };

/* Write 55 AA, the length, 3, count 1, interval 10, a flag for 29 bits, the id,
 * a flag for remote, size, 0, 0, data, check sum. The adapter accepts a check
 * sum of 0. */
static uint32_t ft_dm_pack(uint8_t *bytes, const ft_frame *f, bool fd)
{
    const uint32_t number = htole32(f->id & FT_FRAME_NUMBER);
    (void)fd;
    memset(bytes, 0, FT_DM_OUT);
    bytes[0] = 0x55;
    bytes[1] = 0xAA;
    bytes[2] = FT_DM_OUT;
    bytes[3] = 3;
    bytes[4] = 1;
    bytes[8] = 10;
    bytes[12] = (f->id & FT_FRAME_LONG) != 0;
    memcpy(bytes + 13, &number, sizeof number);
    bytes[17] = (f->id & FT_FRAME_REMOTE) != 0;
    bytes[18] = (uint8_t)f->size;
    memcpy(bytes + 21, f->data, FT_CAN_BYTES);
    return FT_DM_OUT;
}

/* Read AA, kind, size, id, data, 55. Bit 6 of the size means 29 bits, bit 7 a
 * remote frame. Skip a byte that begins no frame. */
static uint32_t ft_dm_unpack(const uint8_t *bytes, uint32_t count, ft_frame *f)
{
    if (bytes[0] != 0xAA)
        return 1;
    if (count < FT_DM_IN)
        return 0;
    uint32_t size = bytes[2] & 0x3Fu;
    if (bytes[FT_DM_IN - 1] != 0x55 || size > FT_CAN_BYTES)
        return 1;
    uint32_t number;
    memcpy(&number, bytes + 3, sizeof number);
    if (bytes[1] == FT_DM_RECEIVED)
        ft_fill(f, le32toh(number), (bytes[2] & 0x40u) != 0,
                (bytes[2] & 0x80u) != 0, bytes + 7, size);
    return FT_DM_IN;
}

/* Write 55 05, the number of the rate, AA 55. */
static uint32_t ft_dm_begin(uint8_t *bytes, uint32_t bitrate,
                            uint32_t data_bitrate)
{
    static const uint32_t rates[] = { 1000000, 800000, 666000, 500000,
                                      400000,  250000, 200000, 125000 };
    static const uint8_t frame[] = { 0x55, 0x05, 0, 0xAA, 0x55 };
    for (uint32_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (rates[i] != bitrate || data_bitrate != 0u)
            continue;
        memcpy(bytes, frame, sizeof frame);
        bytes[2] = (uint8_t)i;
        return sizeof frame;
    }
    return 0;
}

const ft_dialect ft_damiao_usb = { "damiao", 921600, ft_dm_begin, ft_dm_pack,
                                   ft_dm_unpack, "" };

/* ---- RobStride's USB-CAN ------------------------------------------------- */

#define FT_RS_HEAD 7u
#define FT_RS_AROUND 9u /* bytes of a frame without its data */

/* Write "AT", then the id with its kind (big endian), size, data, CR LF. The
 * data may hold CR LF too. */
static uint32_t ft_rs_pack(uint8_t *bytes, const ft_frame *f, bool fd)
{
    uint32_t number = f->id & FT_FRAME_NUMBER;
    uint32_t word = (f->id & FT_FRAME_LONG) != 0 ? number << 3 | 4u
                                                 : number << 21;
    if ((f->id & FT_FRAME_REMOTE) != 0)
        word |= 2u;
    word = htobe32(word);
    (void)fd;
    bytes[0] = 'A';
    bytes[1] = 'T';
    memcpy(bytes + 2, &word, sizeof word);
    bytes[6] = (uint8_t)f->size;
    memcpy(bytes + FT_RS_HEAD, f->data, f->size);
    bytes[FT_RS_HEAD + f->size] = '\r';
    bytes[FT_RS_HEAD + f->size + 1u] = '\n';
    return FT_RS_AROUND + f->size;
}

static uint32_t ft_rs_unpack(const uint8_t *bytes, uint32_t count, ft_frame *f)
{
    if (bytes[0] != 'A' || (count > 1u && bytes[1] != 'T'))
        return 1;
    if (count < FT_RS_HEAD || count < FT_RS_AROUND + bytes[6])
        return count >= FT_RS_HEAD && bytes[6] > FT_CAN_BYTES ? 1u : 0u;
    const uint8_t *end = bytes + FT_RS_HEAD + bytes[6];
    if (bytes[6] > FT_CAN_BYTES || end[0] != '\r' || end[1] != '\n')
        return 1;
    uint32_t word;
    memcpy(&word, bytes + 2, sizeof word);
    word = be32toh(word);
    bool longer = (word & 4u) != 0u;
    ft_fill(f, longer ? word >> 3 : word >> 21, longer, (word & 2u) != 0u,
            bytes + FT_RS_HEAD, bytes[6]);
    return FT_RS_AROUND + bytes[6];
}

/* Enter the set-up, set the rate, enter the transmission. */
static uint32_t ft_rs_begin(uint8_t *bytes, uint32_t bitrate,
                            uint32_t data_bitrate)
{
    static const char commands[] =
        "AT+CG\r\nAT+CAN_BAUD=1000000\r\nAT+AT\r\n";
    if (bitrate != 1000000u || data_bitrate != 0u)
        return 0;
    memcpy(bytes, commands, sizeof commands - 1u);
    return sizeof commands - 1u;
}

const ft_dialect ft_robstride_usb = { "robstride", 921600, ft_rs_begin,
                                      ft_rs_pack, ft_rs_unpack, "\r\n" };
