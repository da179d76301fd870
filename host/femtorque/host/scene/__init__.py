"""Appearance of a mechanism, as plain data: for pages, and for logs that show their arm."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
