/* A half-duplex serial bus ("wire"), simulated byte by byte. The board sends
 * bursts of whole packets. A question may name several servos. Servos answer in
 * the order in which the question names them. Each answer begins when the
 * answer before it has ended. Alternatively the servos send one common answer.
 * Each servo adds its bytes, and the answer ends at the first servo that is
 * missing. The answers stop when the board sends a new burst or a new
 * question. */
#include "half_duplex.h"

#include "parts.h"

#include <math.h>
#include <string.h>

#define MISSING 100e-6 /* additional delay after a missing answer, s; chosen */
#define OTHER_RATE 0.02 /* maximum relative error of a byte's length at which a
                         * servo can read the byte; chosen */
#define SPOILT 0x10u    /* bits that are inverted in a disturbed byte; chosen */

static int disturbed(const one_wire *w)
{
    return w->error_rate != 0.0 && w->noise();
}

/* Let the servos act after a number of seconds. */
static void plan(one_wire *w, void (*act)(void *of), double seconds)
{
    w->turn.act = act;
    w->turn.of = w;
    task_after(w->parts, &w->turn, seconds);
}

static void note(const one_wire *w, const uint8_t *packet, uint32_t size)
{
    if (w->log != 0)
        w->log(parts_seconds(w->parts), packet, size);
}

/* -- the servos' side ------------------------------------------------------ */

void one_wire_attach(one_wire *w, servo *s)
{
    s->next = w->servos;
    w->servos = s;
}

static void ask(void *of);

/* Combine the answers of all servos with the same number. These answers are
 * sent at the same time and corrupt each other. Return the size of the combined
 * answer. count: number of these servos. */
static uint32_t together(one_wire *w, uint8_t *whole, uint32_t before,
                         int32_t *count)
{
    uint32_t size = 0, own, i;
    servo *s;
    *count = 0;
    for (s = w->servos; s != 0; s = s->next) {
        if (!s->named)
            continue;
        memcpy(w->part, whole, before);
        own = s->ways->answer(s, w->asked, w->asked_size, w->part, before);
        for (i = before; i < before + own; i++)
            whole[i] = i < before + size ? whole[i] & w->part[i] : w->part[i];
        size = own > size ? own : size;
        ++*count;
    }
    return size;
}

/* Send the answer of the next servo. */
static void answer(void *of)
{
    one_wire *w = of;
    uint32_t before = w->left.gap < 0.0 ? 0 : w->said, size;
    uint8_t *data = w->answer + before;
    int32_t count, bad;
    size = together(w, w->answer, before, &count);
    if (size == 0)
        return;
    note(w, data, size);
    bad = disturbed(w) || w->shorted || w->babbles ||
          parts_seconds(w->parts) < w->driven;
    if (bad)
        data[0] = w->shorted ? 0 : data[0] ^ SPOILT;
    w->said = before + size;
    if (w->arrive != 0)
        w->arrive(w->board, data, size, bad || count > 1);
    plan(w, ask, size * w->byte);
}

/* Let the next servo of the question answer. */
static void ask(void *of)
{
    one_wire *w = of;
    const question *q = &w->left;
    int32_t named = 0, apart = q->gap < 0.0;
    double wait = 0.0;
    servo *s;
    if (w->next >= q->count || (!apart && w->said + ANSWER_SIZE > ANSWERS_SIZE))
        return;
    for (s = w->servos; s != 0; s = s->next) {
        s->ways->look(s);
        s->named = s->listening && s->id == q->ids[w->next];
        if (!s->named)
            continue;
        wait = named ? fmax(wait, s->delay) : s->delay;
        named = 1;
    }
    w->next++;
    if (named)
        plan(w, answer, apart || w->said == 0 ? wait : q->gap);
    else if (apart)
        plan(w, ask, MISSING + q->size * w->byte);
}

/* -- the board's side ------------------------------------------------------ */

static void heard(void *of);

/* Schedule the end of the next packet in the burst. cycle: end of the previous
 * packet. before: additional delay, s. */
static void listen(one_wire *w, int64_t cycle, double before)
{
    uint32_t skipped = 0, size;
    size = w->framing->split(w->burst + w->ends, w->size - w->ends, &skipped);
    if (size == 0)
        return;
    w->at = w->ends + skipped;
    w->ends = w->at + size;
    before += (skipped + size) * w->spacing;
    w->hears.act = heard;
    w->hears.of = w;
    cycle += (int64_t)rint(before * w->parts->hz);
    task_after_cycles(w->parts, &w->hears, cycle - w->parts->count->now);
}

/* Pass a packet to all servos. */
static void heard(void *of)
{
    one_wire *w = of;
    const uint8_t *packet = w->burst + w->at;
    uint32_t size = w->ends - w->at;
    servo *s;
    listen(w, w->hears.due.at, 0.0);
    if (disturbed(w) || w->shorted)
        return;
    note(w, packet, size);
    if (w->framing->ask(packet, size, &w->left)) {
        task_cancel(w->parts, &w->turn);
        w->asked = packet;
        w->asked_size = size;
        w->next = 0;
        w->said = 0;
        ask(w);
        return;
    }
    for (s = w->servos; s != 0; s = s->next) {
        s->ways->look(s);
        if (s->listening)
            s->ways->heard(s, packet, size);
    }
}

/* Return the number of packets of a burst. */
uint32_t one_wire_packets(const one_wire *w, const uint8_t *burst,
                          uint32_t size)
{
    uint32_t count = 0, at = 0, own, skipped = 0;
    while ((own = w->framing->split(burst + at, size - at, &skipped)) != 0) {
        at += skipped + own;
        count++;
    }
    return count;
}

/* Return the byte that is on the bus while the board sends a byte. */
uint8_t one_wire_echo(const one_wire *w, uint8_t byte)
{
    if (w->shorted)
        return 0;
    return w->babbles ? (uint8_t)(byte & w->babble()) : byte;
}

/* Send bytes of the board. If a servo has not answered a question before the
 * next question arrives, it drops the older question. Servos discard bytes that
 * are sent at another baud rate. before, after: time for which the board's
 * driver is on before the first byte and after the last byte, s. An answer that
 * begins while the board's driver is on is corrupted. */
void one_wire_sent(one_wire *w, const uint8_t *data, uint32_t size,
                   double seconds, double before, double after)
{
    task_cancel(w->parts, &w->hears);
    task_cancel(w->parts, &w->turn);
    w->driven = parts_seconds(w->parts) + before + size * seconds + after;
    if (w->shorted || w->babbles || size > BURST ||
        fabs(seconds - w->byte) > OTHER_RATE * w->byte)
        return;
    memcpy(w->burst, data, size);
    w->size = size;
    w->spacing = seconds;
    w->ends = 0;
    listen(w, w->parts->count->now, before);
}
