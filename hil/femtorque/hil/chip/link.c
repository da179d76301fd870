/* Serial links and DMA streams of RM0090 sections 10 and 30, and of RM0440
 * sections 12, 13, 37 and 38. The transmission of a byte takes time. The end of
 * a burst is the only scheduled event. Before each register access the link
 * processes all bytes up to the present time. */
#include "parts.h"

#include <math.h>

#define RECEIVES 0
#define SENDS 1
#define ENABLED 1u  /* a bit of a stream's control register */
#define MOST 0xFFFFu /* bytes of a stream */

/* Flags of the status register. */
#define ERRORS 0x0Fu
#define MISFRAMED 0x02u
#define NOISY 0x04u
#define OVERRUN 0x08u
#define IDLE 0x10u
#define RECEIVED 0x20u
#define COMPLETE 0x40u
#define EMPTY 0x80u

/* Bits of CR3. */
#define ONE_WIRE 0x08u
#define TRANSCEIVER 0x4000u

static double now(const parts *l)
{
    return (double)l->count->now;
}

/* Assert or clear the interrupt request. */
void link_ask(const parts *l, const serial *k)
{
    if (k->interrupt >= 0)
        parts_line(l, k->interrupt, (k->status & k->asks) != 0);
}

/* -- streams ------------------------------------------------------------- */

/* Return the DMA stream of a direction, or 0. */
static stream *of_side(parts *l, const serial *k, int side)
{
    return k->streams[side] < 0 ? 0 : &l->streams[k->streams[side]];
}

/* Count a moved byte. */
static void moved(stream *s)
{
    uint32_t half = s->reload / 2u;
    if (s->left - 1u <= half && half < s->left)
        s->half = 1;
    if (--s->left != 0)
        return;
    s->complete = 1;
    if ((s->control & s->circular) != 0)
        s->left = s->reload;
    else if (!s->stays)
        s->control &= ~ENABLED;
}

/* Return the address of the next byte in memory, or 0 if no byte is left. */
static uint8_t *next_byte(parts *l, const stream *s, int writable)
{
    uint8_t *at;
    if (s == 0 || (s->control & ENABLED) == 0 || s->left == 0)
        return 0;
    at = core_memory(l->core, s->memory + s->reload - s->left, 1, writable);
    if (at == 0)
        parts_ask(l, STREAM_ASTRAY, (int32_t)(s - l->streams), 0.0);
    return at;
}

/* Fetch the transfer's next byte from memory, or -1 at its end. */
static int32_t fetched(parts *l, const serial *k)
{
    stream *s = of_side(l, k, SENDS);
    const uint8_t *at = k->gives ? next_byte(l, s, 0) : 0;
    int32_t byte = at == 0 ? -1 : *at;
    if (at != 0)
        moved(s);
    return byte;
}

/* -- the wire ------------------------------------------------------------ */

/* Return true if DMA accepts received bytes. */
static int served(parts *l, const serial *k)
{
    const stream *s = of_side(l, k, RECEIVES);
    return k->takes && s != 0 && (s->control & ENABLED) != 0;
}

/* Return true if a received byte waits to be read by DMA. */
static int waits_for_dma(parts *l, const serial *k)
{
    return served(l, k) && k->first != k->last &&
           k->arrives[k->first % k->room] <= now(l);
}

/* Note that DMA or the processor has read the data register. */
static void data_read(const parts *l, serial *k)
{
    if (!k->by_reading)
        return;
    k->status &= ~(k->seen & (ERRORS | IDLE));
    k->seen = 0;
    link_ask(l, k);
}

/* Receive a byte through the data register. */
static void keep(serial *k, uint8_t byte)
{
    if ((k->status & RECEIVED) != 0) {
        k->status |= OVERRUN;
        return;
    }
    k->received = byte;
    k->status |= RECEIVED;
}

/* Receive the bytes that arrive before `end`, as long as DMA accepts bytes. */
static void take(parts *l, serial *k, uint32_t end)
{
    stream *s = served(l, k) ? of_side(l, k, RECEIVES) : 0;
    uint32_t before = k->first;
    uint8_t *at;
    for (; k->first != end; k->first++) {
        at = next_byte(l, s, 1);
        if (at == 0)
            break;
        *at = k->coming[k->first % k->room];
        moved(s);
    }
    if (k->first != before)
        data_read(l, k);
    for (; k->first != end; k->first++)
        keep(k, k->coming[k->first % k->room]);
}

