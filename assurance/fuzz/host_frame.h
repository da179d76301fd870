/* Frames from a host to a board with a simulated chip. */
#ifndef HOST_FRAME_H
#define HOST_FRAME_H

#include "fake_chip.h"
#include "ft_app.h"
#include "ft_cobs.h"
#include "ft_config.h"
#include "ft_crc.h"
#include "ft_digest.h"
#include "ft_state.h"

#include <string.h>

/* Send a frame with a correct check sum. */
static void send(uint8_t type, uint16_t seq, const uint8_t *payload, size_t n)
{
    uint8_t frame[FT_FRAME_RX_MAX], wire[FT_FRAME_RX_STUFFED_MAX];
    size_t size = FT_FRAME_HEADER + n;

    ft_msg_put_u8(frame, type);
    ft_msg_put_u16(frame + 1, seq);
    ft_msg_put_u16(frame + 3, FT_TAG);
    memcpy(frame + FT_FRAME_HEADER, payload, n);
    ft_msg_put_u32(frame + size, ft_crc32(frame, size));
    (void)fake_feed(wire, (uint32_t)ft_cobs_encode(frame, size + FT_FRAME_CRC,
                                                   wire));
}

#endif
