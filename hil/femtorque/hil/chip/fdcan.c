/* The FDCAN controllers of RM0440 section 44. Restricted operation, clock stop,
 * test modes, transmit events and priority messages are refused. The model
 * leaves out time stamps, the timeout counter, the RAM watchdog, and the
 * recovery count in PSR and ECR. */
#include "fdcan.h"

#include "parts.h"

#include <math.h>
#include <string.h>

/* Numbers of registers. IR, TXBRP, TXBCR, TXBTO and TXBCF are stored with the
 * values that software reads. TXBCR marks the elements that were cancelled
 * during their transmission. */
enum { DBTP = 3, CCCR = 6, NBTP, ECR = 16, PSR, TDCR, IR = 20, IE, ILS, ILE };
enum { RXGFC = 32, XIDAM, RXF0S = 36, RXF0A, RXF1S, RXF1A, CKDIV = 64 };
enum { TXBC = 48, TXFQS, TXBRP, TXBAR, TXBCR, TXBTO, TXBCF, TXBTIE, TXBCIE };

#define SETTINGS 0x5360u /* CCCR.MON, DAR, FDOE, BRSE, PXHD, TXP */
#define NO_CHANGE 7u     /* LEC and DLEC after a read */
#define DEPTH FDCAN_DEPTH
#define FIFO_WORDS (DEPTH * FDCAN_ELEMENT / 4)
#define STANDARD_FILTERS 28u
#define EXTENDED_FILTERS 8u
#define RANGE 3u      /* kind: a standard filter that is disabled; an extended
                       * range without XIDAM */
#define RECOVERY 129  /* 44.3.2: number of sequences of 11 recessive bits */
#define HANDSHAKE 4.0 /* clocks until a read returns the new INIT, because the
                       * bit crosses two clock domains; chosen */

/* Bits of IR for each bit of ILS (44.4.16). */
static const uint32_t groups[] = {0x7,    0x38,    0x1C0,   0x1E00,
                                  0xE000, 0x30000, 0xFC0000};

static int has(const fdcan *f, uint32_t word, uint32_t bits)
{
    return (f->words[word] & bits) != 0;
}

/* Assert or clear the interrupt requests. */
static void ask(fdcan *f)
{
    uint32_t raised = f->words[IR] & f->words[IE], second = 0, i;
    for (i = 0; i < 7u; i++)
        second |= has(f, ILS, 1u << i) ? groups[i] : 0u;
    can_line(&f->can, 0, has(f, ILE, 1) && (raised & ~second) != 0);
    can_line(&f->can, 1, has(f, ILE, 2) && (raised & second) != 0);
}

/* Set the flags of a change of the error state, whether it becomes better or
 * worse. Bus off sets INIT. */
static void note_errors(fdcan *f)
{
    uint32_t state;
    if (node_off(&f->can.node) && !f->can.off) {
        f->can.off = 1;
        f->joined = 0;
        f->words[CCCR] |= FDCAN_INIT;
    }
    state = (can_warned(&f->can) ? FDCAN_EW : 0u) |
            (node_passive(&f->can.node) ? FDCAN_EP : 0u) |
            (f->can.off ? FDCAN_BO : 0u);
    f->words[IR] |= state ^ f->state;
    f->state = state;
    ask(f);
}

/* -- initialisation -------------------------------------------------------- */

/* Reset FIFOs and requests, as CCE does (44.3.2). */
static void start_over(fdcan *f)
{
    memset(f->fifos, 0, sizeof f->fifos);
    f->words[TXBRP] = f->words[TXBTO] = f->words[TXBCF] = 0;
    f->words[TXBCR] = 0;
    f->ordered = f->put = 0;
    f->sending = f->offered = -1;
}

static void join(void *of)
{
    fdcan *f = of;
    f->joined = 1;
    can_back(&f->can);
    note_errors(f);
    can_wake(&f->can);
}

static void turn(void *of)
{
    fdcan *f = of;
    f->joined = 0;
    if (!f->initialises)
        f->words[CCCR] &= ~(uint32_t)FDCAN_CCE;
    f->words[CCCR] = (f->words[CCCR] & ~1u) | f->initialises;
    if (f->initialises)
        f->sending = -1;
    else if (f->can.wire != 0 && can_connected(&f->can)) {
        if (has(f, DBTP, FDCAN_TDC) && (f->words[DBTP] >> 16 & 31u) > 1u)
            can_refuse(&f->can, FDCAN_DELAY);
        else
            can_wait(&f->can, &f->can.waits, f->can.off ? RECOVERY : 1);
    }
}

