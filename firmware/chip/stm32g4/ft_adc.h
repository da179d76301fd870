/* Set-up of the two converters. */
#ifndef FT_ADC_H
#define FT_ADC_H

#include "ft_registers.h"

#include <stdbool.h>
#include <stdint.h>

bool ft_adc_wake(ADC_TypeDef *adc); /* false: the converter is not ready */
void ft_adc_sampling(ADC_TypeDef *adc, uint32_t channel, uint32_t cycles);

#endif
