"""Cost of an image on the virtual board, as femtorque.hil.cost.measurement finds it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Cost of the short motion. instructions_step: of ft_step, its worst tick; instructions_tick: of the whole tick,
    worst; instructions_tick_mean.

    Stack of the image's deepest path. cycles_tick: of the worst tick seen, by the model; cycles_tick_flash: with its
    waiting for flash; cycles_unseen: the longest path through code that no tick has executed; cycles_above: of what
    interrupts all that; cycles_worst: the sum of the last three; cycles_budget: those of a control period; most_hz: the
    highest rate of control in whose period the worst case fits. left_out: parts of worst_tick_tour that the
    board did not go through to their end.
    """

    instructions_step: int
    instructions_tick: int
    instructions_tick_mean: float
    cycles_tick: int
    cycles_tick_flash: int
    cycles_unseen: int
    cycles_above: int
    cycles_worst: int
    cycles_budget: int
    most_hz: int
    left_out: tuple[str, ...]

    @property
    def margin(self) -> float:
        """The share of a control period that the worst case leaves."""
        return 1.0 - self.cycles_worst / self.cycles_budget
