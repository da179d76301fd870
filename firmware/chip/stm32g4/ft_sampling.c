/* The motors' currents are sampled by ADC2, started by TIM1's update. */
#include "ft_adc.h"
#include "ft_board.h" /* FT_CURRENTS */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_CURRENTS

/* Let ADC2 sample the channels, each for 0.6 us, at the timer's trigger. */
bool ft_sampling_start(const uint8_t channels[], uint32_t count)
{
    uint32_t sequence = (count - 1u) << ADC_JSQR_JL_Pos |
                        ADC_JSQR_JEXTEN_RISING; /* JEXTSEL 0: TIM1's TRGO */
    if (!ft_adc_wake(ADC2))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        ft_adc_sampling(ADC2, channels[i], ADC_SMPR_24_CYCLES);
        sequence |= (uint32_t)channels[i] << (ADC_JSQR_JSQ1_Pos + 6u * i);
    }
    ADC2->JSQR = sequence;
    ADC2->IER = ADC_IER_JEOSIE;
    return true;
}

void ft_sampling_run(void)
{
    ADC2->CR = ADC_CR_ADVREGEN | ADC_CR_JADSTART;
}

void ft_sampling_take(uint32_t counts[], uint32_t count)
{
    ADC2->ISR = ADC_ISR_JEOC | ADC_ISR_JEOS; /* write 1 to clear */
    for (uint32_t i = 0; i < count; i++)
        counts[i] = ADC2->JDR[i];
}

#endif
