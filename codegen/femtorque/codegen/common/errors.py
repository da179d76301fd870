"""The two exceptions of femtorque for expected errors: bad input (exit status 2) and refusal (exit status 1)."""

from femtorque.codegen.common.sanitize import tidied


class BadInput(Exception):
    """Bad input: the user's input is unusable. The text has one line: file, key, value, rule, nearest valid value."""

    def __init__(self, file: object, key: str, value: object, rule: str, hint: str = "") -> None:
        self.file, self.key, self.value, self.rule, self.hint = str(file), key, value, rule, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        value = tidied(self.value) if isinstance(self.value, float) else self.value
        shown = "" if value is None else f" = {value!r}"
        line = f"{self.file}: {self.key}{shown}: {self.rule}"
        return " ".join((line + (f"; {self.hint}" if self.hint else "")).split())


class Refused(Exception):
    """A refusal: the input is valid, but a check failed or a fault stopped the run."""


class Stopped(Refused):
    """A stop by Ctrl-C, which is not an error."""
