"""Parts that the STM32 families of the virtual board share: one module a peripheral, put together in `chip`."""
