/* Functions of the main loop for the path; see ft_queue.h. */
#include "ft_queue.h"

/* Begin a motion at its first knot. */
void ft_queue_open(ft_queue *q, const ft_knot *start)
{
    q->last = *start;
    q->open = true;
    q->begun = FT_KNOT_START;
}

static ft_opening *opening(ft_queue *q, uint32_t segment)
{
    return &q->openings[segment & 1u];
}

/* Return the next segment's slot, hidden from the tick until the push. */
ft_segment *ft_queue_slot(ft_queue *q)
{
    return &q->ring[q->head & (FT_RING - 1u)];
}

/* Push the segment in the slot. The segment ends at this knot. */
void ft_queue_push(ft_queue *q, const ft_knot *knot)
{
    bool end = (ft_queue_slot(q)->flags & FT_KNOT_END) != 0;
    ft_opening *o = opening(q, q->head);

    if (o->of.segment == q->head)
        o->of.to = 0; /* of a path forgotten */
    q->last = *knot;
    q->open = !end;
    q->begun = 0;
    FT_STORED();
    q->ends += end ? 1u : 0u;
    q->head++;
}

/* Compute a segment's opening in advance, hidden from the tick. */
void ft_queue_prepare(ft_queue *q, const ft_crossing *step)
{
    const ft_segment *before = ft_queue_segment(q, step->segment - 1u);
    const ft_segment *after = ft_queue_segment(q, step->segment);
    ft_opening *o = opening(q, step->segment);

    if (ft_path_same(&o->of, step) || (after->flags & FT_KNOT_START) != 0)
        return;
    o->of.to = 0;
    FT_STORED();
    ft_path_across(&o->target, &o->next, before, after, step);
    ft_path_change_across(o->next.du, o->bend, before, after, step->from,
                          step->to);
    o->of.segment = step->segment;
    o->of.from = step->from;
    o->of.boundary = step->boundary;
    FT_STORED();
    o->of.to = step->to;
}

/* Give the positions at the start of a segment. */
static void beginning(const ft_segment *g, ft_turn q[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        q[j] = g->joint[j].q0;
}

/* Compute what START needs for the first pose of a motion. */
void ft_queue_prepare_entry(ft_queue *q)
{
    const ft_segment *first = ft_queue_tail(q);
    uint32_t mark = FT_QUEUE_MARK(q->tail);
    ft_turn at[FT_JOINTS];

    if (q->entered == mark || (first->flags & FT_KNOT_START) == 0)
        return;
    q->entered = 0;
    FT_STORED();
    beginning(first, at);
    ft_step_pairs(at, q->entry);
    ft_path_place(q->begins, first, -FT_HALF_ONE);
    FT_STORED();
    q->entered = mark;
}

/* Empty the ring if the tick has requested this. */
void ft_queue_idle(ft_queue *q)
{
    if (!q->flush)
        return;
    q->head = q->tail;
    q->ends = q->ended;
    q->open = false;
    q->entered = 0;
    FT_STORED();
    q->flush = false;
}
