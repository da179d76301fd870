/* The converter of what the board measures of itself: ADC1. A conversion that
 * comes long after the one before it may be wrong (erratum), so the first
 * channel is converted twice and its first result is left alone. */
#include "ft_board.h" /* FT_SENSES */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_SENSES

/* Wake it and let it find its offset. */
static bool ft_converter_wake(void)
{
    ADC12_CCR = ADC_CCR_CKMODE_DIV4; /* 42.5 MHz */
    ADC1->CR = 0; /* out of deep power-down */
    ADC1->CR = ADC_CR_ADVREGEN;
    ft_wait_us(20);
    ADC1->CR = ADC_CR_ADVREGEN | ADC_CR_ADCAL;
    if (!ft_wait_for(&ADC1->CR, ADC_CR_ADCAL, 0))
        return false;
    ft_wait_us(1); /* four of its clocks */
    ADC1->ISR = ADC_ISR_ADRDY; /* write 1 to clear */
    ADC1->CR = ADC_CR_ADVREGEN | ADC_CR_ADEN;
    return ft_wait_for(&ADC1->ISR, ADC_ISR_ADRDY, ADC_ISR_ADRDY);
}

/* Sample a channel for 2 us. */
static void ft_converter_sampling(uint32_t channel)
{
    if (channel >= 10u)
        ft_field(&ADC1->SMPR2, channel - 10u, 3, ADC_SMPR_92_CYCLES);
    else
        ft_field(&ADC1->SMPR1, channel, 3, ADC_SMPR_92_CYCLES);
}

bool ft_converter_start(const uint8_t channels[], uint32_t count)
{
    uint32_t sequence = count << ADC_JSQR_JL_Pos |
                        (uint32_t)channels[0] << ADC_JSQR_JSQ1_Pos;
    if (!ft_converter_wake())
        return false;
    for (uint32_t i = 0; i < count; i++) {
        ft_converter_sampling(channels[i]);
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
