/* Set-up of the two converters. */
#ifndef FT_ADC_H
#define FT_ADC_H

#include "ft_registers.h"

#include <stdint.h>

/* Let a converter sample these channels in sequence. flags: bits of its CR1.
 * The sampling time of each channel is given in cycles, ADC_SMPR_. */
void ft_adc_prepare(ADC_TypeDef *adc, const uint8_t channels[], uint32_t count,
                    uint32_t cycles, uint32_t flags);

#endif
