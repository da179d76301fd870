"""The cost of an image on the virtual board, as femtorque.hil.cost.measurement measures it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """The cost of a control tick."""

    instructions_step: int  # instructions of ft_step in the worst tick of the short motion
    instructions_tick: int  # instructions of the whole tick, worst tick
    instructions_tick_mean: float  # instructions of the whole tick, mean
    cycles_tick: int  # cycles of the worst observed tick, by the model
    cycles_tick_flash: int  # cycles of the worst observed tick, including its flash waits
    cycles_unseen: int  # cycles of the longest path through code that no tick has executed
    cycles_above: int  # cycles of interrupts during a tick
    cycles_worst: int  # the sum of the last three numbers
    cycles_budget: int  # cycles of a control period
    most_hz: int  # maximum control rate whose period is longer than the worst case, Hz
    left_out: tuple[str, ...]  # parts of worst_tick_tour that the board did not complete

    @property
    def margin(self) -> float:
        """Fraction of a control period that remains free in the worst case."""
        return 1.0 - self.cycles_worst / self.cycles_budget
