"""Options that platformio.ini cannot express: flags for the linker, paths kept out of the image, sources compiled by
themselves."""

Import("env")  # noqa: F821 (SCons)

env.Append(  # noqa: F821
    CCFLAGS=["-ffile-prefix-map=" + env.subst("$PROJECT_DIR") + "=."],  # noqa: F821
    LINKFLAGS=[
        "$CCFLAGS",  # the whole image is compiled when it is linked
        "-nostartfiles", "-nostdlib",
        "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--build-id=none",
        "-Wl,--undefined=ft_telemetry",  # for debuggers and virtual boards: no code reads it
    ],
)


def by_itself(env, node):
    """Out of sight of what reads it: otherwise the compiler would put its numbers into code, and the tables whose check
    sums are watched would not be what counts."""
    return env.Object(node, CCFLAGS=[*env["CCFLAGS"], "-fno-lto"])


env.AddBuildMiddleware(by_itself, "*/ft_config.c")  # noqa: F821
