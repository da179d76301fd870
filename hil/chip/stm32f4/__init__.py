"""The STM32F405 of the virtual board: what is its own beside `hil.chip.stm32`."""
