"""The models of the chip families, by name."""

from femtorque.codegen.board.chip import Chip
from femtorque.hil.chip.stm32.chip import Stm32
from femtorque.hil.chip.stm32f4.chip import Stm32F405
from femtorque.hil.chip.stm32g4.chip import Stm32G474

_MODELS: dict[str, type[Stm32]] = {model.FAMILY.name: model for model in (Stm32F405, Stm32G474)}


def chip_model(chip: Chip) -> type[Stm32]:
    """Return the model of a chip."""
    return _MODELS[chip.name]
