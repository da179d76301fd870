"""Peripherals that the STM32 families share, one module each. `chip` combines the peripherals."""
