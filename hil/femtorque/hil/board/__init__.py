"""The virtual board: chip, plant, power stages, serial line."""