static void write_control(fdcan *f, uint32_t value)
{
    uint32_t old = f->words[CCCR];
    uint32_t left = value & FDCAN_MON ? old : old & ~(uint32_t)FDCAN_MON;
    uint32_t settings = SETTINGS & (old & FDCAN_CCE ? value : left);
    uint32_t configures = old & value & FDCAN_INIT ? value & FDCAN_CCE : 0u;
    if (configures & ~old)
        start_over(f);
    f->words[CCCR] = settings | configures | (old & FDCAN_INIT);
    if (!((value ^ old) & FDCAN_INIT))
        return;
    f->initialises = value & FDCAN_INIT;
    can_forget(&f->can);
    can_after(&f->can, &f->can.turns, HANDSHAKE);
}

/* Set all registers to their reset values. */
void fdcan_reset(fdcan *f)
{
    f->words[CCCR] = FDCAN_INIT;
    f->joined = f->can.off = 0;
    f->state = f->logged = 0;
    f->codes[0] = f->codes[1] = NO_CHANGE;
    f->can.node.transmit = f->can.node.receive = 0;
    start_over(f);
    can_forget(&f->can);
    ask(f);
}

/* -- the node -------------------------------------------------------------- */

static double quantum(fdcan *f)
{
    uint32_t divider = 2u * f->can.parts->fdcans[0].words[CKDIV]; /* 44.4.37 */
    double hz = can_hz(&f->can);
    /* without a clock no bit ever ends */
    return hz > 0.0 ? (divider ? divider : 1u) / hz : (double)INFINITY;
}

static bit_timing timing(double quantum, uint32_t prescaler, uint32_t before,
                         uint32_t after, uint32_t jump)
{
    bit_timing t;
    t.quantum = (prescaler + 1u) * quantum;
    t.before = (int32_t)before + 2;
    t.after = (int32_t)after + 1;
    t.jump = (int32_t)jump + 1;
    return t;
}

static void look(node *n)
{
    fdcan *f = n->owner;
    uint32_t nominal = f->words[NBTP], data = f->words[DBTP];
    double q = quantum(f);
    n->timing = timing(q, nominal >> 16 & 0x1FFu, nominal >> 8 & 0xFFu,
                       nominal & 0x7Fu, nominal >> 25);
    n->fast = timing(q, data >> 16 & 31u, data >> 8 & 31u, data >> 4 & 15u,
                     data & 15u);
    n->fd = has(f, CCCR, FDCAN_FDOE);
    n->silent = has(f, CCCR, FDCAN_MON);
    n->listening = f->joined && !f->can.off && f->can.clocked &&
                   f->can.hz > 0.0 && can_connected(&f->can);
}

/* Return true if the controller reads its sent bit back before the sample
 * point, or before the compensated point (44.3.4). */
static int32_t sees_itself(node *n, double loop_delay)
{
    fdcan *f = n->owner;
    double q = quantum(f), offset = (f->words[TDCR] >> 8 & 0x7Fu) * q;
    if (!has(f, DBTP, FDCAN_TDC))
        return loop_delay < timing_sample(&n->fast);
    return 0.0 < offset && offset < timing_bit(&n->fast) &&
           loop_delay + offset < 127.0 * q;
}

/* Read the frame of an element that will be sent (44.3.5, table 406). Return 0
 * if the filters reject the frame. */
static int frame_of(const fdcan *f, int32_t i, can_frame *m)
{
    const uint32_t *e = f->ram + (FDCAN_TO_SEND + FDCAN_ELEMENT * i) / 4;
    uint32_t head = e[0], control = e[1], code = control >> 16 & 15u;
    int32_t k;
    if (control & 1u << 23) {
        can_refuse(&f->can, FDCAN_EVENTS);
        return 0;
    }
    m->fd = (control & 1u << 21) && has(f, CCCR, FDCAN_FDOE);
    m->extended = head >> 30 & 1u;
    m->id = m->extended ? head & 0x1FFFFFFFu : head >> 18 & 0x7FFu;
    m->remote = (head >> 29 & 1u) && !m->fd;
    m->size = m->remote ? 0 : can_size(!m->fd && code > 8u ? 8u : code);
    m->fast = m->fd && (control & 1u << 20) && has(f, CCCR, FDCAN_BRSE);
    m->passive = m->fd && (node_passive(&f->can.node) || head >> 31);
    for (k = 0; k < m->size; k++)
        m->data[k] = (uint8_t)(e[2 + k / 4] >> 8 * (k % 4));
    return 1;
}

