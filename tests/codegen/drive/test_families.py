"""Families of drives are named in their folders alone."""

import re

from femtorque.codegen.drive.catalogue import FAMILIES
from femtorque.hil.drives import catalogue as virtual
from tests.conftest import ROOT

NAMES = re.compile(r"damiao|robstride|cubemars|mini.?cheetah|feetech|\bsts\b|sts3215|\bft_sts|\bsts_", re.IGNORECASE)
ROOMS = ("codegen", "host", "hil", "femtorque", "firmware")
ENDINGS = (".py", ".c", ".h", ".j2", ".toml", ".ini")
PROOFS = "firmware/proof/"  # theorems about the families' own C, which no wheel brings
EXAMPLES = {  # of arms, and of what is shown with particular drives
    "codegen/mechanism/schema.py",  # the name of one drive, as an example of a key
    "hil/campaigns/host_loop.py", "hil/campaigns/seven_drives.py", "hil/plant/play.py",
    "hil/campaigns/campaign_drives.py", "hil/campaigns/campaign_servos.py",
    "firmware/boards/nucleo-g474-can.toml",
}
SERVOS = {  # the virtual servo, which is not yet a folder of hil/drives/families
    "hil/drives/sts.py", "hil/drives/sts_motor.py", "hil/drives/sts_motor.c", "hil/drives/sts_motor.h",
    "hil/board/buses.py", "hil/board/faults.py", "hil/board/servo_steps.py", "hil/board/servo_steps.c",
    "hil/board/servo_steps.h", "hil/bus/half_duplex.py",
}
SOURCES = {  # a comment that says where a number is from
    "codegen/drive/bit_timing.py", "hil/drives/drive.py", "hil/drives/fields.py",
    "hil/board/buses.py",
}


def naming() -> set[str]:
    """Files of the product, outside the families' folders, in which a family's name stands."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*")
             if path.name.endswith(ENDINGS) and "families" not in path.relative_to(ROOT).parts]
    names = {str(path.relative_to(ROOT)): path for path in paths}
    return {name for name, path in names.items()
            if not name.startswith((PROOFS, "femtorque/codegen/", "femtorque/hil/", "femtorque/host/"))
            and NAMES.search(path.read_text(encoding="utf-8"))}


def test_no_other_file_names_a_family_but_those_that_are_named_here():
    assert naming() == EXAMPLES | SERVOS | SOURCES


def test_every_family_on_can_has_a_virtual_drive_of_its_own_name():
    assert set(virtual.FAMILIES) == {name for name, family in FAMILIES.items() if family.wire is None}


def test_a_family_has_the_c_that_its_descriptor_says():
    for family in FAMILIES.values():
        folder = ROOT / "codegen" / "drive" / "families" / family.c
        text = (folder / f"ft_{family.c}.h").read_text(encoding="utf-8")
        calls = ["enable", "disable", "command", "hear", *(["ask", "write"] if family.settings else []), *family.hooks]
        assert all(f"ft_{family.c}_{call}(" in text for call in calls), family.name
