/* Sets up the two converters, which share one clock. */
#include "ft_adc.h"

#include "ft_board.h" /* FT_SENSES, FT_CURRENTS */
#include "ft_parts.h"

#if defined(FT_SENSES) || defined(FT_CURRENTS)

/* Switch a converter on, and calibrate the converter's offset. The clock can be
 * selected only while both converters are off. */
bool ft_adc_wake(ADC_TypeDef *adc)
{
    if (ADC12_CCR != ADC_CCR_CKMODE_DIV4)
        ADC12_CCR = ADC_CCR_CKMODE_DIV4; /* 42.5 MHz */
    adc->CR = 0; /* out of deep power-down */
    adc->CR = ADC_CR_ADVREGEN;
    ft_wait_us(20);
    adc->CR = ADC_CR_ADVREGEN | ADC_CR_ADCAL;
    if (!ft_wait_for(&adc->CR, ADC_CR_ADCAL, 0))
        return false;
    ft_wait_us(1); /* four of its clocks */
    adc->ISR = ADC_ISR_ADRDY; /* write 1 to clear */
    adc->CR = ADC_CR_ADVREGEN | ADC_CR_ADEN;
    return ft_wait_for(&adc->ISR, ADC_ISR_ADRDY, ADC_ISR_ADRDY);
}

/* Set the sampling time of a channel in cycles, ADC_SMPR_. */
void ft_adc_sampling(ADC_TypeDef *adc, uint32_t channel, uint32_t cycles)
{
    if (channel >= 10u)
        ft_field(&adc->SMPR2, channel - 10u, 3, cycles);
    else
        ft_field(&adc->SMPR1, channel, 3, cycles);
}

#endif
