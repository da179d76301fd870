"""Options that platformio.ini cannot express: linker flags, paths kept out of the image, separate sources."""

Import("env")  # noqa: F821 (SCons)

env.Append(  # noqa: F821
    CCFLAGS=["-ffile-prefix-map=" + env.subst("$PROJECT_DIR") + "=."],  # noqa: F821
    LINKFLAGS=[
        "$CCFLAGS",  # the whole image is compiled when it is linked
        "-nostartfiles", "-nostdlib",
        "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--build-id=none",
        "-Wl,--undefined=ft_telemetry",  # for debuggers and virtual boards; no code reads it
    ],
)


def by_itself(env, node):
    """Keep this source out of link-time optimisation. With link-time optimisation the compiler would copy the source's
    numbers into code, which would then bypass the tables with check sums."""
    return env.Object(node, CCFLAGS=[*env["CCFLAGS"], "-fno-lto"])


env.AddBuildMiddleware(by_itself, "*/ft_config.c")  # noqa: F821
