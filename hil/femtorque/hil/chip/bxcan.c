/* The bxCAN controllers of RM0090 section 32: modes, three mailboxes, two FIFOs
 * of three frames, 28 filter banks, and errors. The filters of CAN2 are in
 * CAN1, so CAN2 needs the clock of CAN1. The model refuses time-triggered mode,
 * wake-up by bus activity, and loop back. */
#include "bxcan.h"

#include "parts.h"

#include <string.h>

/* Numbers of registers. */
enum { MCR, MSR, TSR, RF0R, RF1R, IER, ESR, BTR, TIR = 96, RIR = 108 };
enum { ENDS = 116, FMR = 128, FM1R, FS1R = 131, FFA1R = 133, FA1R = 135 };
enum { FILTERS_BEGIN = 144 };

/* States of a mailbox. */
enum { EMPTY, PENDING, SENDING };

#define NORMAL 0u
#define DEPTH BXCAN_DEPTH
#define BOXES BXCAN_BOXES
#define RECOVERY 128  /* sequences of 11 recessive bits, 32.7.6 */
#define HANDSHAKE 4.0 /* clocks from the request of a mode to its
                       * acknowledgement on an idle bus; chosen */
#define RELEASE 4.0   /* clocks from the release of the mailbox until hardware
                       * clears RFOM (32.9.2); chosen */

static int has(const bxcan *b, uint32_t word, uint32_t bits)
{
    return (b->words[word] & bits) != 0;
}

/* Set the interrupt requests from the flags and their enable bits (32.8). */
static void ask(bxcan *b)
{
    uint32_t enabled = b->words[IER], completed = 0;
    int32_t i;
    for (i = 0; i < BOXES; i++)
        completed |= b->boxes[i].flags & BXCAN_RQCP0;
    can_line(&b->can, 0, (enabled & BXCAN_TMEIE) && completed);
    for (i = 0; i < 2; i++) {
        const bxcan_fifo *q = &b->fifos[i];
        uint32_t on = enabled >> 3 * i;
        can_line(&b->can, 1 + i,
                 ((on & BXCAN_FMPIE0) && q->count) ||
                     ((on & BXCAN_FFIE0) && (q->flags & BXCAN_FULL0)) ||
                     ((on & BXCAN_FOVIE0) && (q->flags & BXCAN_FOVR0)));
    }
    can_line(&b->can, 3,
             ((enabled & BXCAN_ERRIE) && (b->flags & BXCAN_ERRI)) ||
                 (b->flags & BXCAN_SLAKI));
}

/* -- errors (32.7.6) ------------------------------------------------------- */

static uint32_t error_flags(const bxcan *b)
{
    return (can_warned(&b->can) ? BXCAN_EWGF : 0u) |
           (node_passive(&b->can.node) ? BXCAN_EPVF : 0u) |
           (b->can.off ? BXCAN_BOFF : 0u);
}

static void recover(bxcan *b)
{
    if (b->can.wire != 0)
        can_wait(&b->can, &b->recovers, RECOVERY);
}

/* Set the flags of the error state. If the error state has changed, raise the
 * interrupt requests of this change. */
static void note_errors(bxcan *b)
{
    uint32_t now;
    if (node_off(&b->can.node) && !b->can.off) {
        b->can.off = 1;
        if (has(b, MCR, BXCAN_ABOM))
            recover(b);
    }
    now = error_flags(b);
    if (now & ~b->errors & b->words[IER] >> 8 & 7u)
        b->flags |= BXCAN_ERRI;
    b->errors = now;
    ask(b);
}

static void take_part(void *of)
{
    bxcan *b = of;
    can_back(&b->can);
    note_errors(b);
    can_wake(&b->can);
}

/* -- modes (32.4) ---------------------------------------------------------- */

static void stay_off(bxcan *b)
{
    if (b->can.wire != 0)
        wire_forget(b->can.wire, &b->recovers);
}

/* Enter a mode. Bus off ends only in normal mode (32.7.6), because the
 * controller does not monitor the bus in other modes. Normal mode begins after
 * eleven recessive bits (32.4.2). Bus off ends after 128 times as many bits. */
