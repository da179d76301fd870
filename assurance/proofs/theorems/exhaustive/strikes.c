/* The queue between main loop and tick, control/ft_queue.c. A tick may
 * interrupt the main loop after any of its stores.
 *
 * A compiler keeps the order of volatile stores. FT_STORED() keeps the order of
 * the stores before it and after it. No other order of stores is guaranteed. So
 * a tick reads the present values of volatile members. Every other word may
 * have three values: its value at the last FT_STORED(), its present value, and
 * its value at the next FT_STORED(). For any order that a compiler chooses,
 * each word has one of these values. A few words represent all words. */
#include "exhaust.h"

#include "ft_config.h"
#undef FT_RING
#define FT_RING 4u

#include "ft_queue.h"

static void struck(void);
static void barrier(void);

#undef FT_STORED
#define FT_STORED() barrier()

#include "ft_queue.c"

/* Only volatile stores keep the order of the source code. */
#define VOLATILE(member, type) \
    _Static_assert(__builtin_types_compatible_p( \
                       __typeof__(&((ft_queue *)0)->member), volatile type *), \
                   "an interrupt looks at it")
VOLATILE(flush, bool);
VOLATILE(tail, uint32_t);
VOLATILE(head, uint32_t);
VOLATILE(ends, uint32_t);
VOLATILE(entered, uint32_t);

/* ---- every choice -------------------------------------------------------- */

static uint32_t chosen[256], choices[256], choice, depth;

/* Return a number below n. Successive runs return every number. */
static uint32_t choose(uint32_t n)
{
    if (choice == depth) {
        chosen[choice] = 0;
        choices[depth++] = n;
    }
    return chosen[choice++];
}

/* Begin the next run. Return false after the last run. */
static bool another(void)
{
    while (depth > 0 && chosen[depth - 1u] + 1u == choices[depth - 1u])
        depth--;
    if (depth == 0)
        return false;
    chosen[depth - 1u]++;
    choice = 0;
    return true;
}

/* ---- words that stand for the others ------------------------------------- */

enum { AFTER = FT_RING, BEGINS = AFTER + 12, ENTRY, WORDS };

typedef struct {
    ft_turn at[WORDS]; /* six words for each opening, and the entry */
} words;

typedef struct {
    words held;
    ft_queue q;
    uint32_t id[FT_RING];
    uint8_t flags[FT_RING];
    bool forgets, pushes, seen; /* seen: the tick has read the entry */
} moment;

static ft_queue q;
static uint32_t id[FT_RING];   /* segment that each slot contains entirely */
static uint8_t flags[FT_RING];
static uint32_t ids, begun;    /* begun: the tail as the call begins */
static bool forgets, pushes;   /* actions of the main loop */
static bool starts, started;   /* a tick computes or computed the entry */

static const ft_crossing steps[2] = { { 0, 1, 2, 3 }, { 0, 4, 5, 6 } };

static words all(void)
{
    words w;
    uint32_t i;

    for (i = 0; i < FT_RING; i++)
        w.at[i] = q.ring[i].joint[0].q0;
    for (i = 0; i < 2u; i++) {
        const ft_opening *o = &q.openings[i];
        ft_turn *at = &w.at[AFTER + 6u * i];

        at[0] = (ft_turn)o->of.segment;
        at[1] = o->of.from;
        at[2] = o->of.boundary;
        at[3] = o->of.to;
        at[4] = o->target.q[0];
        at[5] = o->next.q[0];
    }
    w.at[BEGINS] = q.begins[0];
    w.at[ENTRY] = (ft_turn)q.entry[0].c;
    return w;
}

/* Return the number that is computed for a step between two segments. */
static ft_turn formed(uint32_t before, uint32_t after, int32_t from,
                      int32_t boundary, int32_t to)
{
    return (ft_turn)(((((before << 5 | after) << 3 | (uint32_t)from) << 3
                       | (uint32_t)boundary) << 3 | (uint32_t)to) + 1u);
}

