"""The STM32G474: its differences from the common model `femtorque.hil.chip.stm32`."""
