"""Numbers of the wire in words: states, flags, faults, refusals."""

from __future__ import annotations

from typing import Any

from femtorque.codegen.wire import messages
from femtorque.codegen.wire.messages import Status

_STATE = {number: name for name, (number, _) in messages.STATES.items()}


def state_name(status: Status) -> str:
    """The name of a STATUS's state."""
    return _STATE.get(status.state, f"state {status.state}")


def flag(status: Status, name: str) -> bool:
    """True if a STATUS has one of messages.FLAGS set."""
    return bool(status.flags & messages.FLAGS[name][0])


def names(table: dict[str, tuple[Any, ...]], bits: int) -> tuple[str, ...]:
    """The names of the bits that are set (FLAGS, LIMITS)."""
    return tuple(name for name, row in table.items() if bits & row[0])


_FLAG_WORDS = {
    "HOMED": "homed", "ENDED": "motion ended", "UNDERRUN": "stopped: knots ran out", "STOPPED": "stopped by the host",
    "OUTPUTS": "outputs on", "HOST_SILENT": "stopped: host silent", "OVERLAY": "gains not the file's",
    "SEEKING": "seeking a zero",
}


def flag_words(flags: int) -> str:
    """STATUS's flags for people, as `homed, outputs on`."""
    return ", ".join(_FLAG_WORDS[name] for name in names(messages.FLAGS, flags))


def explain(table: dict[str, tuple[int, str, str]], number: int, joint: str = "") -> str:
    """`NAME at joint X: what it means; what to do`, from FAULTS or REFUSALS."""
    for name, (value, meaning, mend) in table.items():
        if value == number:
            where = f" at joint {joint}" if joint else ""
            return f"{name}{where}: {meaning}" + (f"; {mend}" if mend else "")
    return f"number {number}, which this host has no name for; host and board differ in version"


def driver_words(word: int) -> str:
    """Words for STATUS.driver_status, as `driver 1: FETHA_OC, PVDD_UV`; empty for 0."""
    bits = [name for name, bit in sorted(messages.DRIVER_STATUS.items(), key=lambda row: -row[1]) if word >> bit & 1]
    return f"driver {word >> messages.DRIVER_NUMBER}: {', '.join(bits)}" if bits else ""


def fault_words(status: Status, joint: str = "") -> str:
    """A STATUS's fault in words, with what a gate driver says of it."""
    driver = driver_words(status.driver_status) if fault_name(status.fault) == "DRIVER" else ""
    return explain(messages.FAULTS, status.fault, joint) + (f" ({driver})" if driver else "")


def fault_name(number: int) -> str:
    """The name of one of messages.FAULTS."""
    return next((name for name, row in messages.FAULTS.items() if row[0] == number), str(number))
