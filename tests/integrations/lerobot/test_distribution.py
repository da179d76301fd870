"""Tests the metadata by which LeRobot finds the distribution."""

import subprocess
import sys
import tomllib
from zipfile import ZipFile

import femtorque
from tests.support.suite import ROOT

PLACE = ROOT / "integrations" / "lerobot"


def test_its_metadata_has_the_name_with_underscores_that_lerobot_looks_for(tmp_path):
    """LeRobot 0.4.4, utils/import_utils.py, imports names that begin with lerobot_robot_."""
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", PLACE, source], check=True)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                    "--wheel-dir", tmp_path, source], check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as files:
        (metadata,) = (name for name in files.namelist() if name.endswith("METADATA"))
        lines = files.read(metadata).decode().splitlines()
        names = files.namelist()
    assert "Name: lerobot_robot_femtorque" in lines
    assert all(f"lerobot_robot_femtorque/{path.name}" in names
               for path in (PLACE / "lerobot_robot_femtorque").glob("*.py"))


def test_configurations_register_themselves_and_name_their_classes(plugin):
    assert plugin.FemtorqueConfig.__name__ == plugin.Femtorque.__name__ + "Config"
    assert plugin.FemtorqueLeaderConfig.__name__ == plugin.FemtorqueLeader.__name__ + "Config"
    assert plugin.Femtorque.config_class is plugin.FemtorqueConfig and plugin.Femtorque.name == "femtorque"


def test_it_has_femtorques_version():
    project = tomllib.loads((PLACE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == femtorque.__version__
