"""A stand-in for torchvision. LeRobot imports torchvision, but the tests do not use it. No build of torchvision works
with the build of torch without GPU support. Every module below `torchvision` can be imported, and every name in these
modules is an empty class."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


class Anything(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder:
    """A finder that finds every module below `torchvision`."""

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.startswith("torchvision.") else None

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, module):
        """Do nothing."""


sys.meta_path.insert(0, Finder())
sys.modules[__name__].__class__ = Anything
