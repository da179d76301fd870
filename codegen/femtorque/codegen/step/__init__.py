"""One tick of the inverse dynamics as a graph of expressions. The graph is built, optimised by a search, and printed as
C."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
