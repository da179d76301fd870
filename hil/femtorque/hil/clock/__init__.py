"""Simulated time: what is due at which cycle, in C and in Python, and the library of the chip's and the buses' C."""
