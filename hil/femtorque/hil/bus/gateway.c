/* Frames as lines of text. hil/bus/gateway.py describes the lines. */
#include "gateway.h"

#include <string.h>

#define END '\r'
#define DONE '\r'
#define WRONG '\a'

/* Letters by kind: data, remote, CAN FD, CAN FD with the faster data phase. The
 * second letter of a kind is for identifiers of 29 bits. */
static const char letters[] = "tTrRdDbB";
static const char figures[] = "0123456789ABCDEF";

/* -- lines ----------------------------------------------------------------- */

static uint8_t *put_number(uint8_t *to, uint32_t number, int32_t digits)
{
    while (digits-- > 0)
        *to++ = (uint8_t)figures[number >> (4 * digits) & 15u];
    return to;
}

/* Read a number of hexadecimal digits. Return 0 for other characters. */
static int get_number(const uint8_t *from, int32_t digits, uint32_t *number)
{
    for (*number = 0; digits-- > 0; from++) {
        uint32_t small = *from | 0x20u;
        if (*from >= '0' && *from <= '9')
            *number = *number << 4 | (*from - (uint32_t)'0');
        else if (small >= 'a' && small <= 'f')
            *number = *number << 4 | (small - (uint32_t)'a' + 10u);
        else
            return 0;
    }
    return 1;
}

/* Write the line of a frame with its end. Return its length. */
int32_t gateway_line(const can_frame *f, uint8_t *line)
{
    int32_t kind = f->remote ? 1 : f->fd ? 2 + (f->fast != 0) : 0, i;
    uint8_t *at = line;
    *at++ = (uint8_t)letters[2 * kind + (f->extended != 0)];
    at = put_number(at, f->id, f->extended ? 8 : 3);
    at = put_number(at, can_code(f), 1);
    for (i = 0; i < f->size && !f->remote; i++)
        at = put_number(at, f->data[i], 2);
    *at++ = END;
    return (int32_t)(at - line);
}

/* Read the frame of a line without its end. Return 0 if the line is no
 * frame. */
int32_t gateway_frame(const uint8_t *line, int32_t size, can_frame *f)
{
    const char *letter = size ? memchr(letters, line[0], 8) : 0;
    int32_t kind = letter != 0 ? (int32_t)(letter - letters) : 0;
    int32_t head = kind & 1 ? 10 : 5, i;
    uint32_t code, byte;
    memset(f, 0, sizeof *f);
    f->extended = kind & 1;
    f->remote = kind >> 1 == 1;
    f->fd = kind >> 1 >= 2;
    f->fast = kind >> 1 == 3;
    if (letter == 0 || size < head || !get_number(line + 1, head - 2, &f->id) ||
        !get_number(line + head - 1, 1, &code) ||
        f->id >= 1u << (f->extended ? 29 : 11))
        return 0;
    f->size = can_size(code);
    if (f->size > 8 && !f->fd)
        return 0;
    if (f->remote)
        f->size = 0;
    if (size != head + 2 * f->size)
        return 0;
    for (i = 0; i < f->size; i++) {
        if (!get_number(line + head + 2 * i, 2, &byte))
            return 0;
        f->data[i] = (uint8_t)byte;
    }
    return 1;
}

/* -- the program's side ---------------------------------------------------- */

static void say(gateway *g, uint8_t byte)
{
    if (g->size < SAID)
        g->said[g->size++] = byte;
}

static void heard(void *of, const can_frame *f)
{
    gateway *g = of;
    if (g->size + LINE < SAID)
        g->size += gateway_line(f, g->said + g->size);
}

/* Send the frame in the begun line, and answer other lines. Return 1 if a frame
 * is sent. */
static int32_t end_line(gateway *g)
{
    can_frame f;
    int32_t lost = g->lost, size = g->used;
    g->lost = g->used = 0;
    if (!lost && (size == 0 || memchr(letters, g->line[0], 8) == 0)) {
        say(g, DONE);
        return 0;
    }
    if (lost || !gateway_frame(g->line, size, &f) ||
        !adapter_send(g->adapter, &f)) {
        say(g, WRONG);
        return 0;
    }
    return 1;
}

/* Take bytes of the program. Return the number of sent frames. */
int32_t gateway_take(gateway *g, const uint8_t *data, int32_t size)
{
    int32_t i, sent = 0;
    for (i = 0; i < size; i++)
        if (data[i] == END)
            sent += end_line(g);
        else if (g->used < LINE)
            g->line[g->used++] = data[i];
        else
            g->lost = 1;
    return sent;
}

void gateway_begin(gateway *g, adapter *a)
{
    g->adapter = a;
    a->take = heard;
    a->of = g;
}
