"""The buses between controllers and drives: CAN with nodes, bits, arbitration and errors; half-duplex serial buses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
