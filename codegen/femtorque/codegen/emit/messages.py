"""The serial protocol in C: ft_messages.h and .c, from the table of femtorque.codegen.wire.messages."""

from dataclasses import dataclass

from femtorque.codegen.common import template
from femtorque.codegen.wire import MESSAGES, Field, Message, codec, messages

_C_TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "i32": "int32_t", "i64": "int64_t", "f32": "float"}


@dataclass(frozen=True)
class Member:
    """A field of a message: type in C, type in the protocol, and offset in the payload."""

    name: str
    c: str
    type: str
    doc: str
    array: bool
    n: str  # array length in C
    offset: int
    size: int


@dataclass(frozen=True)
class Struct:
    """A message in C."""

    name: str
    lower: str
    type: int
    doc: str
    to: str
    size: int  # size of the payload, bytes
    fields: list[Member]


@dataclass(frozen=True)
class Context:
    """Context of ft_messages.h.j2 and ft_messages.c.j2. rx_stuffed, tx_stuffed: bytes of these frames after stuffing.
    """

    joints: int
    protocol: int
    status_hz: int
    fault_numbers: int
    knot_flags: list[tuple[str, int]]
    enums: list[tuple[str, str, list[tuple[str, int, str]]]]  # title, prefix, values (name, number, comment)
    follow_auto: int
    target_flags: list[tuple[str, int]]
    messages: list[Struct]
    header: int
    crc: int
    rx_max: int  # bytes of the longest frame to the board
    tx_max: int  # bytes of the longest frame to the host
    rx_stuffed: int
    tx_stuffed: int


def render(joints: int) -> dict[str, str]:
    """Return {file name: text} of the C messages."""
    context = vars(_context(joints))
    return {name: template(name).render(context) for name in ("ft_messages.h", "ft_messages.c")}


def _context(joints: int) -> Context:
    return Context(
        joints=joints,
        protocol=messages.PROTOCOL,
        status_hz=messages.STATUS_HZ,
        fault_numbers=messages.FAULT_NUMBERS,
        knot_flags=[("START", messages.KNOT_START), ("END", messages.KNOT_END),
                       ("MODE", messages.KNOT_MODE)],
        enums=[
            ("Commands", "COMMAND", [(k, n, doc) for k, (n, doc) in messages.COMMANDS.items()]),
            ("States", "STATE", [(k, n, doc) for k, (n, doc) in messages.STATES.items()]),
            ("Faults", "FAULT", [(k, n, doc) for k, (n, doc, _) in messages.FAULTS.items()]),
            ("Refusals", "REFUSAL", [(k, n, doc) for k, (n, doc, _) in messages.REFUSALS.items()]),
            ("Reactions to faults", "REACTION", [(k.upper(), n, doc) for k, (n, doc) in messages.REACTIONS.items()]),
            ("CAPTURE.mode", "CAPTURE", [(k, n, doc) for k, (n, doc) in messages.CAPTURES.items()]),
            ("STATUS.flags", "FLAG", [(k, n, doc) for k, (n, doc) in messages.FLAGS.items()]),
            ("STATUS.limits", "LIMIT", [(k, n, doc) for k, (n, doc) in messages.LIMITS.items()]),
            ("FOLLOWED.phase", "FOLLOW_PHASE", [(k, n, doc) for k, (n, doc) in messages.FOLLOW_PHASES.items()]),
            ("FOLLOWED.limits", "FOLLOW_LIMIT", [(k, n, doc) for k, (n, doc) in messages.FOLLOW_LIMITS.items()]),
        ],
        follow_auto=messages.FOLLOW_AUTO,
        target_flags=[("END", messages.TARGET_END), ("RATES", messages.TARGET_RATES)],
        messages=[_message(m, joints) for m in MESSAGES],
        header=codec.HEADER.size,
        crc=codec.CRC.size,
        rx_max=_longest("board", joints),
        tx_max=_longest("host", joints),
        rx_stuffed=longest_on_the_wire("board", joints),
        tx_stuffed=longest_on_the_wire("host", joints),
    )


def longest_on_the_wire(to: str, joints: int) -> int:
    """Return the bytes of the longest stuffed frame to "host" or "board", including the final zero."""
    return codec.stuffed_size(_longest(to, joints))


def _longest(to: str, joints: int) -> int:
    return codec.OVERHEAD + max(codec.payload_size(m, joints) for m in MESSAGES if m.to == to)


def _message(m: Message, joints: int) -> Struct:
    fields, offset = [], 0
    for f in m.fields:
        fields.append(_field(f, joints, offset))
        offset += codec.SIZES[f.type] * codec.length(f, joints)
    return Struct(m.name, m.name.lower(), m.type, m.doc, m.to, offset, fields)


def _field(f: Field, joints: int, offset: int) -> Member:
    n = codec.length(f, joints)
    return Member(f.name, _C_TYPES[f.type], f.type, f.doc, array=f.length != 1,
                  n="FT_MSG_JOINTS" if f.length == messages.J else f"{n}u", offset=offset, size=codec.SIZES[f.type])
