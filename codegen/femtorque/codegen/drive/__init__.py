"""Drives on a bus: their descriptions, their frames, and the bus time of the frames."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
