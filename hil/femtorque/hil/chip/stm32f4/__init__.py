"""The STM32F405: the parts in which it differs from `femtorque.hil.chip.stm32`."""
