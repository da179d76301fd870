"""The virtual chip: a processor that is emulated instruction by instruction, and peripherals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
