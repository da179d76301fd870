"""Tests the messages about missing packages in an installation without extras."""

import subprocess
import sys

import pytest

from femtorque.codegen.common import EXTRAS
from tests.codegen.mechanism.test_urdf import robot
from tests.support.suite import ROOT

MODULES = {module for packages in EXTRAS.values() for module in packages}
WITHOUT = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {MODULES!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import femtorque
for line in sys.argv[1:]:
    try:
        femtorque.main(line.split())
    except SystemExit as left:
        if left.code:
            raise
"""
ARM = f"{ROOT}/mechanisms/three_link.toml {ROOT}/mechanisms/three_link.csv"


def typed(folder, *lines):
    return subprocess.run([sys.executable, "-c", WITHOUT, *lines], cwd=folder, capture_output=True, text=True)


def test_a_mechanism_is_written_checked_built_and_turned_into_torques_without_any_extra(tmp_path):
    (tmp_path / "robot.urdf").write_bytes(robot("so101.urdf").read_bytes())
    done = typed(tmp_path, "init my_robot --from robot.urdf --board f405rg-6", "check my_robot.toml",
                 f"check {ARM}", f"check {ROOT}/mechanisms/flexible_arm.toml", "build my_robot.toml",
                 "generate my_robot.toml -o c", f"torque {ARM} -o t.csv", "motors", "ports")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "instructions not counted: that takes pip install 'unicorn" in done.stdout
    names = f"{WITHOUT}\nfrom femtorque import Board, Mechanism, plan_motion, report"
    told = subprocess.run([sys.executable, "-c", names], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "build" / "my_robot" / "firmware.bin").is_file() and (tmp_path / "t.csv").is_file()


@pytest.mark.parametrize("line, packages", [
    ("demo", EXTRAS["hil"]), (f"hil run {ARM}", EXTRAS["hil"]), ("demo --sweep", EXTRAS["hil"]),
    (f"torque {ARM} -o t.csv --backend chip", EXTRAS["hil"]), (f"plan {ARM} -o m.csv", EXTRAS["plan"]),
    (f"torque {ARM} -o t.csv --figure t.png", EXTRAS["plot"]),
    (f"identify {ARM.split()[0]} --port /dev/none", {"scipy": EXTRAS["plan"]["scipy"]}),
])
def test_a_verb_without_its_extra_names_the_packages_in_one_line(tmp_path, line, packages):
    done = typed(tmp_path, line)
    words = " ".join(f"'{package}'" for package in packages.values())
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"femtorque: {next(iter(packages))} is not installed: pip install {words}\n"
    assert not list(tmp_path.glob("*.csv")), "nothing is written"
