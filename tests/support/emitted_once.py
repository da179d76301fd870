"""Each mechanism's step emitted once a process, however many tests ask for it: the search for its frames takes a
second.

Not where emission itself is tested: tests in ANEW, and tests that change what decides it.
"""

import functools
import os
import pickle

from codegen.emit import closed, flexible, modes, step
from codegen.model import flexible_link
from codegen.step import search

ANEW = ("tests/codegen/emit/", "tests/codegen/step/", "tests/codegen/toolchain/", "tests/bench/")


def once(render):
    """The function, which gives what it gave before for arguments equal to the last bit."""
    known = {}

    @functools.wraps(render)
    def remembering(*arguments):
        if os.environ.get("PYTEST_CURRENT_TEST", ANEW[0]).startswith(ANEW):
            return render(*arguments)
        key = pickle.dumps((arguments, search.EFFORT, flexible_link.STRETCHED))
        if key not in known:
            known[key] = render(*arguments)
        return dict(known[key])

    return remembering


def install():
    for module in (step, closed, modes, flexible):
        module.render = once(module.render)
