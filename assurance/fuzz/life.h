/* Common parts of the fuzzers' lives: the input, read byte by byte; the
 * messages of a host; and beginnings, which are played once and saved. The
 * application's variables have separate sections, which the fuzzer restores
 * from the saved copy. */
#ifndef LIFE_H
#define LIFE_H

#include "fake_chip.h"
#include "ft_app.h"
#include "ft_cobs.h"
#include "ft_config.h"
#include "ft_crc.h"
#include "ft_digest.h"
#include "ft_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

extern wchar_t __start_app_bss[], __stop_app_bss[];
__attribute__((weak)) extern wchar_t __start_app_data[], __stop_app_data[];
/* These symbols may be absent. */

typedef struct {
    const uint8_t *at;
    size_t left;
} input;

static uint8_t token; /* of the last message */

static void must(int holds, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s, in state %u\n", promise, ft.safety.state);
    abort();
}

/* ---- what a host sends -------------------------------------------------- */

static uint8_t byte(input *in)
{
    if (in->left == 0u)
        return 0;
    in->left--;
    return *in->at++;
}

static void bytes(input *in, uint8_t *to, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = byte(in);
}

/* Send random bytes. */
static void noise(input *in)
{
    size_t n = byte(in);

    n = n < in->left ? n : in->left;
    (void)fake_feed(in->at, (uint32_t)n);
    in->at += n;
    in->left -= n;
}

/* Tokens run from 1 to 255. */
static uint8_t next_token(void)
{
    token = (uint8_t)(token % 255u + 1u);
    return token;
}

/* Send a frame with a right check sum. */
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

/* Send any message to the board with any content. */
static void message(input *in)
{
    uint8_t type = (uint8_t)(byte(in) % 14u), payload[FT_FRAME_RX_MAX];
    size_t size = ft_msg_size(type);

    if (size > FT_FRAME_RX_MAX - FT_FRAME_HEADER - FT_FRAME_CRC)
        return;
    bytes(in, payload, size);
    if (type != FT_MSG_KNOT && type != FT_MSG_CAPTURE && size > 0u)
        payload[0] = next_token();
    send(type, byte(in), payload, size);
}

/* Send a possible command or homing. */
static void command(input *in)
{
    uint8_t payload[FT_MSG_HOME_SIZE] = { next_token() };
    uint8_t which = (uint8_t)(byte(in) % 9u);

    payload[1] = which;
    if (which == 8u)
        send(FT_MSG_HOME, 0, payload, (memset(payload + 1, 0, 1), FT_MSG_HOME_SIZE));
    else
        send(FT_MSG_COMMAND, 0, payload, FT_MSG_COMMAND_SIZE);
}

/* ---- lives ------------------------------------------------------------- */

typedef struct {
    wchar_t *bss, *data;
    size_t bss_words, data_words;
    uint8_t token;
} remembered;

/* Sanitizers put marks between variables and replace memcpy to check the marks.
 * Sanitizers do not replace wmemcpy. */
static void *(*volatile copy)(wchar_t *, const wchar_t *, size_t) = wmemcpy;

/* Save the board's present state. */
static void keep(remembered *r)
{
    r->bss_words = (size_t)(__stop_app_bss - __start_app_bss);
    r->data_words = (size_t)(__stop_app_data - __start_app_data);
    r->bss = malloc(sizeof(wchar_t) * r->bss_words);
    r->data = malloc(sizeof(wchar_t) * r->data_words);
    (void)copy(r->bss, __start_app_bss, r->bss_words);
    (void)copy(r->data, __start_app_data, r->data_words);
    r->token = token;
}

/* Restore a saved state of the board. */
static void put_back(const remembered *r)
{
    (void)copy(__start_app_bss, r->bss, r->bss_words);
    (void)copy(__start_app_data, r->data, r->data_words);
    token = r->token;
}

#endif