static void enter(void *of)
{
    bxcan *b = of;
    stay_off(b);
    b->mode = b->wanted;
    if (b->mode == BXCAN_SLAK && has(b, IER, BXCAN_SLKIE))
        b->flags |= BXCAN_SLAKI;
    ask(b);
    if (b->mode == NORMAL && b->can.off)
        recover(b);
    else if (b->mode == NORMAL)
        take_part(b);
}

/* Request a mode. Initialisation and sleep begin when the present frame on the
 * bus has ended. Normal mode begins after eleven recessive bits. Initialisation
 * has priority over sleep: HAL_CAN_Init of ST's stm32f4xx_hal_can.c requests
 * initialisation and waits for INAK while SLEEP is still set, as after
 * reset. */
static void turn(bxcan *b, uint32_t wanted)
{
    const wire *w = b->can.wire;
    can_forget(&b->can);
    b->wanted = wanted;
    if (wanted == b->mode)
        return;
    if (wanted == NORMAL) {
        if (w != 0 && can_connected(&b->can))
            can_wait(&b->can, &b->can.waits, 1);
    } else if (b->mode == NORMAL && w != 0 && !w->idle && !b->can.off) {
        can_wait(&b->can, &b->can.waits, 1);
    } else {
        can_after(&b->can, &b->can.turns, HANDSHAKE);
    }
}

/* Set all registers to their reset values. */
void bxcan_reset(bxcan *b)
{
    int32_t i;
    b->mode = BXCAN_SLAK;
    b->can.off = 0;
    b->flags = b->lec = b->errors = b->orders = 0;
    b->can.node.transmit = b->can.node.receive = 0;
    b->sending = -1;
    memset(b->boxes, 0, sizeof b->boxes);
    for (i = 0; i < 2; i++) {
        b->fifos[i].count = 0;
        b->fifos[i].flags = 0;
        task_cancel(b->can.parts, &b->fifos[i].releases);
    }
    can_forget(&b->can);
    stay_off(b);
    ask(b);
}

/* -- the node -------------------------------------------------------------- */

static void look(node *n)
{
    bxcan *b = n->owner;
    uint32_t t = b->words[BTR];
    n->timing.quantum = ((t & 0x3FFu) + 1u) / can_hz(&b->can);
    n->timing.before = 2 + (int32_t)(t >> 16 & 15u);
    n->timing.after = 1 + (int32_t)(t >> 20 & 7u);
    n->timing.jump = 1 + (int32_t)(t >> 24 & 3u);
    n->silent = has(b, BTR, BXCAN_SILM);
    n->listening = b->mode == NORMAL && !b->can.off && b->can.clocked &&
                   can_connected(&b->can);
}

static void frame_of(const bxcan *b, int32_t m, can_frame *f)
{
    const uint32_t *box = &b->words[TIR + 4 * m];
    int32_t length = (int32_t)(box[1] & 15u), k;
    memset(f, 0, sizeof *f);
    f->extended = (box[0] & BXCAN_IDE) != 0;
    f->id = box[0] >> (f->extended ? 3 : 21);
    f->remote = (box[0] & BXCAN_RTR) != 0;
    f->size = f->remote ? 0 : length < 8 ? length : 8;
    for (k = 0; k < f->size; k++)
        f->data[k] = (uint8_t)(box[2 + k / 4] >> 8 * (k % 4));
}

/* Return a mailbox's rank. The mailbox with the lowest rank is sent first. The
 * rank is the order of the requests, or the identifier and then the number of
 * the mailbox (32.7.1). */
static uint64_t priority(const bxcan *b, int32_t m)
{
    can_frame f;
    if (has(b, MCR, BXCAN_TXFP))
        return b->boxes[m].order;
    frame_of(b, m, &f);
    return (uint64_t)can_arbitration(&f) << 2 | (uint64_t)m;
}

static int32_t offer(node *n, can_frame *f)
{
    bxcan *b = n->owner;
    int32_t m, found = -1;
    for (m = 0; m < BOXES; m++)
        if (b->boxes[m].state == PENDING &&
            (found < 0 || priority(b, m) < priority(b, found)))
            found = m;
    if (found < 0 || !node_listens(n) || n->silent)
        return 0;
    b->offered = found;
    frame_of(b, found, f);
    return 1;
}

