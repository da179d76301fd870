"""Constants of the control law and of the safety functions: gains, observers, tables for the firmware."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
