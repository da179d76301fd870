"""A cache of emitted steps for all tests, because the search for a step's frames takes a second. The emitted files are
stored under a hash that includes this program, so all workers can use them. Tests of the emission do not use the cache:
the tests in ANEW, and tests that change a constant of the emission."""

import functools
import json
import os
import pickle
import sys

import numpy as np

from femtorque.codegen.common import kept, key_of, sources
from femtorque.codegen.common.firmware import ROOT
from femtorque.codegen.emit import closed, flexible, modes, step
from femtorque.codegen.model import flexible_link
from femtorque.codegen.step import search

ANEW = ("tests/codegen/emit/", "tests/codegen/reference/test_rigid.py", "tests/codegen/step/",
        "tests/codegen/toolchain/", "assurance/bench/")


def once(render):
    """Return the function with a cache. For bitwise equal arguments the function returns the cached files."""
    known = {}

    @functools.wraps(render)
    def remembering(*arguments):
        if os.environ.get("PYTEST_CURRENT_TEST", ANEW[0]).startswith(ANEW):
            return render(*arguments)
        key = pickle.dumps((arguments, search.EFFORT, flexible_link.STRETCHED))
        if key not in known:
            known[key] = from_cache(key_of("emitted", render.__module__, key, *program()),
                                    lambda: render(*arguments))
        return dict(known[key])

    return remembering


def from_cache(key, render):
    """Return {file name: text} for a key."""
    def make(entry):
        (entry / "files.json").write_text(json.dumps(render()), encoding="utf-8")

    return json.loads((kept(key, make) / "files.json").read_text(encoding="utf-8"))


@functools.cache
def program():
    """Return the part of the key that does not depend on the arguments."""
    return sys.version, np.__version__, *sources(ROOT / "codegen")


def install():
    for module in (step, closed, modes, flexible):
        module.render = once(module.render)