/* Receive the bytes that have arrived. */
static void receive(parts *l, serial *k)
{
    double until = now(l) - (served(l, k) ? k->dma_cycles : 0.0);
    uint32_t end, errors = 0;
    for (end = k->first; end != k->last && k->arrives[end % k->room] <= until;
         end++)
        errors |= k->errors[end % k->room];
    if (end == k->first)
        return;
    if (!k->receives) {
        k->first = end;
        return;
    }
    k->status |= errors;
    take(l, k, end);
    if ((k->status & ERRORS) != 0)
        link_ask(l, k);
}

/* Fill the data register when it is empty. */
static void refill(parts *l, serial *k)
{
    if (k->held >= 0)
        return;
    k->held = fetched(l, k);
    if (k->held >= 0)
        k->cleared = 0;
}

/* Pass a sent byte to the other node. */
static void put_out(parts *l, serial *k)
{
    if (k->gone == ROOM)
        parts_ask(l, LINK_FULL, (int32_t)(k - l->links), 0.0);
    k->out[k->gone++] = (uint8_t)k->shifting;
}

/* Send the byte that has been shifted out, and all later bytes that are due. */
static void transmit(parts *l, serial *k)
{
    double passed, turns;
    refill(l, k);
    if (k->shifting < 0 && k->held >= 0) {
        k->shifting = k->held;
        k->shifted = now(l) + k->byte_cycles;
        k->held = -1;
        refill(l, k);
        return;
    }
    if (k->shifting < 0 || k->shifted > now(l))
        return;
    turns = 1.0 + floored(now(l) - k->shifted, k->byte_cycles);
    for (passed = 0.0; passed < turns && k->shifting >= 0; passed += 1.0) {
        put_out(l, k);
        k->shifting = k->held;
        k->held = fetched(l, k);
    }
    k->shifted += turns * k->byte_cycles;
}

void link_catch_up(parts *l, serial *k)
{
    receive(l, k);
    transmit(l, k);
}

/* Add a byte that will arrive at cycle `at`. */
static void comes(serial *k, double at, uint8_t byte, uint32_t errors)
{
    k->arrives[k->last % k->room] = at;
    k->errors[k->last % k->room] = (uint8_t)errors;
    k->coming[k->last++ % k->room] = byte;
}

/* Have Python allocate memory for a number of bytes that will arrive. */
static void make_room(parts *l, serial *k, uint32_t count)
{
    if (count > k->room - (k->last - k->first))
        parts_ask(l, LINK_ROOM, (int32_t)(k - l->links), count);
}

/* Send bytes from the other node of the link, beginning now. */
void link_line_in(parts *l, serial *k, const uint8_t *data, uint32_t count,
                  uint32_t errors)
{
    double at = fmax(now(l), k->until);
    uint32_t i;
    link_catch_up(l, k);
    make_room(l, k, count);
    for (i = 0; i < count; i++) {
        at += k->byte_cycles;
        comes(k, at, data[i], errors);
    }
    k->until = at;
    k->quiet.armed = 0;
    if (count != 0)
        parts_plan(l, &k->quiet, (int64_t)rint(at + k->byte_cycles));
}

/* Set the idle flag after a byte's duration of silence. */
void link_quiet(parts *l, serial *k)
{
    k->quiet.armed = 0;
    link_catch_up(l, k);
    if (!k->receives)
        return;
    k->status |= IDLE;
    link_ask(l, k);
}

/* -- one wire for both directions ------------------------------------------ */

/* Receive other nodes' bytes, through the transceiver if any. */
static void hear(void *of, const uint8_t *data, uint32_t size,
                 int32_t disturbed)
{
    serial *k = of;
    parts *l = k->line->parts;
    if (k->pins < LINE_PINS || pins_switched(l, &k->pin[2], 1))
        link_line_in(l, k, data, size, disturbed ? MISFRAMED : 0u);
}

/* Connect the link to a half-duplex bus. */
void link_plug(serial *k, one_wire *line)
{
    k->line = line;
    line->arrive = hear;
    line->board = k;
}

/* Return true if the link can send on its bus. The link needs an open-drain
 * pin, or a transceiver whose driver it enables. */