static void began(node *n)
{
    bxcan *b = n->owner;
    b->sending = b->offered;
    b->boxes[b->sending].state = SENDING;
}

/* Empty a mailbox, and set its flags. */
static void empty(bxcan *b, int32_t m, uint32_t flags)
{
    memset(&b->boxes[m], 0, sizeof b->boxes[m]);
    b->boxes[m].flags = flags;
    b->words[TIR + 4 * m] &= ~(uint32_t)BXCAN_TXRQ;
    note_errors(b);
}

static void give_up_or_retry(bxcan *b, int32_t m, uint32_t why, int give_up)
{
    if (give_up || has(b, MCR, BXCAN_NART)) {
        empty(b, m, BXCAN_RQCP0 | why);
        return;
    }
    b->boxes[m].state = PENDING;
    b->boxes[m].flags |= why;
}

static void lost(node *n)
{
    bxcan *b = n->owner;
    give_up_or_retry(b, b->offered, BXCAN_ALST0, 0);
}

static void sent(node *n)
{
    bxcan *b = n->owner;
    int32_t m = b->sending;
    b->sending = -1;
    if (m < 0)
        return;
    b->lec = 0;
    empty(b, m, BXCAN_RQCP0 | BXCAN_TXOK0);
}

static void disturbed(node *n, int32_t error)
{
    bxcan *b = n->owner;
    b->lec = (uint32_t)error;
    if (has(b, IER, BXCAN_LECIE))
        b->flags |= BXCAN_ERRI;
    note_errors(b);
}

static void failed(node *n, int32_t error)
{
    bxcan *b = n->owner;
    int32_t m = b->sending;
    b->sending = -1;
    if (m >= 0)
        give_up_or_retry(b, m, BXCAN_TERR0, b->boxes[m].abort);
    disturbed(n, error);
}

/* -- filters (32.7.4) ------------------------------------------------------ */

/* Return the register with the identifier of a frame. */
static uint32_t wide_of(const can_frame *f)
{
    return (f->extended ? f->id << 3 | BXCAN_IDE : f->id << 21) |
           (f->remote ? BXCAN_RTR : 0u);
}

/* Return true if filter k of a bank accepts a frame. A wide bank has two
 * values, or a value and a mask. A narrow bank has four half-words with this
 * layout. */
static int passes(const uint32_t *bank, int wide, int listed, uint32_t k,
                  uint32_t id)
{
    uint32_t half = id >> 16 & 0xFFE0u;
    if (wide)
        return listed ? ((id ^ bank[k]) & ~1u) == 0
                      : ((id ^ bank[0]) & bank[1]) == 0;
    half |= (id & BXCAN_RTR) << 3 | (id & BXCAN_IDE) << 1 | (id >> 18 & 7u);
    if (listed)
        return half == (bank[k / 2] >> 16 * (k % 2) & 0xFFFFu);
    return ((half ^ bank[k]) & bank[k] >> 16 & 0xFFFFu) == 0;
}

/* Return the FIFO that accepts a frame, or -1. index: index of the matching
 * filter with the highest priority. The index gives priority to wide filters,
 * then to lists over masks, then to lower numbers. Banks below FMR.CAN2SB
 * belong to CAN1, all other banks to CAN2. The filter numbers also count the
 * banks that are inactive. */
static int32_t match(const bxcan *b, const can_frame *f, uint32_t *index)
{
    const bxcan *first = b->can.parts->bxcans;
    const uint32_t *words = first->words;
    uint32_t shared = words[FMR] >> 8 & 0x3Fu, numbers[2] = {0, 0}, k;
    uint32_t from = b == first ? 0u : shared, lowest = UINT32_MAX, bank;
    uint32_t until = b == first && shared < BXCAN_BANKS ? shared : BXCAN_BANKS;
    int32_t found = -1;
    if (words[FMR] & BXCAN_FINIT)
        return -1;
    for (bank = from; bank < until; bank++) {
        int wide = words[FS1R] >> bank & 1u, listed = words[FM1R] >> bank & 1u;
        uint32_t fifo = words[FFA1R] >> bank & 1u;
        uint32_t rank = (wide ? 0u : 512u) | (listed ? 0u : 256u);
        for (k = 0; k < (wide ? 1u : 2u) * (listed ? 2u : 1u); k++) {
            uint32_t number = numbers[fifo]++;
            if ((words[FA1R] >> bank & 1u) && (rank | number) < lowest &&
                passes(words + FILTERS_BEGIN + 2 * bank, wide, listed, k,
                       wide_of(f))) {
                lowest = rank | number;
                *index = number;
                found = (int32_t)fifo;
            }
        }
    }
    return found;
}

