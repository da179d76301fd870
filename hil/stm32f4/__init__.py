"""The STM32F405 of the virtual board: one module a peripheral, put together in `chip`."""
