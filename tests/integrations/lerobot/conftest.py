"""Fixture: the plugin with LeRobot, or with a stand-in if LeRobot is not installed."""

import importlib
import os
import sys
from importlib.util import find_spec

import pytest

from tests.host.conftest import fake  # noqa: F401
from tests.integrations.lerobot import stand_in
from tests.support.suite import ROOT


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    os.environ["HF_LEROBOT_HOME"] = str(tmp_path_factory.mktemp("lerobot"))
    if os.environ.get("FEMTORQUE_LEROBOT") != "installed" and "lerobot" not in sys.modules \
            and find_spec("lerobot") is None:
        stand_in.install()
    sys.path.insert(0, str(ROOT / "integrations" / "lerobot"))
    return importlib.import_module("lerobot_robot_femtorque")