/* -- FIFOs ----------------------------------------------------------------- */

static void heard(node *n, const can_frame *f)
{
    bxcan *b = n->owner;
    uint32_t index = 0, slot[4] = {0, 0, 0, 0};
    int32_t which = match(b, f, &index), k;
    bxcan_fifo *q = &b->fifos[which < 0 ? 0 : which];
    b->lec = 0;
    slot[0] = wide_of(f);
    slot[1] = index << 8 | (uint32_t)f->size;
    for (k = 0; k < f->size && k < 8; k++)
        slot[2 + k / 4] |= (uint32_t)f->data[k] << 8 * (k % 4);
    if (which >= 0 && q->count < DEPTH) {
        memcpy(q->slots[q->count++], slot, sizeof slot);
        q->flags |= q->count == DEPTH ? BXCAN_FULL0 : 0u;
    } else if (which >= 0) {
        q->flags |= BXCAN_FOVR0;
        if (!has(b, MCR, BXCAN_RFLM)) /* overwrites the newest frame */
            memcpy(q->slots[DEPTH - 1], slot, sizeof slot);
    }
    note_errors(b);
}

static void release(void *of)
{
    bxcan_fifo *q = of;
    memmove(q->slots, q->slots + 1, sizeof q->slots - sizeof *q->slots);
    q->count--;
    ask(q->of);
}

static void write_fifo(bxcan *b, bxcan_fifo *q, uint32_t value)
{
    q->flags &= ~(value & (BXCAN_FULL0 | BXCAN_FOVR0));
    if ((value & BXCAN_RFOM0) && q->count && !q->releases.due.armed)
        can_after(&b->can, &q->releases, RELEASE);
    ask(b);
}

static const node_ways ways = {look, offer,  0,     began,    lost,
                               sent, failed, heard, disturbed};

/* -- registers ------------------------------------------------------------- */

static uint32_t read_mode(bxcan *b)
{
    uint32_t going = b->sending >= 0 ? BXCAN_TXM : BXCAN_RXM;
    if (!node_listens(&b->can.node) || b->can.wire == 0 || b->can.wire->idle)
        going = 0;
    return b->mode | b->flags | going | BXCAN_SAMP | BXCAN_RX;
}

/* Return TSR. TSR.CODE is an empty mailbox, or the last to be sent. */
static uint32_t read_boxes(const bxcan *b)
{
    uint32_t status = 0, code;
    int32_t m, last = -1, full = 0, free = -1;
    for (m = BOXES - 1; m >= 0; m--) {
        const bxcan_box *box = &b->boxes[m];
        status |= (box->flags | (box->abort ? BXCAN_ABRQ0 : 0u)) << 8 * m;
        if (box->state == EMPTY) {
            status |= 1u << (26 + m);
            free = m;
            continue;
        }
        full++;
        if (last < 0 || priority(b, m) > priority(b, last))
            last = m;
    }
    code = (uint32_t)(free >= 0 ? free : last);
    return status | code << 24 | (full > 1 ? 1u << (29 + last) : 0u);
}

static void write_boxes(bxcan *b, uint32_t value)
{
    int32_t m;
    for (m = 0; m < BOXES; m++) {
        bxcan_box *box = &b->boxes[m];
        uint32_t asked = value >> 8 * m & 0xFFu;
        if (asked & BXCAN_RQCP0)
            box->flags = 0;
        box->flags &= ~(asked & (BXCAN_TXOK0 | BXCAN_ALST0 | BXCAN_TERR0));
        if ((asked & BXCAN_ABRQ0) && box->state == PENDING)
            empty(b, m, BXCAN_RQCP0);
        else if ((asked & BXCAN_ABRQ0) && box->state == SENDING)
            box->abort = 1;
    }
    ask(b);
}

