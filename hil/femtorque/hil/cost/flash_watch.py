"""The flash waits in an image's control ticks, from femtorque.hil.chip.timing.FlashFetch with the executed
instructions. Caches are empty when a tick begins, which is the worst case."""

from femtorque.hil.board import VirtualBoard
from femtorque.hil.chip import FIRST_IRQ, FLASH_MEMORIES, FLASH_START, FlashFetch, Handled

BEGINS = ("ft_boundary_interrupt", "ft_tick_interrupt")  # the first of these handlers in an image begins a tick
CURRENT = "ft_current_interrupt"  # interrupts a tick


class TooLong(Exception):
    """Raised if a tick takes longer than its limit. cycles: cycles of the tick. waiting: flash waits among them."""

    def __init__(self, cycles: int, waiting: int) -> None:
        super().__init__(f"a tick takes {cycles} cycles")
        self.cycles, self.waiting = cycles, waiting


class FlashWatch:
    """Records a board's flash waits; created before the board runs. limit: cycles, above which a tick raises TooLong.
    worst: cycles and stalls of the longest tick. current: cycles of the current loops' longest run, with stalls."""

    def __init__(self, board: VirtualBoard, limit: int) -> None:
        self._board, self._limit, core = board, limit, board.chip.core
        self.stalls: list[int] = []  # flash waits of each tick with its interrupts, cycles
        self.worst, self.current = (0, 0), 0
        symbols, memory = board.image.symbols, FLASH_MEMORIES[board.board.chip.name]
        handlers = [next(name for name in BEGINS if name in symbols),
                    *(name for name in (CURRENT, ) if name in symbols)]
        self._fetches = [FlashFetch(memory) for _ in handlers]
        addresses = [symbols[name].address for name in handlers]
        end = FLASH_START + board.chip.REGIONS[0].size
        self._watches = core.counter.watch(dict(zip(addresses, self._fetches, strict=True)), FLASH_START, end)
        self._before = 0
        done = core.on_exception

        def on_exception(number: int, handled: Handled) -> None:
            done(number, handled)
            self._ended(number, handled.cycles)

        core.on_exception = on_exception
        core.hear()

    def _ended(self, number: int, cycles: int) -> None:
        if number == self._board.tick_exception:
            self._watches[0].running = 0
            self.stalls.append(self._fetches[0].stalls)
            self.worst = max(self.worst, (self._board.tick_cycles, self.stalls[-1]), key=sum)
            if sum(self.worst) > self._limit:
                raise TooLong(sum(self.worst), self.worst[1])
        elif len(self._watches) > 1 and self._watches[1].running and number >= FIRST_IRQ:
            self._watches[1].running = 0
            self.current = max(self.current, cycles - self._before + self._fetches[1].stalls)
            self._before = cycles
