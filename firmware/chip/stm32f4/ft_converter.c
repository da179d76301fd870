/* The converter of what the board measures of itself: ADC2, whose inputs are
 * those of ADC1; ADC1 has the motors' currents. */
#include "ft_board.h" /* FT_SENSES */
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_SENSES

/* Let it take the channels one after another, each sampled for 4 us; of n
 * places in the sequence the last n count. */
bool ft_converter_start(const uint8_t channels[], uint32_t count)
{
    uint32_t sequence = (count - 1u) << ADC_JSQR_JL_Pos;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t channel = channels[i];
        sequence |= channel << (5u * (4u - count + i));
        if (channel >= 10u)
            ft_field(&ADC2->SMPR1, channel - 10u, 3, ADC_SMPR_84_CYCLES);
        else
            ft_field(&ADC2->SMPR2, channel, 3, ADC_SMPR_84_CYCLES);
    }
    ADC_CCR = ADC_CCR_DIV4; /* 21 MHz */
    ADC2->CR1 = ADC_CR1_SCAN;
    ADC2->JSQR = sequence;
    ADC2->CR2 = ADC_CR2_ADON;
    ft_wait_us(3);
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
