"""The project's settings for Jinja2: an undefined name is an error, and a line with only a block tag disappears. The
import is inside the function because a cached image needs no template."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def template(name: str, package: str = "femtorque.codegen.emit", *, page: bool = False, trim: bool = True) -> Template:
    """Return the template `name`.j2 of a package. page: HTML with escaped values. trim: no line breaks after blocks."""
    return _environment(package, page, trim).get_template(f"{name}.j2")


@cache
def _environment(package: str, page: bool, trim: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    return Environment(loader=PackageLoader(package), undefined=StrictUndefined, autoescape=page, trim_blocks=trim,
                       lstrip_blocks=trim, keep_trailing_newline=not page)
