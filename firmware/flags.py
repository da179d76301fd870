"""What platformio.ini cannot say: flags for the linker, and paths kept out of the image."""

Import("env")  # noqa: F821 (SCons)

env.Append(  # noqa: F821
    CCFLAGS=["-ffile-prefix-map=" + env.subst("$PROJECT_DIR") + "=."],  # noqa: F821
    LINKFLAGS=[
        "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16",
        "-nostartfiles", "-nostdlib",
        "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--build-id=none",
        "-Wl,--undefined=ft_telemetry",  # for debuggers and virtual boards: no code reads it
    ],
)
