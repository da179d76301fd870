/* The converter of the motors' currents: ADC1, whose sequence the update of
 * TIM1 starts. */
#include "ft_board.h" /* FT_CURRENTS */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_CURRENTS

/* Let it take the channels one after another, each sampled for 0.7 us, when
 * the timer says so; of n places in the sequence the last n count. */
bool ft_sampling_start(const uint8_t channels[], uint32_t count)
{
    uint32_t sequence = (count - 1u) << ADC_JSQR_JL_Pos;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t channel = channels[i];
        sequence |= channel << (5u * (4u - count + i));
        if (channel >= 10u)
            ft_field(&ADC1->SMPR1, channel - 10u, 3, ADC_SMPR_15_CYCLES);
        else
            ft_field(&ADC1->SMPR2, channel, 3, ADC_SMPR_15_CYCLES);
    }
    ADC_CCR = ADC_CCR_DIV4; /* 21 MHz */
    ADC1->CR1 = ADC_CR1_SCAN | ADC_CR1_JEOCIE;
    ADC1->JSQR = sequence;
    ADC1->CR2 = ADC_CR2_ADON;
    ft_wait_us(3);
    return true;
}

void ft_sampling_run(void)
{
    ADC1->CR2 = ADC_CR2_ADON | ADC_CR2_JEXTSEL_TIM1_TRGO |
                ADC_CR2_JEXTEN_RISING;
}

void ft_sampling_take(uint32_t counts[], uint32_t count)
{
    ADC1->SR = ADC_SR_FLAGS & ~ADC_SR_JEOC; /* write 0 to clear */
    for (uint32_t i = 0; i < count; i++)
        counts[i] = ADC1->JDR[i];
}

#endif
