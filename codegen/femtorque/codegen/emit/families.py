"""ft_families.h and ft_frame_bytes.h: dispatch functions for a mechanism's drive families, and the frame length.

The emitted C contains only the functions of these families, chosen at emission."""

from dataclasses import dataclass

from femtorque.codegen.board import families
from femtorque.codegen.common import template
from femtorque.codegen.drive import CLASSIC, Family
from femtorque.codegen.mechanism import Mechanism

FRAME, DRIVE = "ft_frame *f", "&ft_drive[i]"  # the functions select a drive's row by the drive's number


@dataclass(frozen=True)
class Call:
    """A function of families: its parameters after the drive's number, and the families that implement it."""

    result: str
    name: str
    parameters: tuple[str, ...]
    having: tuple[Family, ...]

    @property
    def arguments(self) -> str:
        return ", ".join(parameter.split()[-1].lstrip("*") for parameter in self.parameters)

    @property
    def taken(self) -> list[str]:
        """Return the parameters of the emitted function."""
        return ["uint32_t i", *(parameter for parameter in self.parameters if parameter != DRIVE)]

    @property
    def signature(self) -> str:
        """Return the C signature, broken into lines of at most 80 columns."""
        head = f"static inline {self.result} ft_family_{self.name}("
        lines, line = [], head
        for parameter in self.taken:
            text = parameter + (")" if parameter == self.taken[-1] else ",")
            if len(line) + 1 + len(text) > 80:
                lines.append(line)
                line = " " * len(head) + text
            else:
                line += text if line.endswith("(") else f" {text}"
        return "\n".join([*lines, line])


@dataclass(frozen=True)
class Context:
    """Context of ft_families.h.j2."""

    families: list[Family]
    calls: list[Call]
    facts: list[tuple[str, list[Family]]]  # names of properties, each with the families that have this property
    wire: str  # prefix of the functions for packets on a half-duplex bus, or ""


@dataclass(frozen=True)
class Frame:
    """Context of ft_frame_bytes.h.j2."""

    size: int


def _calls(own: list[Family]) -> list[Call]:
    everybody = tuple(own)
    setting = tuple(family for family in own if family.settings)

    def hook(name: str) -> tuple[Family, ...]:
        return tuple(family for family in own if name in family.hooks)

    return [
        Call("void", "enable", (FRAME, DRIVE), everybody),
        Call("void", "disable", (FRAME, DRIVE, "bool clear"), everybody),
        Call("void", "command", (FRAME, DRIVE, "const ft_drive_target *t", "float *carried"), everybody),
        Call("ft_drive_heard", "hear", ("const ft_frame *f", DRIVE, "ft_drive_said *said"), everybody),
        Call("void", "ask", (FRAME, DRIVE, "uint32_t number", "uint32_t size"), setting),
        Call("void", "write", (FRAME, DRIVE, "uint32_t number", "uint32_t size", "uint32_t value"), setting),
        Call("void", "poll", (FRAME, DRIVE), tuple(family for family in own if family.beat)),
        Call("void", "wake", (FRAME, DRIVE, "uint32_t phase"), hook("wake")),
        Call("void", "release", (FRAME, DRIVE, "uint32_t tick"), hook("release")),
        Call("void", "look", (FRAME, "uint32_t tick", "bool enabled"), hook("look")),
    ]


def render(mechanism: Mechanism) -> dict[str, str]:
    """Return {file name: text}."""
    own = families(mechanism)
    frame = Frame(max((family.frame_bytes for family in own), default=CLASSIC))
    files = {"ft_frame_bytes.h": template("ft_frame_bytes.h").render(vars(frame))}
    if not own:
        return files
    wire = next((family.wire.prefix for family in own if family.wire is not None), "")
    facts = [("tells", [family for family in own if family.tells]),
             ("velocity_known", [family for family in own if family.velocity_known]),
             ("polled", [family for family in own if family.beat]),
             ("counts", [family for family in own if family.places.turn]),
             ("wraps", [family for family in own if family.places.wraps])]
    context = Context(own, _calls(own), facts, wire)
    return files | {"ft_families.h": template("ft_families.h").render(vars(context))}
