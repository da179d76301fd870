"""What the STM32 families of the virtual board have in common: one module a peripheral, put together in `chip`."""
