"""The two ways femtorque says no: bad input (exit status 2) and an answer that is no (exit status 1)."""

from femtorque.codegen.common.sanitize import tidied


class BadInput(Exception):
    """Something the user gave cannot be used. Prints as one line: file, key, value, rule, nearest right thing."""

    def __init__(self, file: object, key: str, value: object, rule: str, hint: str = "") -> None:
        self.file, self.key, self.value, self.rule, self.hint = str(file), key, value, rule, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        value = tidied(self.value) if isinstance(self.value, float) else self.value
        shown = "" if value is None else f" = {value!r}"
        line = f"{self.file}: {self.key}{shown}: {self.rule}"
        return " ".join((line + (f"; {self.hint}" if self.hint else "")).split())


class Refused(Exception):
    """The input is understood and the answer is no: a check failed, a fault stopped the run."""


class Stopped(Refused):
    """Somebody stopped it, by Ctrl-C: nothing is wrong."""
