/* Quadrature encoders: timers in encoder mode 3 count every edge of both
 * inputs over their full range; positions come from wrapped differences, so
 * no count is lost at any turn or wrap. */
#include "ft_board.h" /* FT_ENCODERS, FT_ENCODER_FILTER */
#include "ft_chip.h"
#include "ft_parts.h"
#include "stm32f4_registers.h"

#if FT_ENCODER_COUNT > 0

typedef struct {
    TIM_TypeDef *timer; /* NULL: a joint without an encoder */
    uint32_t range;     /* 0xFFFF or 0xFFFFFFFF, the timer's width */
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

/* The timers of emulators know no encoders: they count time. */
int32_t ft_chip_encoder(uint32_t joint)
{
    if (FT_TOLERANT || joint >= FT_TABLE_SIZE || !ft_encoder_table[joint].timer)
        return 0;
    const ft_encoder *e = &ft_encoder_table[joint];
    uint32_t count = e->timer->CNT;
    uint32_t moved = count - ft_last_count[joint];
    ft_last_count[joint] = count;
    return e->range == 0xFFFFu ? (int16_t)(uint16_t)moved : (int32_t)moved;
}

#else /* a board without encoders */

bool ft_encoders_start(void)
{
    return true;
}

int32_t ft_chip_encoder(uint32_t joint)
{
    return FT_PIL ? ft_pil_moved(joint) : 0;
}

#endif
