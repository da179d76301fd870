"""PlatformIO development platform over the ARM compiler on PATH."""

from platformio.public import PlatformBase


# PlatformIO derives the class's name from platform.json's "name".
class FemtorquearmPlatform(PlatformBase):
    pass
