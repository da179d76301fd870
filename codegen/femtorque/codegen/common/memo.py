"""A memo for immutable objects: each result is computed once and stored in the object."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Subject = TypeVar("Subject")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def remembered(function: Callable[Concatenate[Subject, Rest], Result]) -> Callable[Concatenate[Subject, Rest], Result]:
    """Return `function` with a memo of its results. The memo is stored in the function's first argument, with one
    result for each tuple of further arguments, which must be hashable. The memo serves frozen dataclasses that contain
    arrays, because arrays cannot be keys of a cache. A copy by `dataclasses.replace` has no stored results. All callers
    share the stored result, so no caller may change it. Errors are not stored."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def once(subject: Subject, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Result:
        kept: dict[Hashable, Result] = vars(subject).setdefault("_remembered", {})
        key = (name, args, tuple(sorted(kwargs.items())))
        if key not in kept:
            kept[key] = function(subject, *args, **kwargs)
        return kept[key]

    return once
