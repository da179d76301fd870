/* A test program in which a bus is held dominant and released at any time. The
 * firmware's driver runs on a small model of the controller. bxCAN follows
 * RM0090: INAK follows INRQ, and clears after 11 recessive bits in a row
 * (32.4.2). Bus-off ends after 128 of these sequences, only in normal mode
 * (32.7.6). FDCAN follows RM0440 44.3.2: bus-off sets INIT. After the firmware
 * has cleared INIT, bus-off ends after 129 sequences. A bit lasts a
 * microsecond. */
#include "ft_registers.h"

#ifdef CAN1
static CAN_TypeDef at_can;
#undef CAN1
#undef CAN2
#define CAN1 (&at_can)
#define CAN2 (&at_can + 1)
enum { SEQUENCES = 128 };
#else
static FDCAN_TypeDef at_can;
#undef FDCAN1
#define FDCAN1 (&at_can)
enum { SEQUENCES = 129 };
#endif
static volatile uint32_t at_pending[8];
#undef NVIC_ISPR
#define NVIC_ISPR at_pending

#define FT_MAILBOXES FT_ROOM /* both files define this name */
#include "ft_buses.c"
#undef FT_MAILBOXES
#include "ft_can.c"
#include "driver_alone.h"

enum { SEQUENCE = 11 };

static struct {
    bool init, off, held;
    uint32_t run, seen; /* consecutive recessive bits; bits of sequences */
} node;

void ft_interrupt_enable(uint32_t number, uint32_t priority)
{
    (void)number;
    (void)priority;
}

#ifdef CAN1

static bool asked_in(void)
{
    return (at_can.MCR & CAN_MCR_INRQ) != 0;
}

static void show(void)
{
    at_can.MSR = node.init ? CAN_MSR_INAK : 0u;
    at_can.ESR = node.off ? CAN_ESR_BOFF : 0u;
}

#else

static bool asked_in(void)
{
    return (at_can.CCCR & FDCAN_CCCR_INIT) != 0;
}

static void show(void)
{
    at_can.PSR = (node.off ? FDCAN_PSR_BO : 0u)
                 | (node.init || node.off ? 0u : 1u << 3); /* ACT: idle */
}

#endif

/* Simulate bit times. */
static void pass(uint32_t bits)
{
    if (asked_in()) {
        node.init = true;
        node.run = node.seen = 0;
    } else if (node.held)
        node.run = 0;
    else {
        const uint32_t left = node.init ? SEQUENCE - node.run : 0u;

        if (bits < left)
            node.run += bits;
        else {
            node.init = false;
            node.seen += bits - left;
            node.off = node.off && node.seen < SEQUENCES * SEQUENCE;
        }
    }
    show();
}

/* Hold the bus until a time, us, then release it. off: the controller is in
 * bus-off; otherwise it has not started. Return the time from the release until
 * the controller takes part in the bus, us, or 0 if this takes longer than
 * `most`. */
uint32_t trial(bool off, uint32_t release, uint32_t most)
{
    static const ft_bus_queue empty;
    const uint32_t tick = 1000000u / FT_TICK_HZ;
    uint32_t now = 0;

    ft_queues[0] = empty;
#ifdef CAN1
    at_can.MCR = FT_AWAKE;
#else
    at_can.CCCR = ft_can_control(ft_can_table) | (off ? FDCAN_CCCR_INIT : 0u);
#endif
    node.init = !off;
    node.off = off;
    node.held = true;
    node.run = node.seen = 0;
    show();
    for (;;) {
        const bool lets_go = now < release && release <= now + tick;
        const uint32_t before = lets_go ? release - now : tick;

        ft_chip_bus_send(0, 0, 0);
        pass(before);
        if (lets_go) {
            node.held = false;
            pass(tick - before);
        }
        now += tick;
        if (!node.held && !ft_can_off(0))
            return now - release;
        if (now > release + most)
            return 0;
    }
}
