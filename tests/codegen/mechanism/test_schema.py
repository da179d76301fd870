"""One table says of every key what it is called, what it may hold, what it is by default and what it means."""

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from femtorque.codegen.mechanism import description
from femtorque.codegen.mechanism.schema import (
    ControlTable, EncoderTable, FrictionTable, GainsTable, MechanismTable, MotorTable, SafetyTable, _table_in)


def keys(path: str, kind: type[BaseModel]) -> Iterator[tuple[str, str | None]]:
    """Every key that holds a value, and what it means."""
    for name, field in kind.model_fields.items():
        inner = _table_in(field.annotation)
        if inner is None:
            yield f"{path}{name}", field.description
        else:
            yield from keys(f"{path}{name}.", inner)


def test_every_key_but_names_says_what_it_means():
    found = dict(keys("", MechanismTable))
    assert len(found) > 90 and found["control.knot_hz"] == "knots of a trajectory a second, on the wire"
    assert [key for key, meaning in found.items() if not meaning] == [
        f"{kind}.name" for kind in ("link", "joint", "payload", "loop", "mode")]


@pytest.mark.parametrize(("table", "made"), [
    (ControlTable(), description.Control()),
    (SafetyTable(), description.Safety()),
    (FrictionTable(), description.Friction()),
    (GainsTable(), description.Gains()),
    (MotorTable(R=1.0, L=1e-3, K=0.1), description.Motor(1.0, 1e-3, 0.1)),
    (EncoderTable(counts=4096), description.Encoder(4096)),
], ids=lambda x: type(x).__name__)
def test_what_a_file_leaves_out_is_what_the_description_takes(table, made):
    for name, value in table.model_dump().items():
        if value is not None:
            expected = getattr(made, name)
            assert value == (list(expected) if isinstance(expected, tuple) else expected), name
