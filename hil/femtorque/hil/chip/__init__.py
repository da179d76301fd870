"""The chip, instruction by instruction, and its peripherals."""
