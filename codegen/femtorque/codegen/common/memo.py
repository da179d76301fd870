"""A memo for immutable objects: a result is computed once and stored in the object."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Subject = TypeVar("Subject")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def remembered(function: Callable[Concatenate[Subject, Rest], Result]) -> Callable[Concatenate[Subject, Rest], Result]:
    """Return `function` with a memo of its results. The memo lives in the function's first argument, with one result
    for each tuple of further, hashable arguments. The memo is for frozen dataclasses, whose arrays cannot be keys of a
    cache. `dataclasses.replace` makes a new object without results. All callers share a result, so nobody may change
    it. Errors are not stored.
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