/* Handle a write to a mailbox's register, if it is empty (32.9.3). */
static void write_box(bxcan *b, uint32_t word, uint32_t value)
{
    bxcan_box *box = &b->boxes[(word - TIR) / 4];
    if (box->state != EMPTY)
        return;
    b->words[word] = value;
    if ((word - TIR) % 4 || !(value & BXCAN_TXRQ))
        return;
    memset(box, 0, sizeof *box);
    box->state = PENDING;
    box->order = ++b->orders;
    ask(b);
    can_wake(&b->can);
}

/* Handle a write to a filter register. FMR, FA1R and the registers of an
 * inactive bank can change at any time. The other filter registers change only
 * during the filter initialisation. */
static void write_filters(bxcan *b, uint32_t word, uint32_t value)
{
    if (has(b, FMR, BXCAN_FINIT) || word == FMR || word == FA1R ||
        (word >= FILTERS_BEGIN &&
         !has(b, FA1R, 1u << (word - FILTERS_BEGIN) / 2)))
        b->words[word] = value;
}

static uint32_t value_of(bxcan *b, uint32_t word)
{
    const bxcan_fifo *q = &b->fifos[word == RF1R || word >= RIR + 4];
    if (word >= RIR && word < ENDS)
        return q->count ? q->slots[0][word % 4] : 0;
    switch (word) {
    case MSR:
        return read_mode(b);
    case TSR:
        return read_boxes(b);
    case RF0R:
    case RF1R:
        return (uint32_t)q->count | q->flags |
               (q->releases.due.armed ? BXCAN_RFOM0 : 0u);
    case ESR:
        return error_flags(b) | b->lec << 4 |
               (uint32_t)(b->can.node.transmit < 255 ? b->can.node.transmit
                                                     : 255) << 16 |
               (uint32_t)b->can.node.receive << 24;
    default:
        return b->words[word];
    }
}

/* Read a register. Return 0 if Python must refuse the access. */
int bxcan_read(bxcan *b, uint32_t word, uint64_t *value)
{
    *value = value_of(b, word);
    return b->can.parts->bxcans[0].can.clocked;
}

/* Write a register. Return 0 if Python must handle the write. */
int bxcan_write(bxcan *b, uint32_t word, uint32_t value)
{
    if ((value & ~b->writable[word] & ~b->words[word]) ||
        !b->can.parts->bxcans[0].can.clocked ||
        (word == MCR && (value & BXCAN_RESET)))
        return 0;
    switch (word) {
    case MCR:
        b->words[MCR] = value;
        turn(b, value & BXCAN_INRQ    ? BXCAN_INAK
                : value & BXCAN_SLEEP ? BXCAN_SLAK
                                      : NORMAL);
        return 1;
    case MSR:
        b->flags &= ~value;
        break;
    case TSR:
        write_boxes(b, value);
        break;
    case RF0R:
    case RF1R:
        write_fifo(b, &b->fifos[word == RF1R], value);
        break;
    case ESR:
        b->lec = value >> 4 & 7u;
        break;
    case BTR:
        if (b->mode == BXCAN_INAK)
            b->words[BTR] = value;
        break;
    default:
        if (word >= FMR)
            write_filters(b, word, value);
        else if (word >= TIR && word < RIR)
            write_box(b, word, value);
        else if (b->writable[word])
            b->words[word] = value;
    }
    ask(b);
    return 1;
}

void bxcan_begin(parts *l, int32_t number)
{
    bxcan *b = &l->bxcans[number];
    int32_t i;
    can_begin(&b->can, l, number, b, &ways);
    b->can.turns.act = b->can.waits.act = enter;
    b->recovers.act = take_part;
    b->recovers.of = b;
    for (i = 0; i < 2; i++) {
        b->fifos[i].of = b;
        b->fifos[i].releases.act = release;
        b->fifos[i].releases.of = &b->fifos[i];
    }
}