/* Return the address of a FIFO's oldest element. */
static int32_t oldest(const fdcan *f)
{
    return (f->put + DEPTH - f->ordered) % DEPTH;
}

/* Find the next element to send and read its frame: the FIFO's oldest, or a
 * queue's lowest identifier, then number. Return -1 if the filters reject the
 * frame. */
static int32_t next(const fdcan *f, can_frame *m)
{
    int queue = has(f, TXBC, FDCAN_TFQM);
    int32_t found = -1, k, i;
    can_frame other;
    for (k = 0; k < DEPTH && (queue || found < 0); k++) {
        i = queue ? k : (oldest(f) + k) % DEPTH;
        if (!has(f, TXBRP, 1u << i))
            continue;
        if (!frame_of(f, i, &other))
            return -1;
        if (found < 0 || can_arbitration(&other) < can_arbitration(m)) {
            *m = other;
            found = i;
        }
    }
    return found;
}

static int32_t offer(node *n, can_frame *m)
{
    fdcan *f = n->owner;
    if (f->words[TXBRP] == 0 || !node_listens(n) || n->silent)
        return 0;
    f->offered = next(f, m);
    return f->offered >= 0;
}

static void began(node *n)
{
    fdcan *f = n->owner;
    f->sending = f->offered;
}

/* Finish a request that was sent or cancelled. If a request is cancelled during
 * a transmission that succeeds, it counts as both sent and cancelled. */
static void done(fdcan *f, int32_t i, int sent)
{
    uint32_t bit = 1u << i;
    f->words[TXBRP] &= ~bit;
    if (sent) {
        f->words[TXBTO] |= bit;
        f->words[IR] |= has(f, TXBTIE, bit) ? FDCAN_TC : 0u;
    }
    if (!sent || (f->words[TXBCR] & bit)) {
        f->words[TXBCF] |= bit;
        f->words[IR] |= has(f, TXBCIE, bit) ? FDCAN_TCF : 0u;
    }
    f->words[TXBCR] &= ~bit;
    while (f->ordered > 0 && !has(f, TXBRP, 1u << oldest(f)))
        f->ordered--;
    if (!has(f, TXBC, FDCAN_TFQM) && f->ordered == 0)
        f->words[IR] |= FDCAN_TFE;
    ask(f);
}

/* Cancel an element that was not sent, unless the controller retries it. */
static void missed(fdcan *f, int32_t i)
{
    if (i >= 0 && (has(f, CCCR, FDCAN_DAR) || (f->words[TXBCR] >> i & 1u)))
        done(f, i, 0);
}

static void lost(node *n)
{
    fdcan *f = n->owner;
    missed(f, f->offered);
}

static void sent(node *n)
{
    fdcan *f = n->owner;
    int32_t i = f->sending;
    f->sending = -1;
    if (i >= 0) {
        f->codes[0] = 0;
        done(f, i, 1);
    }
    note_errors(f);
}

static void disturbed(node *n, int32_t error)
{
    fdcan *f = n->owner;
    int fast = f->can.wire->fast_phase;
    f->codes[fast] = (uint32_t)error;
    f->logged += f->logged < 255u;
    f->words[IR] |= fast ? FDCAN_PED : FDCAN_PEA;
    note_errors(f);
}

static void failed(node *n, int32_t error)
{
    fdcan *f = n->owner;
    int32_t i = f->sending;
    f->sending = -1;
    missed(f, i);
    disturbed(n, error);
}

/* -- requests -------------------------------------------------------------- */

/* Request elements. Return 0 for any but the FIFO's next element. */
static int request(fdcan *f, uint32_t value)
{
    int queue = has(f, TXBC, FDCAN_TFQM);
    int32_t i;
    if (has(f, CCCR, FDCAN_CCE))
        return 1;
    for (i = 0; i < DEPTH; i++) {
        uint32_t bit = value & ~f->words[TXBRP] & 1u << i;
        if (!bit)
            continue;
        if (!queue && (i != f->put || f->ordered == DEPTH))
            return 0;
        f->words[TXBRP] |= bit;
        f->words[TXBTO] &= ~bit;
        f->words[TXBCF] &= ~bit;
        if (!queue) {
            f->put = (i + 1) % DEPTH;
            f->ordered++;
        }
    }
    can_wake(&f->can);
    return 1;
}

/* Cancel elements at once. An element that is being sent is cancelled only
 * after the end of its transmission. */
static void cancel(fdcan *f, uint32_t value)
{
    int32_t i;
    for (i = 0; i < DEPTH; i++)
        if (!(value & f->words[TXBRP] & 1u << i))
            continue;
        else if (i == f->sending)
            f->words[TXBCR] |= 1u << i;
        else
            done(f, i, 0);
}

