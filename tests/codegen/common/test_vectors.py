"""Comparison of vector products with NumPy's products, bit for bit."""

import gc

import numpy as np
import pytest

from femtorque.codegen.common import garbage_collection
from femtorque.codegen.common.vectors import cross, dot


@pytest.mark.parametrize("a, b", [((3,), (3,)), ((5, 3), (5, 3)), ((3,), (5, 3)), ((2, 1, 3), (4, 3)), ((0, 3), (3,))])
def test_products_are_those_of_numpy_to_the_bit(a, b):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=a), rng.normal(size=b)
    assert np.array_equal(cross(a, b), np.cross(a, b))
    assert np.array_equal(dot(a, b), np.sum(a * b, axis=-1))


def test_garbage_is_collected_again_after_it_was_put_off():
    assert gc.isenabled()
    with pytest.raises(ValueError), garbage_collection.put_off():
        assert not gc.isenabled()
        with garbage_collection.put_off():
            pass
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()
