"""Templates and the dataclasses that they are filled from: each names fields of the other, in every branch.

Names are followed through the templates by the types of fields: a loop's variable has the type of a sequence's member.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from jinja2 import nodes

from femtorque.codegen.common import template
from femtorque.codegen.control import constants
from femtorque.codegen.emit import (
    board_header, closed, configuration_digest as digest, families, flexible, library, messages, modes, readme, rnea,
    step, wrench)

TEMPLATES = {
    "ft_board.h": (board_header.Context,),
    "ft_config.h": (constants.Context,), "ft_config.c": (constants.Context,),
    "ft_messages.h": (messages.Context,), "ft_messages.c": (messages.Context,),
    "ft_digest.h": (digest.Context,),
    "ft_families.h": (families.Context,), "ft_frame_bytes.h": (families.Frame,),
    "ft_model.h": (step.Sizes,),
    **dict.fromkeys(("ft_trig.h", "ft_step.h", "ft_step.c"), (step.Sections, step.Form)),
    **dict.fromkeys(("ft_loop.h", "ft_loop.c"), (closed.Common, closed.Closure)),
    **dict.fromkeys(("ft_closed.h", "ft_closed.c"), (closed.Common, closed.Allocation)),
    **dict.fromkeys(("ft_modes.h", "ft_modes.c"), (modes.Context,)),
    **dict.fromkeys(("ft_flexible.h", "ft_flexible.c"), (flexible.Context,)),
    **dict.fromkeys(("ft_rnea.h", "ft_rnea.c"), (rnea.Context,)), "ft_units.h": (rnea.Units,),
    **dict.fromkeys(("ft_wrench.h", "ft_wrench.c"), (wrench.Context,)),
    "README.md": (readme.Context,),
    **dict.fromkeys(("library.properties", "library.cmake", "module.yml", "zephyr.cmake", "Kconfig", "plain_loop.c",
                     "simplefoc.ino"), (library.Context,)),
}

READ_IN_PYTHON = {  # beside what templates read
    (rnea.Closed, "solution"), (rnea.Unit, "cost"), (rnea.Function, "inputs"), (rnea.Function, "cost"),
    (families.Call, "parameters"), (modes.Mode, "changes"),
}
ENVIRONMENT = template("ft_step.c").environment


@dataclass
class Reader:
    """Walk through a template. scope: types of names. read: fields, with their classes. missing: of no class."""

    scope: dict[str, Any]
    read: set[tuple[type, str]] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)

    def visit(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.For):
            self.bind(node.target, member(self.type_of(node.iter)))
            self.scope["loop"] = Any
            for child in (node.test, *node.body, *node.else_):
                if child is not None:
                    self.visit(child)
        elif isinstance(node, nodes.Assign):
            self.bind(node.target, self.type_of(node.node))
        elif isinstance(node, nodes.Expr):
            self.type_of(node)
        else:
            for child in node.iter_child_nodes():
                self.visit(child)

    def bind(self, target: nodes.Node, kind: Any) -> None:
        if isinstance(target, nodes.Tuple):
            kinds = get_args(kind) if get_origin(kind) is tuple else (Any,) * len(target.items)
            for item, one in zip(target.items, kinds, strict=True):
                self.bind(item, one)
        else:
            assert isinstance(target, nodes.Name)
            self.scope[target.name] = kind

    def type_of(self, node: nodes.Node) -> Any:
        """Type of an expression, Any where it is not followed; its names are looked up on the way."""
        if isinstance(node, nodes.Name):
            return self.name(node.name)
        if isinstance(node, nodes.Getattr):
            return self.attribute(self.type_of(node.node), node.attr)
        if isinstance(node, nodes.Getitem):
            kind = self.type_of(node.node)
            self.type_of(node.arg)
            return member(kind)
        if isinstance(node, nodes.Filter) and node.name == "selectattr":
            assert isinstance(node.args[0], nodes.Const)
            self.attribute(member(self.type_of(node.node)), node.args[0].value)
            return Any
        for child in node.iter_child_nodes():
            self.visit(child)
        return Any

    def name(self, name: str) -> Any:
        if name not in self.scope:
            self.missing.append(name)
        return self.scope.get(name, Any)

    def attribute(self, owner: Any, name: str) -> Any:
        owner = sole(owner)
        if not is_dataclass(owner):
            return Any
        assert isinstance(owner, type)
        own = getattr(owner, name, None)
        if isinstance(own, property):
            return get_type_hints(own.fget)["return"]
        kinds = get_type_hints(owner)
        if name not in kinds:
            self.missing.append(f"{owner.__name__}.{name}")
        self.read.add((owner, name))
        return kinds.get(name, Any)


def sole(kind: Any) -> Any:
    """A type without its None."""
    rest = [one for one in get_args(kind) if one is not NoneType]
    return rest[0] if NoneType in get_args(kind) and len(rest) == 1 else kind


def member(kind: Any) -> Any:
    """Type of a sequence's members, or of a table's values."""
    kind = sole(kind)
    if get_origin(kind) in (list, Sequence) or (get_origin(kind) is tuple and get_args(kind)[1:] == (...,)):
        return get_args(kind)[0]
    return get_args(kind)[1] if get_origin(kind) is dict else Any


def walked(text: str, contexts: Sequence[type]) -> Reader:
    """Read a template's text."""
    kinds = {name: (kind, owner) for owner in contexts for name, kind in get_type_hints(owner).items()}
    reader = Reader({name: kind for name, (kind, _) in kinds.items()})
    tree = ENVIRONMENT.parse(text)
    reader.visit(tree)
    given = {node.name for node in tree.find_all(nodes.Name)} & kinds.keys()
    reader.read |= {(owner, name) for owner in contexts for name in given & get_type_hints(owner).keys()}
    return reader


