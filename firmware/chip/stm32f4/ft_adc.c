/* Sets up the two converters, which share one clock. */
#include "ft_adc.h"

#include "ft_board.h" /* FT_SENSES, FT_CURRENTS */
#include "ft_parts.h"

#if defined(FT_SENSES) || defined(FT_CURRENTS)

/* A sequence of n channels uses the last n positions of the register. */
void ft_adc_prepare(ADC_TypeDef *adc, const uint8_t channels[], uint32_t count,
                    uint32_t cycles, uint32_t flags)
{
    uint32_t sequence = (count - 1u) << ADC_JSQR_JL_Pos;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t channel = channels[i];
        sequence |= channel << (5u * (4u - count + i));
        if (channel >= 10u)
            ft_field(&adc->SMPR1, channel - 10u, 3, cycles);
        else
            ft_field(&adc->SMPR2, channel, 3, cycles);
    }
    ADC_CCR = ADC_CCR_DIV4; /* 21 MHz */
    adc->CR1 = ADC_CR1_SCAN | flags;
    adc->JSQR = sequence;
    adc->CR2 = ADC_CR2_ADON;
    ft_wait_us(3);
}

#endif