/* Return TXFQS. */
static uint32_t room(const fdcan *f)
{
    uint32_t full = 1u << 21, i;
    if (!has(f, TXBC, FDCAN_TFQM))
        return (uint32_t)(DEPTH - f->ordered) | (uint32_t)oldest(f) << 8 |
               (uint32_t)f->put << 16 | (f->ordered < DEPTH ? 0u : full);
    for (i = 0; i < DEPTH; i++)
        if (!has(f, TXBRP, 1u << i))
            return i << 16;
    return full;
}

/* -- receiving ------------------------------------------------------------- */

/* kind: the type of the filter; 0: range; 1: two values; 2: value and mask. */
static int matches(uint32_t kind, uint32_t id, uint32_t one, uint32_t two)
{
    if (kind == 0)
        return one <= id && id <= two;
    return kind == 1 ? id == one || id == two : ((id ^ one) & two) == 0;
}

/* Return the index of an identifier's filter, or -1. what: its action. */
static int32_t standard(const fdcan *f, uint32_t id, uint32_t *what)
{
    const uint32_t *filter = f->ram + FDCAN_STANDARD / 4;
    uint32_t count = f->words[RXGFC] >> 16 & 31u, i;
    for (i = 0; i < count && i < STANDARD_FILTERS; i++) {
        uint32_t word = filter[i], kind = word >> 30;
        *what = word >> 27 & 7u;
        if (kind != RANGE && *what &&
            matches(kind, id, word >> 16 & 0x7FFu, word & 0x7FFu))
            return (int32_t)i;
    }
    return -1;
}

static int32_t extended(const fdcan *f, uint32_t id, uint32_t *what)
{
    const uint32_t *filter = f->ram + FDCAN_EXTENDED / 4;
    uint32_t count = f->words[RXGFC] >> 24 & 15u, i;
    for (i = 0; i < count && i < EXTENDED_FILTERS; i++, filter += 2) {
        uint32_t kind = filter[1] >> 30;
        *what = filter[0] >> 29;
        if (*what && matches(kind % 3u,
                             kind == RANGE ? id : id & f->words[XIDAM],
                             filter[0] & 0x1FFFFFFFu, filter[1] & 0x1FFFFFFFu))
            return (int32_t)i;
    }
    return -1;
}

/* Return the FIFO that accepts a frame, or -1. match: bits of R1 with the index
 * of the filter, or with the flag for no matching filter. */
static int32_t filtered(const fdcan *f, const can_frame *m, uint32_t *match)
{
    uint32_t general = f->words[RXGFC], what = 0;
    int32_t index;
    if (m->remote && general >> (m->extended ? 0 : 1) & 1u)
        return -1;
    index = m->extended ? extended(f, m->id, &what) : standard(f, m->id, &what);
    if (index < 0) {
        *match = 1u << 31;
        what = (general >> (m->extended ? 2 : 4) & 3u) + 1u;
    } else {
        *match = (uint32_t)index << 24;
        if (4 <= what && what <= 6)
            can_refuse(&f->can, FDCAN_PRIORITY);
    }
    return what == 1 || what == 2 ? (int32_t)what - 1 : -1;
}

static void lay_down(uint32_t *e, uint32_t match, const can_frame *m)
{
    int32_t k;
    e[0] = (m->extended ? m->id | 1u << 30 : m->id << 18) |
           (uint32_t)m->remote << 29 | (uint32_t)m->passive << 31;
    e[1] = match | (uint32_t)m->fd << 21 | (uint32_t)m->fast << 20 |
           can_code(m) << 16;
    for (k = 0; k < m->size; k++)
        e[2 + k / 4] = (k % 4 ? e[2 + k / 4] : 0u) |
                       (uint32_t)m->data[k] << 8 * (k % 4);
}

/* Take a frame into a FIFO. */
static void take(fdcan *f, int32_t which, uint32_t match, const can_frame *m)
{
    fdcan_fifo *q = &f->fifos[which];
    int32_t put;
    if (q->level == DEPTH) {
        if (!has(f, RXGFC, 1u << (9 - which))) { /* F0OM: bit 9; F1OM: bit 8 */
            q->lost = 1;
            f->words[IR] |= FDCAN_RF0L << 3 * which;
            return;
        }
        q->get = (q->get + 1) % DEPTH;
        q->level--;
    }
    put = (q->get + q->level++) % DEPTH;
    lay_down(f->ram + FDCAN_RECEIVED / 4 + which * FIFO_WORDS +
                 put * FDCAN_ELEMENT / 4, match, m);
    f->words[IR] |= (FDCAN_RF0N | (q->level == DEPTH ? FDCAN_RF0F : 0u))
                << 3 * which;
}

