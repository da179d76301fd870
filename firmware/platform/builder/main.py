"""Builds firmware.elf and firmware.bin with arm-none-eabi-gcc from PATH."""

from os.path import join

from SCons.Script import AlwaysBuild, Builder, Default, DefaultEnvironment

env = DefaultEnvironment()
env.Replace(
    AR="arm-none-eabi-gcc-ar",
    AS="arm-none-eabi-as",
    CC="arm-none-eabi-gcc",
    CXX="arm-none-eabi-g++",
    LINK="arm-none-eabi-gcc",
    OBJCOPY="arm-none-eabi-objcopy",
    RANLIB="arm-none-eabi-gcc-ranlib",
    SIZETOOL="arm-none-eabi-size",
    ARFLAGS=["rcD"],
    LIBS=["gcc"],
    PROGNAME="firmware",
    PROGSUFFIX=".elf",
    SIZEPROGREGEXP=r"^(?:\.text|\.data|\.check)\s+(\d+).*",
    SIZEDATAREGEXP=r"^(?:\.stack|\.data|\.bss|\.noinit)\s+(\d+).*",
    SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
    SIZEPRINTCMD="$SIZETOOL -B -d $SOURCES",
)
env.Append(BUILDERS={
    "ElfToBin": Builder(
        action=env.VerboseAction("$OBJCOPY -O binary $SOURCES $TARGET", "Building $TARGET"), suffix=".bin"),
})

elf = env.BuildProgram()
image = env.ElfToBin(join("$BUILD_DIR", "${PROGNAME}"), elf)
program = env.Alias("buildprog", image)
AlwaysBuild(program, env.Alias("nobuild", image))

upload = env.Alias("upload", image, [env.VerboseAction("$UPLOADCMD", "Uploading $SOURCE")])
AlwaysBuild(upload)

Default([program])
