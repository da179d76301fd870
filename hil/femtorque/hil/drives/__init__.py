"""Drives that people buy, by their behaviour on a bus: frames, inner loops, actions without commands."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