/* ---- values that a tick finds -------------------------------------------- */

static words since;          /* the words at the last barrier */
static moment moments[64];   /* the words after each store since then */
static uint32_t n_moments, actions;

/* Write the values that a word may have, and return their number. */
static uint32_t found(ft_turn of[3], const words *then, const words *later,
                      uint32_t at)
{
    const ft_turn three[3] = { since.at[at], then->at[at], later->at[at] };
    uint32_t i, n = 0;

    for (i = 0; i < 3u; i++)
        if (n == 0 || (three[i] != of[0] && (n < 2u || three[i] != of[1])))
            of[n++] = three[i];
    return n;
}

static bool is(const words *then, const words *later, uint32_t at, ft_turn x)
{
    return since.at[at] == x && then->at[at] == x && later->at[at] == x;
}

/* Check an opening. If a tick reads that the opening is marked for a waiting
 * segment, the numbers of the opening were computed for exactly this step. */
static void claim_opening(const moment *m, const words *later, uint32_t at)
{
    const words *then = &m->held;
    ft_turn of[4][3];
    uint32_t n[4], i, s, a, b, t;

    for (i = 0; i < 4u; i++)
        n[i] = found(of[i], then, later, at + i);
    for (s = 0; s < n[0]; s++) {
        const uint32_t segment = (uint32_t)of[0][s];
        const uint32_t before = m->id[(segment - 1u) & (FT_RING - 1u)];
        const uint32_t after = m->id[segment & (FT_RING - 1u)];

        if (segment == m->q.tail
            || segment - m->q.tail >= m->q.head - m->q.tail)
            continue;
        for (a = 0; a < n[1]; a++)
            for (b = 0; b < n[2]; b++)
                for (t = 0; t < n[3]; t++) {
                    const ft_turn x =
                        formed(before, after, (int32_t)of[1][a],
                               (int32_t)of[2][b], (int32_t)of[3][t]);

                    if (of[3][t] == 0)
                        continue;
                    CLAIM(is(then, later, at + 4u, x));
                    CLAIM(is(then, later, at + 5u, x));
                }
    }
}

static void claim_moment(const moment *m, const words *later)
{
    const uint32_t waiting = m->q.head - m->q.tail;
    uint32_t i, ends = 0;

    if (m->q.flush)
        return;
    CLAIM(waiting <= FT_RING && (!m->forgets || waiting == 0));
    for (i = 0; i < waiting; i++) {
        const uint32_t slot = (m->q.tail + i) & (FT_RING - 1u);

        CLAIM(is(&m->held, later, slot, (ft_turn)m->id[slot]));
        ends += (m->flags[slot] & FT_KNOT_END) != 0 ? 1u : 0u;
    }
    CLAIM(m->q.ends - m->q.ended == ends
          || (m->pushes && m->q.ends - m->q.ended == ends + 1u));
    claim_opening(m, later, AFTER);
    claim_opening(m, later, AFTER + 6u);
}

static void claim_entry(moment *m, const words *later)
{
    const ft_turn first = (ft_turn)m->id[m->q.tail & (FT_RING - 1u)];

    if (!m->seen && !m->q.flush && m->q.head != m->q.tail
        && m->q.entered == FT_QUEUE_MARK(m->q.tail)) {
        CLAIM(is(&m->held, later, BEGINS, first));
        CLAIM(is(&m->held, later, ENTRY, first));
    }
    m->seen = true;
}

/* Check the moments since the last barrier. At this point all stores before the
 * barrier are known. */
static void look(void)
{
    const words later = all();
    uint32_t i;

    for (i = 0; i < n_moments; i++) {
        claim_moment(&moments[i], &later);
        claim_entry(&moments[i], &later);
    }
    n_moments = 0;
}

static void barrier(void)
{
    if (starts)
        return;
    look();
    since = all();
}

static uint32_t buffered(void)
{
    return q.head - q.tail;
}

