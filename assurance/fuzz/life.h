/* Common functions of the fuzz targets: the input, read byte by byte; the
 * messages of a host; and initial states, which are played once and saved. The
 * application's variables have separate sections, which the fuzzer restores
 * from the saved copy. */
#ifndef LIFE_H
#define LIFE_H

#include "host_frame.h"

#include "ft_number.h"
#include "ft_port.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

extern wchar_t __start_app_bss[], __stop_app_bss[];
__attribute__((weak)) extern wchar_t __start_app_data[], __stop_app_data[];
/* The linker may not define these symbols. */

typedef struct {
    const uint8_t *at;
    size_t left;
} input;

static uint8_t token; /* token of the last message */
static uint8_t out[65536];

static void must(int holds, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s, in state %u\n", promise, ft.safety.state);
    abort();
}

/* ---- messages of a host ------------------------------------------------- */

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

/* Return the next token. Tokens run from 1 to 255. */
static uint8_t next_token(void)
{
    token = (uint8_t)(token % 255u + 1u);
    return token;
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

enum { HOME = 8 };

/* Send a valid command, or a homing request. */
static void command(uint32_t which)
{
    uint8_t payload[FT_MSG_HOME_SIZE] = { next_token(), (uint8_t)which };

    if (which == HOME)
        send(FT_MSG_HOME, 0, payload, (memset(payload + 1, 0, 1), FT_MSG_HOME_SIZE));
    else
        send(FT_MSG_COMMAND, 0, payload, FT_MSG_COMMAND_SIZE);
}

/* ---- required properties of every board --------------------------------- */

/* Check the properties that every board must have. */
static void look_at_state(void)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        must(!ft_safety_armed(&ft.safety)
                 || ft_size(ft.control.law.torque[j]) <= ft_joint[j].effort,
             "torque within effort");
    must(ft.safety.state < FT_STATES, "the state is one");
    must(!fake.estop || ft.safety.state == FT_STATE_ESTOP
             || ft.safety.state == FT_STATE_LEAVING, "e-stop");
    must(ft.safety.state != FT_STATE_FAULT
             || ft.safety.fault != FT_FAULT_NONE, "a fault has a name");
    must(ft.safety.state != FT_STATE_HOLD
             || ft_safety_unhomed(&ft.safety) == FT_NO_JOINT, "armed means homed");
}

/* ---- runs ---------------------------------------------------------------- */

static struct {
    wchar_t *bss, *data;
    size_t bss_words, data_words;
    void *world;
    uint8_t token;
} kept[4];
static uint32_t beginnings; /* number of saved initial states */

/* Sanitizers place guards between variables and replace memcpy by a version
 * that checks these guards. Sanitizers do not replace wmemcpy. */
static void *(*volatile copy)(wchar_t *, const wchar_t *, size_t) = wmemcpy;

/* Save the board and its surroundings as the next initial state. */
static void keep(const void *world, size_t size)
{
    __typeof__(kept[0]) *r = &kept[beginnings++];

    r->bss_words = (size_t)(__stop_app_bss - __start_app_bss);
    r->data_words = (size_t)(__stop_app_data - __start_app_data);
    r->bss = malloc(sizeof(wchar_t) * r->bss_words);
    r->data = malloc(sizeof(wchar_t) * r->data_words);
    (void)copy(r->bss, __start_app_bss, r->bss_words);
    (void)copy(r->data, __start_app_data, r->data_words);
    r->world = memcpy(malloc(size), world, size);
    r->token = token;
}

/* Restore a saved state of the board and its surroundings. */
static void put_back(uint32_t which, void *world, size_t size)
{
    (void)copy(__start_app_bss, kept[which].bss, kept[which].bss_words);
    (void)copy(__start_app_data, kept[which].data, kept[which].data_words);
    memcpy(world, kept[which].world, size);
    token = kept[which].token;
}

#endif