def source(name: str) -> str:
    assert ENVIRONMENT.loader is not None
    return ENVIRONMENT.loader.get_source(ENVIRONMENT, f"{name}.j2")[0]


def within(owner: type) -> set[type]:
    """A context with the dataclasses of its module to which its fields lead that templates read."""
    found: set[type] = set()
    kinds: list[Any] = [owner]
    while kinds:
        kind = kinds.pop()
        if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == owner.__module__ and kind not in found:
            found.add(kind)
            kinds += [one for name, one in get_type_hints(kind).items() if (kind, name) not in READ_IN_PYTHON]
        kinds += get_args(kind)
    return found


def test_every_template_has_its_contexts_here():
    assert ENVIRONMENT.loader is not None
    assert {name.removesuffix(".j2") for name in ENVIRONMENT.loader.list_templates() if name.endswith(".j2")} \
        == TEMPLATES.keys()


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_names_fields_that_there_are(name):
    assert not walked(source(name), TEMPLATES[name]).missing


def test_some_template_reads_each_field():
    read = set().union(*(walked(source(name), contexts).read for name, contexts in TEMPLATES.items()))
    owners = set().union(*(within(owner) for contexts in TEMPLATES.values() for owner in contexts))
    given = {(owner, one.name) for owner in owners for one in fields(owner)}
    assert given - read == READ_IN_PYTHON


@dataclass(frozen=True)
class Row:
    name: str


@dataclass(frozen=True)
class Page:
    rows: list[Row]
    pairs: list[tuple[int, Row]]
    row: Row | None
    unread: int


@pytest.mark.parametrize(("text", "missing"), [
    ("{{ row.name }}{% for row in rows %}{{ row.name }}{% endfor %}", []),
    ("{% if never %}{% endif %}", ["never"]),
    ("{% if row %}{{ row.nam }}{% endif %}", ["Row.nam"]),
    ("{% for one in rows if one.nam %}{% endfor %}", ["Row.nam"]),
    ("{% for n, one in pairs %}{{ n.x }}{{ one.nam | upper }}{% endfor %}", ["Row.nam"]),
    ("{{ rows[0].nam }}{{ rows | selectattr('nam') | list }}", ["Row.nam", "Row.nam"]),
])
def test_names_are_followed_into_rows_and_branches(text, missing):
    reader = walked(text, (Page,))
    assert reader.missing == missing and (Page, "unread") not in reader.read
