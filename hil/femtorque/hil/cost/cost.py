"""The cost of an image on the virtual board, as femtorque.hil.cost.measurement measures it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """The cost of a control tick. instructions_step: of ft_step in the worst tick of the short motion.
    instructions_tick, instructions_tick_mean: of the whole tick in the short motion, worst and mean.

    cycles_tick: of the worst observed tick, by the model. cycles_tick_flash: of the worst tick including its flash
    waits. cycles_unseen: of the longest path through code that no tick has executed. cycles_above: of interrupts during
    a tick. cycles_worst: the sum of the last three numbers. cycles_budget: of a control period. most_hz: maximum
    control rate whose period is longer than the worst case. left_out: parts of worst_tick_tour that the board did not
    complete.
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
        """Fraction of a control period that remains free in the worst case."""
        return 1.0 - self.cycles_worst / self.cycles_budget