static void heard(node *n, const can_frame *m)
{
    fdcan *f = n->owner;
    uint32_t match = 0;
    int32_t which;
    f->codes[0] = 0;
    if (m->fast)
        f->codes[1] = 0;
    which = filtered(f, m, &match);
    if (which >= 0)
        take(f, which, match, m);
    note_errors(f);
}

static const node_ways ways = {look, offer,  sees_itself, began,    lost,
                               sent, failed, heard,       disturbed};

/* Return RXF0S or RXF1S. */
static uint32_t status(const fdcan_fifo *q)
{
    return (uint32_t)(q->level | q->get << 8 |
                      (q->get + q->level) % DEPTH << 16 |
                      (q->level == DEPTH) << 24 | q->lost << 25);
}

/* Release the FIFO up to an element. Return 0 if it is not there. */
static int acknowledge(fdcan_fifo *q, uint32_t value)
{
    int32_t last = (int32_t)value, count = (last - q->get + DEPTH) % DEPTH + 1;
    if (last >= DEPTH || count > q->level)
        return 0;
    q->get = (last + 1) % DEPTH;
    q->level -= count;
    return 1;
}

/* -- registers ------------------------------------------------------------- */

static void write_flags(fdcan *f, uint32_t value)
{
    f->words[IR] &= ~value;
    f->fifos[0].lost &= !(value & FDCAN_RF0L);
    f->fifos[1].lost &= !(value & FDCAN_RF0L << 3);
    ask(f);
}

static uint32_t read_counters(fdcan *f)
{
    const node *n = &f->can.node;
    uint32_t sends = (uint32_t)n->transmit, hears = (uint32_t)n->receive;
    uint32_t value = (sends < 255u ? sends : 255u) | f->logged << 16 |
                     (hears > PASSIVE ? 1u << 15 | PASSIVE << 8 : hears << 8);
    f->logged = 0;
    return value;
}

/* Return PSR.ACT. */
static uint32_t activity(const fdcan *f)
{
    if (!f->joined)
        return 0;
    if (f->can.wire == 0 || f->can.wire->idle)
        return 1;
    return f->sending >= 0 ? 3 : 2;
}

static uint32_t read_status(fdcan *f)
{
    uint32_t value = f->codes[0] | f->codes[1] << 8 | activity(f) << 3 |
                     (f->state & FDCAN_EP ? 1u << 5 : 0u) |
                     (f->state & FDCAN_EW ? 1u << 6 : 0u) |
                     (f->state & FDCAN_BO ? 1u << 7 : 0u);
    f->codes[0] = f->codes[1] = NO_CHANGE;
    return value;
}

uint32_t fdcan_read(fdcan *f, uint32_t word)
{
    switch (word) {
    case ECR:
        return read_counters(f);
    case PSR:
        return read_status(f);
    case RXF0S:
    case RXF1S:
        return status(&f->fifos[word == RXF1S]);
    case TXFQS:
        return room(f);
    default:
        return f->words[word];
    }
}

/* Write a register. Return 0 if the model refuses the write. */
int fdcan_write(fdcan *f, uint32_t word, uint32_t value)
{
    if (value & ~f->writable[word] & ~f->words[word])
        return 0;
    switch (word) {
    case DBTP: /* registers that change only while INIT and CCE are set */
    case NBTP:
    case TDCR:
    case RXGFC:
    case XIDAM:
    case TXBC:
    case CKDIV:
        if (has(f, CCCR, FDCAN_CCE))
            f->words[word] = value;
        return 1;
    case CCCR:
        write_control(f, value);
        return 1;
    case IR:
        write_flags(f, value);
        return 1;
    case RXF0A:
    case RXF1A:
        return acknowledge(&f->fifos[word == RXF1A], value);
    case TXBAR:
        return request(f, value);
    case TXBCR:
        cancel(f, value);
        return 1;
    default:
        if (f->writable[word])
            f->words[word] = value;
        ask(f);
        return 1;
    }
}

void fdcan_begin(parts *l, int32_t number)
{
    fdcan *f = &l->fdcans[number];
    f->ram = l->message_ram + number * FDCAN_PIECE / 4;
    can_begin(&f->can, l, number, f, &ways);
    f->can.turns.act = turn;
    f->can.waits.act = join;
}
