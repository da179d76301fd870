"""The STM32F405 of the virtual board: the parts that differ from `femtorque.hil.chip.stm32`."""
