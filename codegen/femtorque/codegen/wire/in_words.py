"""Words for the states, flags, faults and refusals of the serial protocol."""

from dataclasses import dataclass
from typing import Any

from femtorque.codegen.common import BadInput, hint
from femtorque.codegen.wire import messages
from femtorque.codegen.wire.messages import Status

_STATE = {number: name for name, (number, _) in messages.STATES.items()}


def state_name(status: Status) -> str:
    """Return the name of the state that a STATUS reports."""
    return _STATE.get(status.state, f"state {status.state}")


def flag(status: Status, name: str) -> bool:
    """Return True if a STATUS has this flag of messages.FLAGS."""
    return bool(status.flags & messages.FLAGS[name][0])


def names(table: dict[str, tuple[Any, ...]], bits: int) -> tuple[str, ...]:
    """Return the names of the bits that are set in FLAGS or LIMITS."""
    return tuple(name for name, row in table.items() if bits & row[0])


_FLAG_WORDS = {
    "HOMED": "homed", "ENDED": "motion ended", "UNDERRUN": "stopped: knots ran out", "STOPPED": "stopped by the host",
    "OUTPUTS": "outputs on", "HOST_SILENT": "stopped: host silent", "OVERLAY": "gains not the file's",
    "SEEKING": "seeking a zero",
}


def flag_words(flags: int) -> str:
    """Return STATUS's flags in words, as `homed, outputs on`."""
    return ", ".join(_FLAG_WORDS[name] for name in names(messages.FLAGS, flags))


def explain(table: dict[str, tuple[int, str, str]], number: int, joint: str = "") -> str:
    """Return `NAME at joint X: meaning; what to do` for an entry of FAULTS or REFUSALS."""
    for name, (value, meaning, mend) in table.items():
        if value == number:
            where = f" at joint {joint}" if joint else ""
            return f"{name}{where}: {meaning}" + (f"; {mend}" if mend else "")
    return f"number {number}, which this host has no name for; host and board differ in version"


def driver_words(word: int) -> str:
    """Return STATUS.driver_status in words, for example `driver 1: FETHA_OC, PVDD_UV`; empty for 0."""
    bits = [name for name, bit in sorted(messages.DRIVER_STATUS.items(), key=lambda row: -row[1]) if word >> bit & 1]
    return f"driver {word >> messages.DRIVER_NUMBER}: {', '.join(bits)}" if bits else ""


def fault_words(status: Status, joint: str = "") -> str:
    """Return the fault that a STATUS reports in words, with the report of a gate driver."""
    driver = driver_words(status.driver_status) if fault_name(status.fault) == "DRIVER" else ""
    return explain(messages.FAULTS, status.fault, joint) + (f" ({driver})" if driver else "")


def fault_name(number: int) -> str:
    """Return the name of a fault of messages.FAULTS."""
    return next((name for name, row in messages.FAULTS.items() if row[0] == number), str(number))


@dataclass(frozen=True)
class Entry:
    """A row of docs/faults.md."""

    name: str
    kind: str  # state, fault, refusal or limit
    meaning: str
    mend: str = ""  # its remedy
    reaction: str = ""  # a fault's class

    def __str__(self) -> str:
        lines = [f"{self.name}, a {self.kind}" + (f" of class {self.reaction}" if self.reaction else ""),
                 f"means: {self.meaning}", *([f"do:    {self.mend}"] if self.mend else [])]
        if self.reaction in messages.FAULT_CLASSES:
            _, reactions, about = messages.FAULT_CLASSES[self.reaction]
            lines.append(f"class: {about}; [safety] {self.reaction} chooses {' or '.join(reactions)}")
        return "\n".join(lines)


def looked_up(name: str) -> list[Entry]:
    """Return every row with this name, in any case and with - for _. Raise BadInput for an unknown name."""
    wanted, entries = name.strip().upper().replace("-", "_"), list[Entry]()
    for kind, table in (("state", messages.STATES), ("fault", messages.FAULTS), ("refusal", messages.REFUSALS),
                        ("limit", messages.LIMITS)):
        rows: dict[str, tuple[Any, ...]] = dict(table)
        for key, (_, meaning, *mend) in rows.items():
            if key != "NONE":
                entries.append(Entry(key, kind, meaning, "".join(mend), class_of(key) if kind == "fault" else ""))
    found = [entry for entry in entries if entry.name == wanted]
    if not found:
        raise BadInput("command line", "NAME", name, "no state, fault, refusal or limit has that name",
                       hint(wanted, [entry.name for entry in entries]))
    return found


def class_of(fault: str) -> str:
    """Return the name of a fault's class. Return "outputs off" if the fault's reaction cannot be chosen."""
    return next((name for name, (faults, _, _) in messages.FAULT_CLASSES.items() if fault in faults), "outputs off")