int link_sends_on_line(const parts *l, const serial *k)
{
    const switched_pin *p = k->pin;
    int drain;
    if (k->line == 0 || !pins_switched(l, p, k->pins < 2 ? k->pins : 2))
        return 0;
    drain = l->ports[p->port].words[PORT_DRAINS] >> p->pin & 1u;
    if (k->pins == LINE_PINS)
        return k->wired == TRANSCEIVER && !drain;
    return k->wired == ONE_WIRE && (drain || k->pins == 0);
}

/* Remove the bytes that other nodes are sending. Return their number. */
static uint32_t take_back(const parts *l, serial *k)
{
    uint32_t first = k->last, i;
    while (first != k->first && k->arrives[(first - 1u) % k->room] > now(l))
        first--;
    for (i = first; i != k->last && i - first < ROOM; i++) {
        k->others[i - first] = k->coming[i % k->room];
        k->others_end[i - first] = k->arrives[i % k->room];
    }
    k->last = first;
    return i - first;
}

/* Begin to send bytes by DMA. In half duplex (RM0090 30.3.10, RM0440 37.5.16)
 * the receiver is connected to the transmitter's pin, or to the bus behind a
 * transceiver. Therefore the receiver also receives the bytes that the link
 * sends. These bytes are corrupted by nodes that send at the same time. */
static void send_on_line(parts *l, serial *k, const uint8_t *data,
                         uint32_t count)
{
    double begins = now(l) + k->before, spacing = k->byte_cycles, ends;
    uint32_t others, i, o;
    link_catch_up(l, k);
    others = take_back(l, k);
    if (!link_sends_on_line(l, k))
        return;
    make_room(l, k, count);
    for (i = 0; i < count; i++) {
        uint8_t byte = one_wire_echo(k->line, data[i]);
        uint32_t errors = 0;
        ends = now(l) + k->before + (i + 1u) * spacing;
        for (o = 0; o < others; o++)
            if (begins < k->others_end[o] &&
                k->others_end[o] < ends + spacing) {
                byte &= k->others[o];
                errors = MISFRAMED | NOISY;
            }
        comes(k, ends, byte, errors);
        begins = ends;
    }
    k->until = begins;
    one_wire_sent(k->line, data, others ? 0 : count, spacing / l->hz,
                  k->before / l->hz, k->after / l->hz);
}

/* -- registers of a link --------------------------------------------------- */

static int idle(const serial *k)
{
    return k->held < 0 && k->shifting < 0;
}

/* Return the status register. */
static uint32_t status(parts *l, const serial *k)
{
    uint32_t value = k->status & ~(EMPTY | COMPLETE);
    value |= k->held < 0 ? EMPTY : 0u;
    value |= waits_for_dma(l, k) ? RECEIVED : 0u;
    return value | (idle(k) && !k->cleared ? COMPLETE : 0u);
}

/* Return the received byte. */
static uint32_t data(parts *l, serial *k)
{
    uint32_t value = k->received;
    if (waits_for_dma(l, k)) /* DMA never takes it */
        value = k->coming[k->first++ % k->room];
    else
        k->status &= ~RECEIVED;
    data_read(l, k);
    return value;
}

/* Read a register. Return 0 if Python must handle the read. */
int link_read(parts *l, serial *k, uint32_t word, uint64_t *value)
{
    link_catch_up(l, k);
    *value = 0;
    if (word == LINK_STATUS)
        *value = k->seen = status(l, k);
    if (word == LINK_DATA)
        *value = data(l, k);
    return 1;
}

/* Send a byte. */
static int put(parts *l, serial *k, uint32_t value)
{
    if (!k->transmits || value > 0x1FFu)
        return 0;
    k->held = (int32_t)(value & 0xFFu);
    k->cleared = 0;
    transmit(l, k);
    return 1;
}

/* Handle a write to the status register that clears flags. */
static int write_status(serial *k, uint32_t value)
{
    if (!k->by_reading)
        return 0;
    k->status &= value | ~RECEIVED;
    if ((value & COMPLETE) == 0)
        k->cleared = idle(k);
    return 1;
}

/* Handle a write to the register that clears flags. */
static int clear(const parts *l, serial *k, uint32_t value)
{
    if ((value & ~(ERRORS | IDLE | COMPLETE)) != 0)
        return 0;
    k->status &= ~(value & (ERRORS | IDLE));
    if ((value & COMPLETE) != 0)
        k->cleared = idle(k);
    link_ask(l, k);
    return 1;
}

