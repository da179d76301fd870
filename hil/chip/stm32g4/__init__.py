"""The STM32G474 of the virtual board: what is its own beside `femtorque.hil.chip.stm32`."""
