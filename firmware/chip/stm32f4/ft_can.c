/* bxCAN driver: the STM32F4's CAN controllers. Each has three transmit
 * mailboxes, sent in the order of filling, and a FIFO for three frames. A frame
 * without acknowledgement is repeated until it is aborted. */
#include <string.h>

#include "ft_board.h" /* FT_BUS_ROWS */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

enum { FT_MAILBOXES = 3, FT_CAN2_FILTER = 14 };

/* Mailboxes are sent in the order of requests. A halted core stops them. */
#define FT_AWAKE (CAN_MCR_TXFP | CAN_MCR_DBF)

typedef struct {
    CAN_TypeDef *can;
    uint32_t timing; /* BTR */
} ft_can;

#define FT_BUS(controller, prescaler, before, behind, jump, p, b, e, j) \
    { controller, ((prescaler) - 1u) << CAN_BTR_BRP_Pos | \
                      ((before) - 1u) << CAN_BTR_TS1_Pos | \
                      ((behind) - 1u) << CAN_BTR_TS2_Pos | \
                      ((jump) - 1u) << CAN_BTR_SJW_Pos },
static const ft_can ft_can_table[] = { FT_BUS_ROWS };
#undef FT_BUS

/* Accept every frame: code above counts frames of unknown drives. */
static void ft_can_filter(uint32_t number)
{
    CAN1->FMR |= CAN_FMR_FINIT;
    CAN1->FS1R |= 1u << number; /* one 32-bit filter that accepts all */
    CAN1->FR[2u * number] = 0;
    CAN1->FR[2u * number + 1u] = 0;
    CAN1->FA1R |= 1u << number;
    CAN1->FMR &= ~CAN_FMR_FINIT;
}

/* Start a controller. The controller joins the bus at the next idle time on the
 * bus. No code waits for this. While the chip runs on its fall-back oscillator,
 * the controller stays off, since CAN needs an accurate clock. */
bool ft_can_start(uint32_t bus)
{
    CAN_TypeDef *can = ft_can_table[bus].can;
    if (!ft_clock_good() || FT_TOLERANT)
        return true;
    can->MCR = FT_AWAKE | CAN_MCR_INRQ;
    if (!ft_wait_for(&can->MSR, CAN_MSR_INAK, CAN_MSR_INAK))
        return false;
    can->BTR = ft_can_table[bus].timing;
    ft_can_filter(can == CAN2 ? (uint32_t)FT_CAN2_FILTER : 0u);
    can->IER = CAN_IER_TMEIE | CAN_IER_FMPIE0;
    can->MCR = FT_AWAKE;
    return true;
}

void ft_can_acknowledge(uint32_t bus)
{
    ft_can_table[bus].can->TSR = CAN_TSR_RQCP0 | CAN_TSR_RQCP1 | CAN_TSR_RQCP2;
}

/* Return the identifier in the layout of a mailbox. */
static uint32_t ft_can_id(const ft_frame *f)
{
    uint32_t number = f->id & FT_FRAME_NUMBER;
    uint32_t remote = (f->id & FT_FRAME_REMOTE) != 0 ? CAN_TI0R_RTR : 0u;
    if ((f->id & FT_FRAME_LONG) != 0)
        return number << CAN_TI0R_EXID_Pos | CAN_TI0R_IDE | remote;
    return number << CAN_TI0R_STID_Pos | remote;
}

bool ft_can_put(uint32_t bus, const ft_frame *f)
{
    CAN_TypeDef *can = ft_can_table[bus].can;
    uint32_t words[2];
    for (uint32_t i = 0; i < FT_MAILBOXES; i++) {
        if ((can->TSR & CAN_TSR_TME0 << i) == 0)
            continue;
        memcpy(words, f->data, sizeof words);
        can->T[i].DTR = f->size;
        can->T[i].DLR = words[0];
        can->T[i].DHR = words[1];
        can->T[i].IR = ft_can_id(f) | CAN_TI0R_TXRQ;
        return true;
    }
    return false;
}

/* Take the oldest frame. The FIFO releases a frame only some cycles after the
 * request, so wait for this release. */
bool ft_can_get(uint32_t bus, ft_frame *f)
{
    CAN_TypeDef *can = ft_can_table[bus].can;
    if ((can->RFR[0] & CAN_RFR_FMP) == 0)
        return false;
    uint32_t id = can->R[0].IR;
    uint32_t words[2] = { can->R[0].DLR, can->R[0].DHR };
    f->size = can->R[0].DTR & 15u;
    f->id = (id & CAN_TI0R_IDE) != 0
                ? id >> CAN_TI0R_EXID_Pos | FT_FRAME_LONG
                : id >> CAN_TI0R_STID_Pos;
    if ((id & CAN_TI0R_RTR) != 0)
        f->id |= FT_FRAME_REMOTE;
    memcpy(f->data, words, sizeof words);
    can->RFR[0] = CAN_RFR_RFOM;
    for (uint32_t turns = 16; turns != 0; turns--) {
        if ((can->RFR[0] & CAN_RFR_RFOM) == 0)
            break;
    }
    return true;
}

bool ft_can_overrun(uint32_t bus)
{
    CAN_TypeDef *can = ft_can_table[bus].can;
    if ((can->RFR[0] & CAN_RFR_FOVR) == 0)
        return false;
    can->RFR[0] = CAN_RFR_FOVR | CAN_RFR_FULL; /* write 1 to clear */
    return true;
}

void ft_can_abort(uint32_t bus)
{
    ft_can_table[bus].can->TSR = CAN_TSR_ABRQ0 | CAN_TSR_ABRQ1 | CAN_TSR_ABRQ2;
}

uint32_t ft_can_waiting(uint32_t bus)
{
    uint32_t status = ft_can_table[bus].can->TSR, waiting = 0;
    for (uint32_t i = 0; i < FT_MAILBOXES; i++)
        waiting += (status & CAN_TSR_TME0 << i) == 0 ? 1u : 0u;
    return waiting;
}

bool ft_can_off(uint32_t bus)
{
    const CAN_TypeDef *can = ft_can_table[bus].can;
    return (can->ESR & CAN_ESR_BOFF) != 0 ||
           (can->MSR & (CAN_MSR_INAK | CAN_MSR_SLAK)) != 0;
}

/* Request the start or end of initialisation. At its end the controller is off
 * the bus until idle time, or 129 times 11 idle bits after bus-off. On the
 * fall-back oscillator the controller stays in initialisation. */
void ft_can_recover(uint32_t bus, bool enter)
{
    CAN_TypeDef *can = ft_can_table[bus].can;
    bool leave = !enter && ft_clock_good();
    can->MCR = FT_AWAKE | (leave ? 0u : (uint32_t)CAN_MCR_INRQ);
}

uint32_t ft_can_errors(uint32_t bus)
{
    uint32_t errors = ft_can_table[bus].can->ESR;
    return (errors >> CAN_ESR_TEC_Pos & 0xFFu) |
           (errors >> CAN_ESR_REC_Pos & 0xFFu) << 8;
}
