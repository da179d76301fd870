"""Compilers: the step on this machine, the image of the board."""
