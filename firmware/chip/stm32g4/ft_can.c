/* FDCAN driver: the STM32G4's CAN and CAN FD controllers. Each has three
 * transmit buffers, lowest identifier first, and a FIFO for three frames. A
 * frame without acknowledgement is repeated until it is cancelled. After too
 * many errors a controller stays in initialisation until a request. */
#include <string.h>

#include "ft_board.h" /* FT_BUS_ROWS */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

enum { FT_BUFFERS = 3 }; /* transmit buffers, and FIFO elements */
#define FT_ALL_BUFFERS 7u

typedef struct {
    FDCAN_TypeDef *can;
    uint32_t timing, data_timing; /* NBTP and DBTP; DBTP 0: classic CAN */
    uint32_t delay;               /* delay of the second sample point, TDCR */
} ft_can;

/* 1 if the controller can compensate its transmitter delay. The compensation
 * requires a time quantum of at most two clocks (M_CAN user's manual,
 * DBTP.DBRP). Longer bits are sampled late enough without compensation. */
#define FT_COMPENSATED(prescaler) ((prescaler) <= 2u)

#define FT_BUS(controller, prescaler, before, behind, jump, p, b, e, j) \
    { controller, \
      ((prescaler) - 1u) << FDCAN_NBTP_NBRP_Pos | \
          ((before) - 1u) << FDCAN_NBTP_NTSEG1_Pos | \
          ((behind) - 1u) << FDCAN_NBTP_NTSEG2_Pos | \
          ((jump) - 1u) << FDCAN_NBTP_NSJW_Pos, \
      (p) == 0u ? 0u \
                : ((p) - 1u) << FDCAN_DBTP_DBRP_Pos | \
                      ((b) - 1u) << FDCAN_DBTP_DTSEG1_Pos | \
                      ((e) - 1u) << FDCAN_DBTP_DTSEG2_Pos | \
                      ((j) - 1u) << FDCAN_DBTP_DSJW_Pos | \
                      (FT_COMPENSATED(p) ? FDCAN_DBTP_TDC : 0u), \
      FT_COMPENSATED(p) ? (p) * (1u + (b)) << FDCAN_TDCR_TDCO_Pos : 0u },
static const ft_can ft_can_table[] = { FT_BUS_ROWS };
#undef FT_BUS

/* ---- frame lengths, ISO 11898-1, table 5 -------------------------------- */

enum { FT_WORDS = FT_FRAME_BYTES / 4 };

#if FT_FRAME_BYTES > 8

/* Number of bytes of a CAN FD frame for each length code DLC. */
static const uint8_t ft_can_sizes[] = { 0, 1,  2,  3,  4,  5,  6,  7,
                                        8, 12, 16, 20, 24, 32, 48, 64 };

/* Return the length code of the shortest frame with at least `size` bytes. */
static uint32_t ft_can_code(uint32_t size)
{
    uint32_t code = 0;
    while (code < 15u && ft_can_sizes[code] < size)
        code++;
    return code;
}

/* Return a received frame's bytes. Classic CAN's codes above 8 mean 8. */
static uint32_t ft_can_size(uint32_t control)
{
    uint32_t code = control >> FDCAN_DLC_Pos & 15u;
    if (code > 8u && (control & FDCAN_DLC_FDF) == 0)
        return 8u;
    return ft_can_sizes[code];
}

#else

/* Up to 8 bytes the length code equals the size. A frame with a larger code
 * comes from no drive of this mechanism. */
#define ft_can_code(size) (size)
#define ft_can_size(control) ((control) >> FDCAN_DLC_Pos & 15u)

#endif

/* ---- The controllers ----------------------------------------------------- */

/* Return the message memory of a controller. */
static FDCAN_Memory_TypeDef *ft_can_memory(const ft_can *c)
{
    uint32_t index = (uint32_t)(uintptr_t)c->can >> 10 & 3u;
    return FDCAN_MEMORY + (index - 1u); /* 6400, 6800, 6C00 */
}

/* Return the value of the control register for normal operation. */
static uint32_t ft_can_control(const ft_can *c)
{
    return c->data_timing != 0 ? FDCAN_CCCR_FDOE | FDCAN_CCCR_BRSE : 0u;
}

/* Clear a controller's message memory, which is random after power-on. */
static void ft_can_clear(const ft_can *c)
{
    volatile uint32_t *words = ft_can_memory(c)->FILTERS;
    for (uint32_t i = 0; i < FDCAN_MEMORY_WORDS; i++)
        words[i] = 0;
}

/* Start a controller. The controller joins the bus at the next idle time,
 * without waiting here. On the fall-back oscillator it stays off, since CAN
 * needs an accurate clock. There are no filters: code above this driver counts
 * frames from unknown drives. */
bool ft_can_start(uint32_t bus)
{
    const ft_can *c = &ft_can_table[bus];
    FDCAN_TypeDef *can = c->can;
    if (!ft_clock_good() || FT_TOLERANT)
        return true;
    RCC->CCIPR = (RCC->CCIPR & ~RCC_CCIPR_FDCANSEL) | RCC_CCIPR_FDCANSEL_PCLK1;
    can->CCCR = FDCAN_CCCR_INIT;
    if (!ft_wait_for(&can->CCCR, FDCAN_CCCR_INIT, FDCAN_CCCR_INIT))
        return false;
    can->CCCR = FDCAN_CCCR_INIT | FDCAN_CCCR_CCE;
    can->CCCR = FDCAN_CCCR_INIT | FDCAN_CCCR_CCE | ft_can_control(c);
    can->NBTP = c->timing;
    if (c->data_timing != 0) {
        can->DBTP = c->data_timing;
        can->TDCR = c->delay;
    }
    ft_can_clear(c);
    can->TXBC = FDCAN_TXBC_TFQM;
    can->TXBTIE = FT_ALL_BUFFERS;
    can->TXBCIE = FT_ALL_BUFFERS;
    can->IE = FDCAN_IE_RF0NE | FDCAN_IE_TCE | FDCAN_IE_TCFE;
    can->ILE = FDCAN_ILE_EINT0;
    can->CCCR = ft_can_control(c);
    return true;
}

