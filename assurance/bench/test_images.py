"""Test that every mechanism file with a board builds its image, and that the worst tick is shorter than the period."""

import json

import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism

pytestmark = pytest.mark.bench

BUILT = [path for path in sorted(MECHANISMS.glob("*.toml")) if load_mechanism(path).board]


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_a_mechanism_builds_its_image(here, tmp_path, path):
    done = here("build", path, "-o", tmp_path / "image", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert 0 < told["cycles_worst"] <= told["cycles_budget"]
