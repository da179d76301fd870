/* The converter of the board's own measurements is ADC2. ADC1 samples the
 * motors' currents. Both converters have the same inputs. */
#include "ft_adc.h"
#include "ft_board.h" /* FT_SENSES */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_SENSES

/* Each channel is sampled for 4 us. */
bool ft_converter_start(const uint8_t channels[], uint32_t count)
{
    ft_adc_prepare(ADC2, channels, count, ADC_SMPR_84_CYCLES, 0);
    return (ADC_CCR & ADC_CCR_ADCPRE) == ADC_CCR_DIV4; /* else 42 MHz */
}

void ft_converter_go(void)
{
    ADC2->SR = ADC_SR_FLAGS & ~ADC_SR_JEOC; /* write 0 to clear */
    ADC2->CR2 = ADC_CR2_ADON | ADC_CR2_JSWSTART;
}

bool ft_converter_await(void)
{
    return ft_wait_for(&ADC2->SR, ADC_SR_JEOC, ADC_SR_JEOC);
}

bool ft_converter_done(void)
{
    return (ADC2->SR & ADC_SR_JEOC) != 0;
}

uint32_t ft_converter_counts(uint32_t i)
{
    return ADC2->JDR[i];
}

#endif