/* Write a register. Return 0 if Python must handle the write. */
int link_write(parts *l, serial *k, uint32_t word, uint32_t value)
{
    link_catch_up(l, k);
    if (word == LINK_CLEAR)
        return clear(l, k, value);
    return word == LINK_STATUS ? write_status(k, value) : put(l, k, value);
}

/* -- registers of streams -------------------------------------------------- */

/* Advance the link that a stream serves to the present time. */
static void catch_up(parts *l, const stream *s)
{
    if (s->link >= 0)
        link_catch_up(l, &l->links[s->link]);
}

/* Return the flags of a group of streams. */
static uint32_t flags(parts *l, const stream *first)
{
    const stream *s;
    uint32_t value = 0;
    for (s = first; s < first + first->group; s++) {
        catch_up(l, s);
        value |= (s->half ? s->half_flag : 0u) |
                 (s->complete ? s->complete_flag : 0u) |
                 (s->half || s->complete ? s->any_flag : 0u);
    }
    return value;
}

/* Clear flags of a group of streams. */
static void clear_flags(parts *l, stream *first, uint32_t value)
{
    stream *s;
    for (s = first; s < first + first->group; s++) {
        catch_up(l, s);
        s->half = s->half && (value & s->half_bits) == 0;
        s->complete = s->complete && (value & s->complete_bits) == 0;
    }
}

/* Read a register. Return 0 if Python must handle the read. */
int stream_read(parts *l, stream *s, uint32_t word, uint64_t *value)
{
    const uint32_t *words[] = {&s->control, &s->left, &s->peripheral,
                               &s->memory};
    catch_up(l, s);
    if (word == STREAM_FLAGS)
        *value = flags(l, s);
    else if (word == STREAM_REQUEST)
        *value = s->asked;
    else
        *value = word < STREAM_FLAGS ? *words[word] : 0u;
    return 1;
}

/* Connect a stream to its link. */
void stream_start(parts *l, stream *s)
{
    serial *k = &l->links[s->link];
    const uint8_t *data;
    if (s->sends && k->wired) {
        data = core_memory(l->core, s->memory, s->left, 0);
        send_on_line(l, k, data, data == 0 ? 0 : s->left);
    }
    s->control = s->usual | ENABLED;
    s->reload = s->left;
    k->streams[s->sends] = (int32_t)(s - l->streams);
    link_catch_up(l, k);
}

/* Return true if a start has the same settings as the previous start. */
static int as_usual(const stream *s, uint32_t value)
{
    return (value & ~ENABLED) == s->usual && s->left != 0 &&
           s->peripheral == s->address && s->asked == s->request &&
           !(s->flagged && (s->half || s->complete));
}

/* Handle a write to the control register. */
static int write_control(parts *l, stream *s, uint32_t value)
{
    int enabled = (s->control & ENABLED) != 0;
    int starts = !enabled && (value & ENABLED) != 0;
    if ((value & ~s->writable) != 0 ||
        (enabled && (value & ENABLED) != 0 && value != s->control) ||
        (starts && !as_usual(s, value)))
        return 0;
    if (enabled && (value & ENABLED) == 0 && s->flagged)
        s->complete = 1;
    s->control = value;
    if (starts)
        stream_start(l, s);
    return 1;
}

/* Handle a write to a register that must not change while the stream runs. */
static int write_still(const stream *s, uint32_t *reg, uint32_t value)
{
    if ((s->control & ENABLED) != 0)
        return 0;
    *reg = value;
    return 1;
}

/* Write a register. Return 0 if Python must handle the write. */
int stream_write(parts *l, stream *s, uint32_t word, uint32_t value)
{
    catch_up(l, s);
    switch (word) {
    case STREAM_CONTROL:
        return write_control(l, s, value);
    case STREAM_LEFT:
        return value <= MOST && write_still(s, &s->left, value);
    case STREAM_PERIPHERAL:
        return write_still(s, &s->peripheral, value);
    case STREAM_MEMORY:
        return write_still(s, &s->memory, value);
    case STREAM_CLEAR:
        clear_flags(l, s, value);
        return 1;
    case STREAM_REQUEST:
        s->asked = value & 0x7Fu;
        return value == s->asked;
    default:
        return 0;
    }
}
