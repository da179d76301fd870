"""What waiting for flash costs the control ticks of an image: the instructions of every tick, as they are executed, through
the model of the chip's flash (hil.timing.FlashFetch), its caches empty at each tick's beginning, which is the worst."""

from __future__ import annotations

from unicorn import UC_HOOK_BLOCK, UC_HOOK_MEM_READ, Uc

from hil.board import VirtualBoard
from hil.nvic import SYSTICK
from hil.stm32.chip import FLASH_START
from hil.timing import FLASH_MEMORIES, FlashFetch, decoded


class TooLong(Exception):
    """A tick takes longer than it may. cycles: of it, with those that it waits for flash."""

    def __init__(self, cycles: int, waiting: int) -> None:
        super().__init__(f"a tick takes {cycles} cycles")
        self.cycles, self.waiting = cycles, waiting


class FlashWatch:
    """Hung on a board before it runs. limit: cycles; raises TooLong at the first tick that takes more. stalls: cycles of
    every tick so far."""

    def __init__(self, board: VirtualBoard, limit: int) -> None:
        self._core, self._tick = board.chip.core, board.tick_exception
        self._board, self._limit = board, limit
        self._memory = FLASH_MEMORIES[board.board.chip.name]
        self._fetch = FlashFetch(self._memory)
        self._decoded: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        self.stalls: list[int] = []
        uc = self._core.uc
        uc.hook_add(UC_HOOK_BLOCK, self._block)
        uc.hook_add(UC_HOOK_MEM_READ, self._read, begin=FLASH_START, end=FLASH_START + board.chip.REGIONS[0].size - 1)
        done = self._core.on_exception
        self._core.on_exception = lambda number, handled: (done(number, handled), self._ended(number))

    def _in_tick(self) -> bool:
        return bool({self._tick, SYSTICK} & set(self._core.nvic.active))

    def _block(self, uc: Uc, address: int, size: int, _: object) -> None:
        if not self._in_tick():
            return
        key = (address, size)
        if key not in self._decoded:
            self._decoded[key] = decoded(address, self._core.memory(address, size))
        for instruction in self._decoded[key]:
            self._fetch.execute(*instruction)

    def _read(self, uc: Uc, access: int, address: int, size: int, value: int, _: object) -> None:
        if self._in_tick():
            self._fetch.read(address)

    def _ended(self, number: int) -> None:
        if number == self._tick:
            self.stalls.append(self._fetch.stalls)
            self._fetch = FlashFetch(self._memory)
            if self._board.tick_cycles + self.stalls[-1] > self._limit:
                raise TooLong(self._board.tick_cycles + self.stalls[-1], self.stalls[-1])
