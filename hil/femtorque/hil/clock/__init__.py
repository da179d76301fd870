"""Simulated time as events at processor cycles, in C and in Python. Also loads the C of chip and buses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
