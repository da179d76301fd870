"""A stand-in for torchvision, which LeRobot imports and the tests do not use: of its builds none goes with torch for
processors alone. Every module below it is there, and every name in one is an empty class."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


class Anything(ModuleType):
    """A module in which every name is found."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder:
    """Find every module below this one."""

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.startswith("torchvision.") else None

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, module):
        """Nothing is to be run."""


sys.meta_path.insert(0, Finder())
sys.modules[__name__].__class__ = Anything
