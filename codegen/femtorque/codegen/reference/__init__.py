"""Inverse dynamics in NumPy, float64, as the reference for emitted C, simulated plants and reports."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
