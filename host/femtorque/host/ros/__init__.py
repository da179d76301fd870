"""A ROS 2 node for one board, without an installation of ROS: over zenoh, by the conventions of rmw_zenoh."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
