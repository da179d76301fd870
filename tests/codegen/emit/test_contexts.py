"""Test of templates and their contexts: every name in a template is a field of the context, and the template uses every
field. A misspelt attribute raises an exception at rendering (StrictUndefined)."""

from dataclasses import fields, is_dataclass

import pytest
from jinja2 import meta, nodes

from femtorque.codegen.common import template
from femtorque.codegen.control import constants
from femtorque.codegen.emit import (
    board_header, closed, configuration_digest as digest, families, flexible, library, messages, modes, pc_header,
    readme, rnea, step, wrench)

TEMPLATES = {
    "ft_board.h": (board_header.Context,), "ft_board_pc.h": (pc_header.Context,),
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

MODULES = (board_header, closed, digest, families, flexible, library, messages, modes, readme, rnea, step, wrench)
READ_IN_PYTHON = {"parameters", "solution", "cost", "public"}
ENVIRONMENT = template("ft_step.c").environment


def parsed(name: str) -> nodes.Template:
    assert ENVIRONMENT.loader is not None
    return ENVIRONMENT.parse(ENVIRONMENT.loader.get_source(ENVIRONMENT, f"{name}.j2")[0])


def names(context: type) -> set[str]:
    return {one.name for one in fields(context)}


def test_every_template_has_its_contexts_here():
    assert ENVIRONMENT.loader is not None
    assert {name.removesuffix(".j2") for name in ENVIRONMENT.loader.list_templates() if name.endswith(".j2")} \
        == TEMPLATES.keys()


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_names_fields_that_there_are(name):
    assert meta.find_undeclared_variables(parsed(name)) <= set().union(*map(names, TEMPLATES[name]))


def test_some_template_reads_each_field():
    read = {"array"}  # attributes of message fields that the templates pass to selectattr
    for tree in map(parsed, TEMPLATES):
        read |= {node.name for node in tree.find_all(nodes.Name)} | {node.attr for node in tree.find_all(nodes.Getattr)}
    owners = [x for module in MODULES for x in vars(module).values()
              if isinstance(x, type) and is_dataclass(x) and x.__module__ == module.__name__]
    assert set().union(*map(names, owners)) - read == READ_IN_PYTHON