/* Model the start of a motion by a tick. The tick uses the entry, and computes
 * it if the main loop has not. No later tick reads this entry. */
static void start(void)
{
    const words before = all();
    words after;
    uint32_t i;

    for (i = 0; i < n_moments; i++)
        claim_entry(&moments[i], &before);
    ft_queue_prepare_entry(&q);
    after = all();
    CLAIM(after.at[BEGINS] == (ft_turn)id[q.tail & (FT_RING - 1u)]);
    CLAIM(after.at[ENTRY] == after.at[BEGINS]);
    started = true;
}

/* Model a tick that completes a segment, starts a motion, or discards a motion.
 * No motion is played from start to end during one call of the main loop. */
static void act(void)
{
    const uint8_t now = flags[q.tail & (FT_RING - 1u)];
    const uint32_t what = choose(4);

    if (what == 0 || q.flush)
        return;
    actions--;
    if (what == 1u) {
        q.flush = true;
    } else if (what == 2u && buffered() != 0) {
        q.ended += (now & FT_KNOT_END) != 0 ? 1u : 0u;
        q.tail++;
    } else if (buffered() != 0 && q.tail == begun
               && (now & FT_KNOT_START) != 0) {
        const uint32_t left = actions;

        actions = 0;
        starts = true;
        start();
        starts = false;
        actions = left;
    }
}

/* A tick may interrupt the main loop here. */
static void struck(void)
{
    moment *m;

    if (starts)
        return;
    if (actions != 0)
        act();
    m = &moments[n_moments++];
    CLAIM(n_moments < 64u);
    m->held = all();
    memcpy(&m->q, &q, sizeof q);
    m->seen = started;
    m->forgets = forgets;
    m->pushes = pushes;
    memcpy(m->id, id, sizeof id);
    memcpy(m->flags, flags, sizeof flags);
}

/* ---- formed numbers ------------------------------------------------------ */

#define FORM(word, x) \
    ((word) = 0, struck(), (word) = (x), struck())

void ft_path_across(ft_target *t, ft_sample *next, const ft_segment *before,
                    const ft_segment *after, const ft_crossing *step)
{
    const ft_turn x = formed((uint32_t)before->joint[0].q0,
                             (uint32_t)after->joint[0].q0, step->from,
                             step->boundary, step->to);

    FORM(t->q[0], x);
    FORM(next->q[0], x);
}

void ft_path_change_across(ft_real du[FT_JOINTS], ft_real bend[FT_JOINTS],
                           const ft_segment *before, const ft_segment *after,
                           int32_t from, int32_t to) { }

void ft_path_place(ft_turn at[FT_JOINTS], const ft_segment *g, int32_t place)
{
    FORM(at[0], g->joint[0].q0);
}

void ft_step_pairs(const ft_turn at[FT_JOINTS], ft_pair pairs[FT_STEP_PAIRS])
{
    FORM(pairs[0].c, (ft_real)at[0]);
}

/* ---- the main loop ------------------------------------------------------- */

/* Write a segment into the slot, word by word. */
static void lay(uint32_t n)
{
    ft_segment *g = ft_queue_slot(&q);
    const uint32_t slot = q.head & (FT_RING - 1u);

    FORM(g->joint[0].q0, (ft_turn)++ids);
    g->flags = n == 0 ? 0u : n == 1u ? FT_KNOT_START : FT_KNOT_END;
    id[slot] = ids;
    flags[slot] = g->flags;
}

enum { FORGET = 6 };

/* Make one call of the main loop. If the tick has requested that the path be
 * discarded, the call discards it. */
