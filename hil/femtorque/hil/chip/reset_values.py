"""Values of a chip's registers after a reset, taken from the vendor's description.

`python -m femtorque.hil.chip.reset_values stm32g4 STM32G474.svd` writes hil/chip/stm32g4/reset_values.txt: a line for
each register of PERIPHERALS that is not zero. The CMSIS-SVD files are from ST, copied from modm
(modm-io/cmsis-svd-stm32 on GitHub, commit c97f752f: stm32f4/STM32F405.svd, stm32g4/STM32G474.svd).
cmsis-svd/cmsis-svd-data, commit 05a9562e, agrees in each used register, except that its FLASH.ACR of the G4 lacks
DBG_SWEN. CORRECTIONS replaces wrong values, each with its source."""

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent

PERIPHERALS = ("RCC", "FLASH", "PWR", "SYSCFG", "EXTI", "GPIO", "TIM", "USART", "UART", "LPUART", "ADC", "SPI", "DMA",
               "IWDG", "DBG", "CAN", "FDCAN1", "FDCAN2", "FDCAN3")

# family: register: (correct value, why the value in the file is wrong)
CORRECTIONS: dict[str, dict[str, tuple[int, str]]] = {
    "stm32f4": {
        "PWR.CR": (0x4000, "RM0090 5.4.1: VOS is set; the file is that of the F2, which has no VOS"),
        "PWR.CSR": (0x4000, "RM0090 5.4.2: VOSRDY"),
        **{f"CAN{i}.BTR": (0x01230000, "RM0090 32.9.2: TS1 and TS2 are 3 and 2, SJW is 1; the file has none")
           for i in (1, 2)},
        "GPIOA.OSPEEDR": (0x0C000000, "RM0090 8.4.3: the debug port's SWDIO is fast"),
        **{f"{name}.SR": (0xC0, "RM0090 30.6.1: TXE and TC; the file has them sixteen bits higher")
           for name in ("USART1", "USART2", "USART3", "UART4", "UART5", "USART6")},
        **{f"TIM{i}.ARR": (0xFFFFFFFF if i in (2, 5) else 0xFFFF,
                           "all ones as in the G4's file: the timers count without its being written")
           for i in (1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14)},
    },
    "stm32g4": {
        "RCC.CR": (0x500, "RM0440 7.4.1: HSION and HSIRDY; the file has the L4's MSI"),
        "FLASH.ACR": (0x40600, "RM0440 3.7.1: no wait state out of reset; the file has what ST's programs run with"),
        **{f"{name}.ISR": (0xC0, "RM0440 37.8.10: TXE and TC")
           for name in ("USART1", "USART2", "USART3", "UART4", "UART5")},
        "RCC.CSR": (0, "its flags tell why the reset came"),
    },
}
CORRECTIONS["stm32f4"]["RCC.CSR"] = CORRECTIONS["stm32g4"]["RCC.CSR"]


def of_svd(svd: Path) -> Iterator[tuple[str, int, int]]:
    """Yield (PERIPHERAL.REGISTER, address, value) of each register of PERIPHERALS."""
    root = ET.parse(svd).getroot()
    bare = {p.findtext("name"): p for p in root.iter("peripheral")}
    for name, p in bare.items():
        assert name is not None
        if not name.startswith(PERIPHERALS):
            continue
        base = _number(p.findtext("baseAddress"))
        for r in (bare[p.get("derivedFrom")] if p.get("derivedFrom") else p).iter("register"):
            register = re.sub(r"^[A-Z]+\d*_(?=[A-Z])", "", r.findtext("name") or "")
            yield f"{name}.{register}", base + _number(r.findtext("addressOffset")), _number(r.findtext("resetValue")
                                                                                             or "0")


def _number(text: str | None) -> int:
    assert text is not None
    return int(text, 16)


def render(family: str, svd: Path) -> str:
    """Return the text of the reset-value table of a family."""
    corrections = CORRECTIONS[family]
    lines = [f"# Made by hil/chip/reset_values.py from {svd.name}: address, value after reset, register. The others "
             f"come up as zero."]
    seen = set()
    for name, address, value in sorted(of_svd(svd), key=lambda row: row[1]):
        value, why = corrections.get(name, (value, ""))
        if value and address not in seen:
            lines.append(f"0x{address:08X} 0x{value:08X} {name}" + (f"  # {why}" if why else ""))
        seen.add(address)
    return "\n".join(lines) + "\n"


@cache
def after_reset(family: str) -> dict[int, int]:
    """Return the values after reset that are not zero, by address."""
    text = (HERE / family / "reset_values.txt").read_text(encoding="utf-8")
    rows = [line.split()[:2] for line in text.splitlines() if line and not line.startswith("#")]
    return {int(address, 16): int(value, 16) for address, value in rows}


if __name__ == "__main__":
    chosen, file = sys.argv[1:]
    (HERE / chosen / "reset_values.txt").write_text(render(chosen, Path(file)), encoding="utf-8", newline="\n")
