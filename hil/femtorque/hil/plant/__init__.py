"""The plant: bodies, motors and encoders. The plant imports no module of the inverse model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
