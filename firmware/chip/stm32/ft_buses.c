/* Buses of drives: queues between the control tick and the bus controllers.
 *
 * A controller has room for three frames in each direction, and a bus may have
 * seven drives. Frames wait in a queue until the interrupt passes them to the
 * controller. The interrupt has a higher priority than the tick. The interrupt
 * therefore reads received frames before the controller's FIFO overflows. Only
 * the interrupt accesses the mailboxes. The tick stores frames and triggers the
 * interrupt. */
#include "ft_board.h" /* FT_BUS_COUNT, FT_BUS_MOST */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_model.h" /* FT_TICK_HZ */
#include "ft_registers.h"

enum { FT_KEPT = 32, /* received frames to keep, a power of two */
       FT_RECOVERY_TICKS = FT_TICK_HZ / 10 + 2,
       FT_MAILBOXES = 3 };

typedef struct {
    ft_frame out[FT_BUS_MOST];
    volatile uint32_t count, next; /* frames to send; index of the next */
    volatile bool fresh;           /* frames in the controller are outdated */
    ft_frame in[FT_KEPT];
    volatile uint32_t written, read; /* numbers of frames, wrap */
    volatile uint16_t overruns;
    uint16_t stale, offs;
    uint32_t ticks_off;
} ft_bus_queue;

static ft_bus_queue ft_queues[FT_BUS_COUNT];

static const uint8_t ft_interrupts[] = { FT_BUS_INTERRUPTS };
enum { FT_INTERRUPT_COUNT = sizeof ft_interrupts / sizeof ft_interrupts[0],
       FT_INTERRUPTS_EACH = FT_INTERRUPT_COUNT / FT_BUS_COUNT };

bool ft_chip_buses_start(void)
{
    bool good = true;
    for (uint32_t bus = 0; bus < FT_BUS_COUNT; bus++)
        good = ft_can_start(bus) && good;
    for (uint32_t i = 0; i < FT_INTERRUPT_COUNT; i++)
        ft_interrupt_enable(ft_interrupts[i], FT_PRIORITY_BUS);
    return good;
}

/* ---- The interrupt ------------------------------------------------------ */

/* Move received frames to the queue. */
static void ft_bus_listen(ft_bus_queue *q, uint32_t bus)
{
    ft_frame f;
    for (uint32_t i = 0; i < FT_MAILBOXES && ft_can_get(bus, &f); i++) {
        if (q->written - q->read == FT_KEPT) {
            q->overruns++;
            continue;
        }
        q->in[q->written % FT_KEPT] = f;
        q->written++;
    }
    if (ft_can_overrun(bus))
        q->overruns++;
}

/* Pass waiting frames to the controller while the controller has room. */
static void ft_bus_send_on(ft_bus_queue *q, uint32_t bus)
{
    if (q->fresh) {
        q->fresh = false;
        q->stale += (uint16_t)ft_can_waiting(bus);
        ft_can_abort(bus);
    }
    for (uint32_t i = 0; i < FT_MAILBOXES && q->next < q->count; i++) {
        if (!ft_can_put(bus, &q->out[q->next]))
            return;
        q->next++;
    }
}

static void ft_bus_serve(uint32_t bus)
{
    ft_can_acknowledge(bus);
    ft_bus_listen(&ft_queues[bus], bus);
    ft_bus_send_on(&ft_queues[bus], bus);
}

void ft_bus_0_interrupt(void)
{
    ft_bus_serve(0);
}

#if FT_BUS_COUNT > 1
void ft_bus_1_interrupt(void)
{
    ft_bus_serve(1);
}
#endif

#if FT_BUS_COUNT > 2
void ft_bus_2_interrupt(void)
{
    ft_bus_serve(2);
}
#endif

/* ---- functions of the tick ---------------------------------------------- */

/* Keep the compiler from moving loads and stores across this line: frames are
 * not volatile, but the interrupt uses them. */
#define FT_IN_ORDER() __asm__ volatile("" ::: "memory")

/* Pend the interrupt of a bus. */
static void ft_bus_ask(uint32_t bus)
{
    uint32_t number = ft_interrupts[bus * FT_INTERRUPTS_EACH];
    __asm__ volatile("dmb" ::: "memory");
    NVIC_ISPR[number / 32u] = 1u << (number % 32u);
}

/* Restart a controller that has left the bus. Every tenth of a second, put the
 * controller into initialisation for one tick. The request works in any state
 * of the controller. */
static void ft_bus_recover(ft_bus_queue *q, uint32_t bus)
{
    if (!ft_can_off(bus)) {
        q->ticks_off = 0;
        return;
    }
    if (q->ticks_off == 0)
        q->offs++;
    uint32_t tick = q->ticks_off % FT_RECOVERY_TICKS;
    if (tick < 2u)
        ft_can_recover(bus, tick == 0);
    q->ticks_off++;
}

void ft_chip_bus_send(uint32_t bus, const ft_frame frames[], uint32_t count)
{
    ft_bus_queue *q = &ft_queues[bus];
    ft_bus_recover(q, bus);
    uint32_t left = q->count;
    q->count = 0; /* from here the interrupt sends no old frame */
    FT_IN_ORDER();
    q->stale += (uint16_t)(left - q->next);
    for (uint32_t i = 0; i < count && i < FT_BUS_MOST; i++)
        q->out[i] = frames[i];
    FT_IN_ORDER();
    q->next = 0;
    q->fresh = true;
    q->count = count < FT_BUS_MOST ? count : FT_BUS_MOST;
    ft_bus_ask(bus);
}

bool ft_chip_bus_take(uint32_t bus, ft_frame *frame)
{
    ft_bus_queue *q = &ft_queues[bus];
    if (q->read == q->written)
        return false;
    FT_IN_ORDER();
    *frame = q->in[q->read % FT_KEPT];
    FT_IN_ORDER();
    q->read++;
    return true;
}

void ft_chip_bus_health(uint32_t bus, ft_bus_health *h)
{
    const ft_bus_queue *q = &ft_queues[bus];
    uint32_t errors = ft_can_errors(bus);
    h->off = q->ticks_off > 1u; /* a first tick waits for idle time */
    h->sending = (uint8_t)errors;
    h->receiving = (uint8_t)(errors >> 8);
    h->offs = q->offs;
    h->stale = q->stale;
    h->overruns = q->overruns;
}
