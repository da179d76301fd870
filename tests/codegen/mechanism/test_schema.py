"""Test that every key of a mechanism file has a description."""

from collections.abc import Iterator

from pydantic import BaseModel

from femtorque.codegen.mechanism.schema import MechanismTable, _table_in


def keys(path: str, kind: type[BaseModel]) -> Iterator[tuple[str, str | None]]:
    """Yield every key that has a value, with its description."""
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
