"""Drives on a bus: what they are, the frames that they speak, and how much of a bus these take."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
