"""Removes the C and C++ libraries that PlatformIO links into every image. This script runs after the platform."""

Import("env")  # noqa: F821 (SCons)

env.Replace(LIBS=["gcc"])  # noqa: F821
