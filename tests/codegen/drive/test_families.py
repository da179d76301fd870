"""Test that the name of a drive family occurs only in the family's folders."""

import re

from femtorque.codegen.common import house
from femtorque.codegen.drive.catalogue import FAMILIES
from femtorque.hil.drives import catalogue as virtual
from tests.support.suite import ROOT

NAMES = re.compile(r"damiao|robstride|cubemars|mini.?cheetah|moteus|feetech|\bsts\b|sts3215|\bft_sts|\bsts_|"
                   r"dynamixel|\bft_dxl|cansimple|odrive.?can|odrive-(s1|pro|micro)", re.IGNORECASE)
ROOMS = ("codegen", "host", "hil", "femtorque", "firmware")
ENDINGS = (".py", ".c", ".h", ".j2", ".toml", ".ini")
CHECKS = ("assurance/proofs/theorems/", "assurance/campaigns/")  # a wheel does not contain these theorems and campaigns
EXAMPLES = {  # folders with example arms, and with demonstrations of particular drives
    "codegen/femtorque/codegen/mechanism/schema.py",  # contains a drive's name as an example for a key
    "femtorque/command_line.py",  # contains names of drives in the examples of --help
    "firmware/boards/nucleo-g474-can.toml",
}
SOURCES = {  # text of a comment that states the source of a number
    "codegen/femtorque/codegen/drive/bit_timing.py", "hil/femtorque/hil/drives/drive.py",
    "hil/femtorque/hil/drives/fields.c",
}
ADAPTERS = {  # USB adapters with the names of their makers
    "firmware/chip/linux/ft_buses.c", "firmware/chip/linux/ft_parts.h", "firmware/chip/linux/ft_binary.c",
    "host/femtorque/host/link/serial_ports.py", "femtorque/commands/pc.py",
}


def naming() -> set[str]:
    """Return the product's files that contain a family's name, outside the folders of families and of files of arms."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*")
             if path.name.endswith(ENDINGS) and not {"families", "arms"} & {*path.relative_to(ROOT).parts}]
    names = {str(path.relative_to(ROOT)): path for path in paths}
    return {name for name, path in names.items()
            if not name.startswith(CHECKS) and NAMES.search(path.read_text(encoding="utf-8"))}


def test_no_other_file_names_a_family_but_those_that_are_named_here():
    assert naming() == EXAMPLES | SOURCES | ADAPTERS


def test_every_family_has_a_virtual_drive_of_its_own_name():
    assert set(virtual.FAMILIES) == set(FAMILIES)


def test_a_family_has_the_c_that_its_descriptor_says():
    for family in FAMILIES.values():
        folder = house("codegen") / "drive" / "families" / family.c
        text = (folder / f"ft_{family.c}.h").read_text(encoding="utf-8")
        calls = ["enable", "disable", "command", "hear", *(["ask", "write"] if family.settings else []), *family.hooks]
        assert all(f"ft_{family.c}_{call}(" in text for call in calls), family.name
