"""Linker options for newlib with semihosting."""

Import("env")  # noqa: F821 (SCons)

env.Append(  # noqa: F821
    LIBS=["c", "rdimon"],
    LINKFLAGS=["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-nostartfiles"],
)
