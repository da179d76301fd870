"""Virtual models of drives on the market: their frames, their inner loops, and their reactions when commands stop."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
