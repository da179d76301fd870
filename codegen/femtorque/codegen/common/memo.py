"""Memo of an object that never changes: computed once, and stored in the object itself."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Subject = TypeVar("Subject")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def remembered(function: Callable[Concatenate[Subject, Rest], Result]) -> Callable[Concatenate[Subject, Rest], Result]:
    """`function`, whose result for an object and hashable arguments is kept as long as that object is there.

    For frozen dataclasses, whose arrays cannot be keys of a cache; `dataclasses.replace` makes a new object, of which
    nothing is kept. Every caller gets the same result, so that nobody may change it. Errors are not kept.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def once(subject: Subject, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Result:
        kept: dict[Hashable, Result] = vars(subject).setdefault("_remembered", {})
        key = (name, args, tuple(sorted(kwargs.items())))
        if key not in kept:
            kept[key] = function(subject, *args, **kwargs)
        return kept[key]

    return once
