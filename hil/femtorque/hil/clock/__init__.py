"""Simulated time as events at processor cycles, in C and in Python. The package also compiles and loads the C of the
chip and the buses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
