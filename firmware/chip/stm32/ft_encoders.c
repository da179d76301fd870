/* Quadrature encoders: timers in mode 3 count each edge of both inputs.
 * Positions are sums of wrapped differences, so wraps lose no count. */
#include "ft_board.h" /* FT_ENCODERS, FT_ENCODER_FILTER */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#if FT_ENCODER_COUNT > 0

typedef struct {
    TIM_TypeDef *timer; /* NULL for a joint without an encoder */
    uint32_t range;     /* 0xFFFF or 0xFFFFFFFF, by the timer's width */
} ft_encoder;

#define FT_ENCODER(timer, range) { timer, range },
static const ft_encoder ft_encoder_table[] = { FT_ENCODERS };
#undef FT_ENCODER
enum { FT_TABLE_SIZE = sizeof ft_encoder_table / sizeof ft_encoder_table[0] };

static uint32_t ft_last_count[FT_TABLE_SIZE];

/* Let one timer count. */
static bool ft_encoder_start(const ft_encoder *e)
{
    TIM_TypeDef *timer = e->timer;
    timer->ARR = e->range;
    timer->CCMR1 = TIM_CCMR1_CC1S_TI1 | TIM_CCMR1_CC2S_TI2 |
                   FT_ENCODER_FILTER << TIM_CCMR1_IC1F_Pos |
                   FT_ENCODER_FILTER << TIM_CCMR1_IC2F_Pos;
    timer->SMCR = TIM_SMCR_SMS_ENCODER3;
    timer->CNT = 0;
    timer->CR1 = TIM_CR1_CEN;
    return timer->ARR == e->range;
}

bool ft_encoders_start(void)
{
    bool good = true;
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++) {
        if (ft_encoder_table[i].timer)
            good = ft_encoder_start(&ft_encoder_table[i]) && good;
    }
    return good;
}

/* Return the counts of one encoder since the last call. */
static inline int32_t ft_encoder_moved(uint32_t i)
{
    const ft_encoder *e = &ft_encoder_table[i];
    uint32_t count = e->timer->CNT;
    uint32_t moved = count - ft_last_count[i];
    ft_last_count[i] = count;
    return e->range == 0xFFFFu ? (int16_t)(uint16_t)moved : (int32_t)moved;
}

/* In emulators, the timers have no encoder mode. In emulators the timers count
 * time, so this function ignores their counts. */
void ft_chip_encoders(int32_t counts[])
{
    FT_FOLDED
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++)
        counts[i] = FT_TOLERANT || !ft_encoder_table[i].timer
                        ? 0 : ft_encoder_moved(i);
    ft_currents_moved(counts);
}

/* Index pulses. */
enum { FT_NO_INDEX = 16 };

typedef struct {
    uint8_t port, pin;
} ft_index;

#define FT_INDEX(port, pin) { port, pin },
static const ft_index ft_index_table[] = { FT_INDEXES };
#undef FT_INDEX

bool ft_chip_index(uint32_t joint)
{
    const ft_index *x = &ft_index_table[joint];
    return x->pin != FT_NO_INDEX && ft_pin_high(x->port, x->pin);
}

#else /* for boards without encoders */

#include "ft_model.h" /* FT_JOINTS */

bool ft_encoders_start(void)
{
    return true;
}

void ft_chip_encoders(int32_t counts[])
{
    for (uint32_t i = 0; i < FT_JOINTS; i++)
        counts[i] = FT_PIL ? ft_pil_moved(i) : 0;
}

bool ft_chip_index(uint32_t joint)
{
    (void)joint;
    return false;
}

#endif
