"""The STM32G474: the parts in which it differs from `femtorque.hil.chip.stm32`."""
