/* The converter of the board's own measurements is ADC1. After a long pause a
 * conversion may be wrong (erratum). The first channel is therefore converted
 * twice, and its first result is not used. */
#include "ft_adc.h"
#include "ft_board.h" /* FT_SENSES */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_SENSES

bool ft_converter_start(const uint8_t channels[], uint32_t count)
{
    uint32_t sequence = count << ADC_JSQR_JL_Pos |
                        (uint32_t)channels[0] << ADC_JSQR_JSQ1_Pos;
    if (!ft_adc_wake(ADC1))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        ft_adc_sampling(ADC1, channels[i], ADC_SMPR_92_CYCLES); /* 2 us */
        sequence |= (uint32_t)channels[i] << (ADC_JSQR_JSQ1_Pos + 6u * i + 6u);
    }
    ADC1->JSQR = sequence;
    return true;
}

void ft_converter_go(void)
{
    ADC1->ISR = ADC_ISR_JEOC | ADC_ISR_JEOS; /* write 1 to clear */
    ADC1->CR = ADC_CR_ADVREGEN | ADC_CR_JADSTART;
}

bool ft_converter_await(void)
{
    return ft_wait_for(&ADC1->ISR, ADC_ISR_JEOS, ADC_ISR_JEOS);
}

bool ft_converter_done(void)
{
    return (ADC1->ISR & ADC_ISR_JEOS) != 0;
}

uint32_t ft_converter_counts(uint32_t i)
{
    return ADC1->JDR[i + 1u];
}

#endif
