"""Jinja2 as it is used here: a name that is not given is an error, and a block leaves no line of its own.

Templates are compiled once and kept in the user's cache directory, which takes a third of a second off every command.
"""

from __future__ import annotations

import os
from functools import cache

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined, Template

from codegen.cache import cache_directory


def template(name: str, package: str = "codegen", *, page: bool = False, trim: bool = True) -> Template:
    """The template `name`.j2 of a package. page: HTML, what goes in is escaped. trim: blocks leave no line."""
    return _environment(package, page, trim).get_template(f"{name}.j2")


@cache
def _environment(package: str, page: bool, trim: bool) -> Environment:
    return Environment(loader=PackageLoader(package), undefined=StrictUndefined, autoescape=page, trim_blocks=trim,
                       lstrip_blocks=trim, keep_trailing_newline=not page, bytecode_cache=_kept())


def _kept() -> FileSystemBytecodeCache | None:
    """Where compiled templates are kept; nowhere, if there is no place to write."""
    folder = cache_directory() / "templates"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return FileSystemBytecodeCache(str(folder)) if os.access(folder, os.W_OK) else None
