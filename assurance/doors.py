"""Contracts on the packages of femtorque for import-linter: the types `doors` and `reach` in pyproject.toml.

A room is a package femtorque.<house>.<room>. Modules outside the room should import only the package itself, its door.
A module is behind a door if another room imports it directly. Importing femtorque in this module lets import-linter
find codegen, host and hil, whose folders femtorque adds to its path."""

from typing import Any

from importlinter import Contract, ContractCheck, fields, output

import femtorque  # noqa: F401


def room(module: str) -> str:
    """Return the room of a module: femtorque.codegen.model of femtorque.codegen.model.bodies."""
    return ".".join(module.split(".")[:3])


class Doors(Contract):
    """The contract that exactly the modules in `behind`, whose number may only fall, are imported from other rooms."""

    behind = fields.StringField()

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        found = sorted(m for m in graph.modules if m != room(m)
                       and any(room(by) != room(m) for by in graph.find_modules_that_directly_import(m)))
        return ContractCheck(kept=len(found) == int(str(self.behind)), metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        found = check.metadata["found"]
        output.print_error(f"{len(found)} modules are imported from outside their rooms; the contract says "
                           f"{self.behind}:", bold=True)
        output.print_error("\n".join(found), bold=False)


class Reach(Contract):
    """The contract that rooms import only each other and named modules of femtorque, directly and indirectly."""

    rooms: Any = fields.ListField(fields.StringField())
    others: Any = fields.ListField(fields.StringField())

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        inside = {m for m in graph.modules if room(m) in self.rooms}
        reached = {by for m in inside for by in graph.find_upstream_modules(m)} - inside
        found = sorted(reached - set(self.others))
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        output.print_error("The rooms reach other modules of femtorque too:", bold=True)
        output.print_error("\n".join(check.metadata["found"]), bold=False)
