"""Checks that the firmware's object code does not depend on the sign of `char`, which differs between compilers."""

import subprocess

import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.emit import COMPILER
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.toolchain import project

CHIP = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-std=c99", "-Os")


@pytest.mark.parametrize("name", ["three_link", "openarm_like", "so101_sts"])
def test_every_source_compiles_to_the_same_bytes_with_signed_and_unsigned_char(tmp_path, name):
    for path, content in project(load_mechanism(MECHANISMS / f"{name}.toml")).files.items():
        if path.startswith(("src/application/", "src/emitted/")):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content)
    folders = [tmp_path / "src" / room for room in ("application", "emitted")]
    sources = [source for folder in folders for source in sorted(folder.glob("*.c"))]
    assert len(sources) > 15
    for source in sources:
        objects = [subprocess.run([COMPILER, *CHIP, f"-f{sign}-char", *(f"-I{folder}" for folder in folders), "-S",
                                   source, "-o", "-"], capture_output=True, check=True).stdout
                   for sign in ("signed", "unsigned")]
        assert objects[0] == objects[1] and objects[0], source.name
