"""Live targets for a board in FOLLOW. Scripts, files, other arms, gamepads and pages can send targets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
