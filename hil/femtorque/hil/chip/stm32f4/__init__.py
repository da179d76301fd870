"""The STM32F405: its differences from the common model `femtorque.hil.chip.stm32`."""