static void call(void)
{
    const ft_knot knot = { { 0 }, { 0 }, { 0 } };
    const uint32_t what = q.flush ? FORGET : choose(7);
    ft_crossing step = steps[what & 1u];

    begun = q.tail;
    if (what < 3u && buffered() < FT_RING) { /* proved by knots_full */
        look(); /* without space, nothing has been stored yet */
        pushes = true;
        lay(what);
        ft_queue_push(&q, &knot);
        pushes = false;
    } else if (what == 3u || what == 4u) {
        step.segment = q.tail + 1u + choose(2);
        if (step.segment - q.tail < buffered()) /* proved by motion_prepare */
            ft_queue_prepare(&q, &step);
    } else if (what == 5u && buffered() != 0) {
        ft_queue_prepare_entry(&q);
    } else if (what == FORGET) {
        forgets = q.flush;
        ft_queue_idle(&q);
        struck();
        forgets = false;
    }
}

/* ---- any state ----------------------------------------------------------- */

/* Make an opening, which may be empty, computed, or left over from a discarded
 * path. */
static void any_opening(uint32_t i)
{
    ft_opening *o = &q.openings[i];
    const uint32_t on = choose(4) * 2u + ((q.tail ^ i) & 1u);
    const uint32_t segment = q.tail + on;
    const bool waits = on > 0 && on < buffered();

    memset(o, 0, sizeof *o);
    if (on > 5u)
        return;
    o->of = steps[0];
    o->of.segment = segment;
    if (waits)
        o->target.q[0] = formed(id[(segment - 1u) & (FT_RING - 1u)],
                                id[segment & (FT_RING - 1u)], o->of.from,
                                o->of.boundary, o->of.to);
    o->next.q[0] = o->target.q[0];
}

static void any_state(void)
{
    const uint32_t tail = choose(2) == 0 ? 2u : UINT32_MAX;
    const uint32_t waiting = choose(FT_RING + 1u);
    const uint32_t entered = choose(3);
    uint32_t i;

    memset(&q, 0, sizeof q);
    q.tail = tail;
    q.head = tail + waiting;
    ids = FT_RING;
    for (i = 0; i < FT_RING; i++) {
        id[i] = i + 1u;
        flags[i] = 0;
        q.ring[i].joint[0].q0 = (ft_turn)id[i];
    }
    if (waiting > 0 && choose(2) != 0)
        flags[tail & (FT_RING - 1u)] = FT_KNOT_START;
    if (waiting > 1u && choose(2) != 0) {
        flags[(q.head - 1u) & (FT_RING - 1u)] = FT_KNOT_END;
        q.ends = 1;
    }
    for (i = 0; i < FT_RING; i++)
        q.ring[i].flags = flags[i];
    q.flush = choose(2) != 0;
    if (entered == 1u && waiting > 0) {
        q.entered = FT_QUEUE_MARK(tail);
        q.begins[0] = (ft_turn)id[tail & (FT_RING - 1u)];
        q.entry[0].c = (ft_real)q.begins[0];
    } else if (entered == 2u) {
        q.entered = FT_QUEUE_MARK(tail - 1u);
    }
    any_opening(choose(2)); /* the two openings do not depend on each other */
    n_moments = 0;
    forgets = pushes = started = false;
    since = all();
}

/* A tick may interrupt the main loop after any store, for any order of the
 * stores that the C standard permits. In all cases every waiting segment is
 * complete. Numbers that are marked as computed are complete and belong to
 * existing segments. These numbers are for a step into a waiting segment, or
 * for the first pose of a motion. The count of complete waiting motions is
 * correct, or one too large while a motion is being completed. A discarded ring
 * is empty. The theorem holds for any two calls after any of these states,
 * while one tick completes a segment, starts a motion or discards it.
 * Assumes: a ring of four segments; space for every push, and computed numbers
 * only of waiting segments (knots_full, motion_prepare); and no motion that is
 * played from start to end during one call of the main loop.
 * Run: exhaust interrupts=ft_queue.c */
void prove_queue_struck(void)
{
    uint64_t runs = 0;

    do {
        any_state();
        actions = 1;
        call();
        call();
        struck();
        barrier();
        runs++;
    } while (another());
    NOTE("%llu runs", (unsigned long long)runs);
    END;
}