void ft_can_acknowledge(uint32_t bus)
{
    ft_can_table[bus].can->IR = FDCAN_IR_RF0N | FDCAN_IR_TC | FDCAN_IR_TCF;
}

/* Return the identifier in the layout of a buffer. */
static uint32_t ft_can_id(const ft_frame *f)
{
    uint32_t number = f->id & FT_FRAME_NUMBER;
    uint32_t remote = (f->id & FT_FRAME_REMOTE) != 0 ? FDCAN_ID_RTR : 0u;
    if ((f->id & FT_FRAME_LONG) != 0)
        return number | FDCAN_ID_XTD | remote;
    return number << FDCAN_ID_STD_Pos | remote;
}

bool ft_can_put(uint32_t bus, const ft_frame *f)
{
    const ft_can *c = &ft_can_table[bus];
    uint32_t status = c->can->TXFQS, words[FT_WORDS];
    uint32_t index = status >> FDCAN_TXFQS_TFQPI_Pos & 3u;
    if ((status & FDCAN_TXFQS_TFQF) != 0 || index >= FT_BUFFERS)
        return false;
    FDCAN_Element_TypeDef *to = &ft_can_memory(c)->T[index];
    memcpy(words, f->data, sizeof words);
    to->ID = ft_can_id(f);
    to->DLC = ft_can_code(f->size) << FDCAN_DLC_Pos |
              (c->data_timing != 0 ? FDCAN_DLC_FDF | FDCAN_DLC_BRS : 0u);
    for (uint32_t i = 0; i < FT_WORDS; i++)
        to->DATA[i] = words[i];
    c->can->TXBAR = 1u << index;
    return true;
}

/* Take the oldest frame, cut to the first bytes that a drive can send. */
bool ft_can_get(uint32_t bus, ft_frame *f)
{
    const ft_can *c = &ft_can_table[bus];
    uint32_t status = c->can->RXF0S;
    uint32_t index = status >> FDCAN_RXF0S_F0GI_Pos & 3u;
    if ((status & FDCAN_RXF0S_F0FL) == 0 || index >= FT_BUFFERS)
        return false;
    const FDCAN_Element_TypeDef *from = &ft_can_memory(c)->R0[index];
    uint32_t id = from->ID;
    uint32_t words[FT_WORDS];
    for (uint32_t i = 0; i < FT_WORDS; i++)
        words[i] = from->DATA[i];
    f->size = ft_can_size(from->DLC);
    f->id = (id & FDCAN_ID_XTD) != 0
                ? (id & 0x1FFFFFFFu) | FT_FRAME_LONG
                : id >> FDCAN_ID_STD_Pos & 0x7FFu;
    if ((id & FDCAN_ID_RTR) != 0)
        f->id |= FT_FRAME_REMOTE;
    memcpy(f->data, words, sizeof words);
    c->can->RXF0A = index;
    return true;
}

bool ft_can_overrun(uint32_t bus)
{
    FDCAN_TypeDef *can = ft_can_table[bus].can;
    if ((can->IR & FDCAN_IR_RF0L) == 0)
        return false;
    can->IR = FDCAN_IR_RF0L; /* write 1 to clear */
    return true;
}

void ft_can_abort(uint32_t bus)
{
    ft_can_table[bus].can->TXBCR = FT_ALL_BUFFERS;
}

uint32_t ft_can_waiting(uint32_t bus)
{
    uint32_t pending = ft_can_table[bus].can->TXBRP, waiting = 0;
    for (uint32_t i = 0; i < FT_BUFFERS; i++)
        waiting += pending >> i & 1u;
    return waiting;
}

/* Return whether the controller is off the bus, or has seen no idle time. */
bool ft_can_off(uint32_t bus)
{
    const FDCAN_TypeDef *can = ft_can_table[bus].can;
    uint32_t status = can->PSR;
    return (can->CCCR & FDCAN_CCCR_INIT) != 0 ||
           (status & FDCAN_PSR_BO) != 0 || (status & FDCAN_PSR_ACT) == 0;
}

/* Leave initialisation after the controller has entered it. The controller then
 * waits for 129 times 11 idle bits on the bus. */
void ft_can_recover(uint32_t bus, bool enter)
{
    const ft_can *c = &ft_can_table[bus];
    if (!enter && ft_clock_good())
        c->can->CCCR = ft_can_control(c);
}

uint32_t ft_can_errors(uint32_t bus)
{
    uint32_t errors = ft_can_table[bus].can->ECR;
    uint32_t receiving = (errors & FDCAN_ECR_RP) != 0 /* the count is at its
                                                       * end */
                             ? 128u
                             : errors >> FDCAN_ECR_REC_Pos & 0x7Fu;
    return (errors >> FDCAN_ECR_TEC_Pos & 0xFFu) | receiving << 8;
}
