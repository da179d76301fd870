"""The C side of the wire: ft_messages.h and .c, from the table of femtorque.codegen.wire.messages, for a number of
joints."""

from __future__ import annotations

from typing import Any

from femtorque.codegen.common.templating import template
from femtorque.codegen.wire import codec, messages
from femtorque.codegen.wire.messages import MESSAGES, Field, Message

_C_TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "i32": "int32_t", "i64": "int64_t", "f32": "float"}


def render(joints: int) -> dict[str, str]:
    """{file name: text} of the C messages."""
    context = _context(joints)
    return {name: template(name).render(context) for name in ("ft_messages.h", "ft_messages.c")}


def _context(joints: int) -> dict[str, Any]:
    return {
        "joints": joints,
        "protocol": messages.PROTOCOL,
        "status_hz": messages.STATUS_HZ,
        "fault_numbers": messages.FAULT_NUMBERS,
        "knot_flags": [("START", messages.KNOT_START), ("END", messages.KNOT_END),
                       ("MODE", messages.KNOT_MODE)],
        "enums": [
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
        "follow_auto": messages.FOLLOW_AUTO,
        "target_flags": [("END", messages.TARGET_END), ("RATES", messages.TARGET_RATES)],
        "messages": [_message(m, joints) for m in MESSAGES],
        "header": codec.HEADER.size,
        "crc": codec.CRC.size,
        "rx_max": _longest("board", joints),
        "tx_max": _longest("host", joints),
        "rx_stuffed": longest_on_the_wire("board", joints),
        "tx_stuffed": longest_on_the_wire("host", joints),
    }


def longest_on_the_wire(to: str, joints: int) -> int:
    """Bytes of the longest frame to "host" or "board", stuffed, with the closing zero."""
    return codec.stuffed_size(_longest(to, joints))


def _longest(to: str, joints: int) -> int:
    return codec.OVERHEAD + max(codec.payload_size(m, joints) for m in MESSAGES if m.to == to)


def _message(m: Message, joints: int) -> dict[str, Any]:
    fields, offset = [], 0
    for f in m.fields:
        fields.append(_field(f, joints, offset))
        offset += codec.SIZES[f.type] * codec.length(f, joints)
    return {"name": m.name, "lower": m.name.lower(), "type": m.type, "doc": m.doc, "to": m.to,
            "size": offset, "fields": fields}


def _field(f: Field, joints: int, offset: int) -> dict[str, Any]:
    n = codec.length(f, joints)
    return {"name": f.name, "c": _C_TYPES[f.type], "type": f.type, "doc": f.doc, "array": f.length != 1,
            "n": "FT_MSG_JOINTS" if f.length == messages.J else f"{n}u", "offset": offset, "size": codec.SIZES[f.type]}
