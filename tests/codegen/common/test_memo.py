"""Tests of results that are stored in the object that computed them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.memo import remembered


@dataclass(frozen=True)
class Thing:
    values: np.ndarray  # an array cannot be the key of a cache


def counted():
    calls = []

    @remembered
    def total(thing: Thing, factor: float = 1.0) -> float:
        calls.append(factor)
        if factor < 0.0:
            raise BadInput("thing", "factor", factor, "must not be negative")
        return factor * float(np.sum(thing.values))

    return total, calls


def test_a_result_is_made_once_for_an_object_and_its_arguments():
    total, calls = counted()
    one, same = Thing(np.arange(3.0)), Thing(np.arange(3.0))
    assert [total(one), total(one), total(one, 2.0), total(one, 2.0)] == [3.0, 3.0, 6.0, 6.0]
    assert total(one, factor=2.0) == 6.0
    assert calls == [1.0, 2.0, 2.0]
    assert total(same) == 3.0 and len(calls) == 4


def test_an_object_that_was_changed_on_the_way_is_another_one():
    total, calls = counted()
    one = Thing(np.arange(3.0))
    total(one)
    assert total(replace(one, values=np.ones(3))) == 3.0 and len(calls) == 2
    assert one == one and "_remembered" not in repr(one)


def test_what_is_raised_is_not_kept():
    total, calls = counted()
    one = Thing(np.arange(3.0))
    for _ in range(2):
        with pytest.raises(BadInput):
            total(one, -1.0)
    assert len(calls) == 2
