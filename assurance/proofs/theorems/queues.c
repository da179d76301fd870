/* The queues between the control tick and the bus controllers,
 * chip/stm32/ft_buses.c.
 *
 * One invariant, well(), holds at the start. Two functions keep the invariant:
 * the interrupt of a bus, which moves frames in both directions, and the tick,
 * which queues frames and takes received frames. So each function is proved
 * separately, for any state that keeps the invariant. Controllers may have no
 * free mailbox, and may have received no frames. */
#include "proof.h"

#include "peripherals.h"

static const ft_frame *handed[3]; /* passed to a controller, in order */
static uint32_t puts, gets, aborts;
static ft_frame came[3];          /* frames that a controller has received */

bool ft_can_start(uint32_t bus)
{
    CLAIM(bus < FT_BUS_COUNT);
    return nondet_bool();
}

void ft_can_acknowledge(uint32_t bus) { CLAIM(bus < FT_BUS_COUNT); }
bool ft_can_overrun(uint32_t bus) { return bus == 0u && nondet_bool(); }
bool ft_can_off(uint32_t bus) { return bus == 0u && nondet_bool(); }
void ft_can_recover(uint32_t bus, bool enter)
{
    CLAIM(bus < FT_BUS_COUNT);
}
uint32_t ft_can_errors(uint32_t bus) { return bus + nondet_u32(); }

bool ft_can_put(uint32_t bus, const ft_frame *f)
{
    CLAIM(bus < FT_BUS_COUNT && puts < 3u && __CPROVER_r_ok(f, sizeof *f));
    if (nondet_bool())
        return false;
    handed[puts++] = f;
    return true;
}

bool ft_can_get(uint32_t bus, ft_frame *f)
{
    CLAIM(bus < FT_BUS_COUNT && gets < 3u);
    if (nondet_bool())
        return false;
    *f = came[gets++];
    return true;
}

void ft_can_abort(uint32_t bus)
{
    CLAIM(bus < FT_BUS_COUNT && puts == 0u); /* before new frames are sent */
    aborts++;
}

uint32_t ft_can_waiting(uint32_t bus)
{
    const uint32_t waiting = nondet_u32();

    CLAIM(bus < FT_BUS_COUNT);
    GIVEN(waiting <= 3u); /* proved by can_asked */
    return waiting;
}

#include "ft_buses.c"

/* One of the queues, which are all equal. */
static ft_bus_queue *const q = &ft_queues[0];

static bool well(void)
{
    return q->next <= q->count && q->count <= FT_BUS_MOST
           && q->written - q->read <= FT_KEPT;
}

static void any_state(void)
{
    ANYTHING(ft_queues);
    ANYTHING(came);
    GIVEN(well());
}

static bool same(const ft_frame *a, const ft_frame *b)
{
    uint32_t i;
    bool all = a->id == b->id && a->size == b->size;

    for (i = 0; i < 8u; i++)
        all = all && a->data[i] == b->data[i];
    return all;
}

/* The interrupt of a bus appends received frames to the waiting frames, in
 * order, for any total count of frames. Waiting frames do not change. A frame
 * for which there is no space is counted.
 * Run: unwind=9 mechanisms=can:three */
void prove_queue_listens(void)
{
    const uint32_t n = nondet_u32(), k = below(3u);
    uint32_t written, waits;
    uint16_t overruns;
    ft_frame was;

    any_state();
    written = q->written;
    waits = written - q->read;
    overruns = q->overruns;
    GIVEN(n < waits);
    was = q->in[(q->read + n) % FT_KEPT];
    ft_bus_listen(q, 0);
    CLAIM(well() && q->written - q->read >= waits);
    CLAIM(same(&q->in[(q->read + n) % FT_KEPT], &was));
    CLAIM(q->written - written <= gets);
    CLAIM(k >= q->written - written
          || same(&q->in[(written + k) % FT_KEPT], &came[k]));
    CLAIM(q->overruns != overruns || q->written - written == gets);
    END;
}

/* Frames are passed to the controller in the order in which they were queued,
 * each once. Only frames of the last tick are sent. Older frames that have not
 * been sent are cancelled first.
 * Run: unwind=9 mechanisms=can:robomaster,can:three,can:fd */
void prove_queue_sends(void)
{
    const uint32_t k = nondet_u32();
    uint32_t next;
    bool fresh;

    any_state();
    next = q->next;
    fresh = q->fresh;
    ft_bus_0_interrupt();
    CLAIM(well() && !q->fresh && aborts == (fresh ? 1u : 0u));
    CLAIM(q->next == next + puts);
    CLAIM(k >= puts || handed[k] == &q->out[next + k]);
    END;
}

/* The tick queues one frame for each drive, unchanged, and takes received
 * frames from the oldest on, each once.
 * Run: unwind=10 mechanisms=can:robomaster,can:three,can:fd */
void prove_queue_tick(void)
{
    const uint32_t count = nondet_u32(), k = nondet_u32();
    ft_frame frames[FT_BUS_MOST], one, oldest;
    uint32_t waits, read;
    ft_bus_health h;

    any_state();
    ANYTHING(frames);
    waits = q->written - q->read;
    read = q->read;
    oldest = q->in[read % FT_KEPT];
    switch (nondet_u8() % 3u) {
    case 0:
        GIVEN(count <= FT_BUS_MOST && k < count); /* proved by bus_commands */
        ft_chip_bus_send(0, frames, count);
        CLAIM(q->count == count && q->next == 0u && q->fresh);
        CLAIM(same(&q->out[k], &frames[k]));
        CLAIM(q->written - q->read == waits);
        break;
    case 1:
        CLAIM(ft_chip_bus_take(0, &one) == (waits != 0u));
        CLAIM(waits == 0u || (same(&one, &oldest) && q->read == read + 1u));
        CLAIM(waits != 0u || q->read == read);
        break;
    default:
        ft_chip_bus_health(0, &h);
        CLAIM(h.stale == q->stale && h.off == (q->ticks_off > 1u));
        (void)ft_chip_buses_start();
    }
    CLAIM(well());
    END;
}
