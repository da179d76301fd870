"""Runs after the platform: PlatformIO's own links every image with a C and a C++ library, which this one does
without."""

Import("env")  # noqa: F821 (SCons)

env.Replace(LIBS=["gcc"])  # noqa: F821
