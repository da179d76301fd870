from .chip_library import ChipLibrary as ChipLibrary
from .cpu import CortexM4 as CortexM4, Handled as Handled
from .elf import Image as Image
from .family import chip_model as chip_model
from .nvic import FIRST_IRQ as FIRST_IRQ, PENDSV as PENDSV, SYSTICK as SYSTICK
from .registers import Unmodelled as Unmodelled
from .stm32.chip import FLASH_START as FLASH_START, SRAM_START as SRAM_START, Stm32 as Stm32
from .stm32.gpio import Gpio as Gpio
from .stm32.injected import Injected as Injected
from .stm32.serial import Serial as Serial
from .stm32.supply import NOMINAL as NOMINAL
from .stm32.timer import Timer as Timer
from .timing import FLASH_MEMORIES as FLASH_MEMORIES, FlashFetch as FlashFetch, FlashMemory as FlashMemory
