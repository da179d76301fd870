/* The motors' currents are sampled by ADC1, started by TIM1's update. */
#include "ft_adc.h"
#include "ft_board.h" /* FT_CURRENTS */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_CURRENTS

/* Sample each channel for 0.7 us at the timer's trigger. */
bool ft_sampling_start(const uint8_t channels[], uint32_t count)
{
    ft_adc_prepare(ADC1, channels, count, ADC_SMPR_15_CYCLES, ADC_CR1_JEOCIE);
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
