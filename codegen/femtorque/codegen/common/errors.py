"""The two negative answers of femtorque: bad input (exit status 2) and refusal (exit status 1)."""

from femtorque.codegen.common.sanitize import tidied


class BadInput(Exception):
    """An unusable input of the user. The error's text is one line: file, key, value, rule, nearest right value."""

    def __init__(self, file: object, key: str, value: object, rule: str, hint: str = "") -> None:
        self.file, self.key, self.value, self.rule, self.hint = str(file), key, value, rule, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        value = tidied(self.value) if isinstance(self.value, float) else self.value
        shown = "" if value is None else f" = {value!r}"
        line = f"{self.file}: {self.key}{shown}: {self.rule}"
        return " ".join((line + (f"; {self.hint}" if self.hint else "")).split())


class Refused(Exception):
    """A refusal of valid input, because a check failed or a fault stopped the run."""


class Stopped(Refused):
    """A stop by Ctrl-C, without a fault."""
