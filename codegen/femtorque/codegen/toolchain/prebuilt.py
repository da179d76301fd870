"""Images of the examples in a wheel, so that a new user needs no compiler for the chip.

`make wheel` calls `python -m femtorque.codegen.toolchain.prebuilt`, which builds these images. The images are not in
the repository. An image serves only the configuration of its digest, and only if there is no compiler."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from femtorque.codegen.common import MECHANISMS, PREBUILT
from femtorque.codegen.emit import COMPILER, IDENTITY, compiler_identity
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.toolchain.build_result import record
from femtorque.codegen.toolchain.platformio import brought_in, build_image

EXAMPLES = ("three_link", "four_bar", "openarm_like", "so101_sts")
ALONE = ("three_link",)  # examples with a second image that has no feed-forward, for `femtorque demo`


def make() -> list[Path]:
    """Build all images without debug information, and return their folders. Raise Refused as `build_image` does."""
    shutil.rmtree(PREBUILT, ignore_errors=True)
    made = [_make(name, feedforward) for name in EXAMPLES for feedforward in (True, False)
            if feedforward or name in ALONE]
    (PREBUILT / IDENTITY).write_text(compiler_identity(), encoding="utf-8")
    return made


def _make(name: str, feedforward: bool) -> Path:
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    with TemporaryDirectory(prefix="femtorque-") as folder:
        built = build_image(mechanism, Path(folder), feedforward=feedforward)
        out = brought_in(built.digest)
        out.mkdir(parents=True)
        subprocess.run([COMPILER.replace("gcc", "objcopy"), "--strip-debug", built.elf, out / built.elf.name],
                       check=True)
        shutil.copyfile(built.image, out / built.image.name)
    record(out, built)
    return out


if __name__ == "__main__":
    for folder in make():
        print(folder)
