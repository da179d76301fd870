"""Tests that the hand-written register headers agree with independent sources: ST's SVD file, a table from RM0440, and
pyocd's constants for the core."""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from assurance.registers import register_map

CHIP = Path(__file__).resolve().parents[2] / "firmware" / "chip"


@dataclass(frozen=True)
class Family:
    """A chip family. nested: arrays of structs in each struct: name, elements, struct, and pattern of the second
    source's name."""

    folders: tuple[Path, ...]  # folders with its headers
    registers: Callable[[], register_map.Map]  # registers in the second source
    ports: str  # letters of the ports
    names: dict[str, str]  # registers with another name in the second source, by member or by instance and member
    nested: dict[str, list[tuple[str, int, str, str]]]
    bits: str  # registers whose macros are compared, as the beginnings of the macros
    instances: dict[str, str]  # the instance whose registers have these fields
    fields: dict[str, str]  # fields with another name in the second source
    least: int  # smallest number of compared registers

    @property
    def header(self) -> str:
        paths = [path for folder in self.folders for path in folder.glob("*registers.h")]
        return "".join(path.read_text(encoding="utf-8") for path in paths)

    @property
    def by_name(self) -> dict[str, register_map.Reg]:
        return {reg.name: reg for reg in self.registers().values()}

    def members(self, struct: str) -> list[str]:
        """Return the register names of a struct in the header, with one name for each element of an array."""
        body = re.search(r"typedef struct \{([^}]*)\} " + struct + ";", self.header)[1]
        body = re.sub(r"/\*.*?\*/|RESERVED\([^)]*\);", "", body, flags=re.S)
        names = []
        for declaration in re.findall(r"volatile uint32_t ([^;]+);", body):
            for name in re.split(r"\s*,\s*", declaration.strip()):
                array = re.fullmatch(r"(\w+)\[(\d+)\]", name)
                names += [f"{array[1]}[{i}]" for i in range(int(array[2]))] if array else [name]
        return names

    def named(self, instance: str, member: str) -> str:
        """Return the name of a register in the second source. For example, CCR[0] is CCR1 in the second source."""
        plain = re.sub(r"(CCR|JDR)\[(\d)\]", lambda m: f"{m[1]}{int(m[2]) + 1}", member)
        return self.names.get(f"{instance}.{member}", f"{instance}.{self.names.get(member, plain)}")

    def places(self) -> Iterator[tuple[str, str]]:
        """Return C expressions for all registers of the header, with their names in the second source."""
        structs = dict(re.findall(r"#define (\w+) \(\((\w+_TypeDef) \*\)0x", self.header))
        for name, struct in (structs | {f"GPIO{port}": "GPIO_TypeDef" for port in self.ports}).items():
            instance = f"GPIO({self.ports.index(name[4:])})" if name.startswith("GPIO") else name
            for member in self.members(struct):
                yield f"&{instance}->{member}", self.named(name, member)
            for array, count, inner, pattern in self.nested.get(struct, []):
                for i in range(count):
                    for member in self.members(inner):
                        there = pattern.format(member, member.replace("R", ""), i=i, number=i + 1)
                        yield f"&{instance}->{array}[{i}].{member}", f"{name}.{there}"

    def field(self, register: str, name: str) -> tuple[int, int]:
        """Return the lowest bit and the bits of the field to which a macro belongs. The macro's name may end with a
        value of the field. The SVD file splits some fields (PLLM0 ... PLLM5), and marks the second meaning of a
        register with a quote."""
        fields = self.by_name[register].fields
        plain = self.fields.get(name, name)
        for key in (plain, f"{plain}'"):
            if key in fields:
                return fields[key]
        bits = sorted(low for key, (low, _) in fields.items() if re.fullmatch(plain + r"\d", key))
        if bits:
            return bits[0], len(bits)
        assert "_" in name, f"{register} has no field {name}"
        return self.field(register, name.rpartition("_")[0])

    def evaluate(self, folder: Path, expressions: list[str]) -> list[int]:
        """Return the values of C expressions that use the header, evaluated by the cross compiler."""
        source, target = folder / "values.c", folder / "values.o"
        source.write_text('#include "ft_registers.h"\nconst uint32_t values[] = {\n'
                          + ",\n".join(f"(uint32_t)({e})" for e in expressions) + "};\n", encoding="utf-8")
        subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-c",
                        *(f"-I{place}" for place in self.folders), source, "-o", target], check=True)
        with target.open("rb") as file:
            data = ELFFile(file).get_section_by_name(".rodata").data()
        return [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]


RENAMED = {"AFR[0]": "AFRL", "AFR[1]": "AFRH"}
F4 = Family(
    (CHIP / "stm32f4", CHIP / "stm32"), register_map.stm32f405, "ABCDEFGH",
    RENAMED | {"CCMR1": "CCMR1_Output", "CCMR2": "CCMR2_Output", "ISR[0]": "LISR", "ISR[1]": "HISR", "IFCR[0]": "LIFCR",
               "IFCR[1]": "HIFCR", "RFR[0]": "RF0R", "RFR[1]": "RF1R", "RFR": "RF0R", "SxCR": "S5CR",
               **{f"FR[{i}]": f"F{i // 2}R{i % 2 + 1}" for i in range(56)},
               **{f"DBGMCU.{name}": f"DBG.DBGMCU_{there}" for name, there in (
                   ("IDCODE", "IDCODE"), ("CR", "CR"), ("APB1FZ", "APB1_FZ"), ("APB2FZ", "APB2_FZ"))}},
    {"CAN_TypeDef": [("T", 3, "CAN_Box_TypeDef", "T{1}{i}R"), ("R", 2, "CAN_Box_TypeDef", "R{1}{i}R")],
     "DMA_TypeDef": [("S", 8, "DMA_Stream_TypeDef", "S{i}{0}")]},
    "RCC_CR RCC_PLLCFGR RCC_CFGR RCC_AHB1ENR RCC_APB1ENR RCC_APB2ENR RCC_CSR FLASH_ACR PWR_CR PWR_CSR TIM_CR1 TIM_CR2 "
    "TIM_SMCR TIM_SR TIM_EGR TIM_CCMR1 TIM_CCMR2 TIM_CCER TIM_BDTR ADC_CR1 ADC_CR2 ADC_JSQR ADC_SR SPI_CR1 SPI_SR "
    "USART_SR USART_CR1 USART_CR3 DMA_SxCR CAN_MCR CAN_MSR CAN_TSR CAN_RFR CAN_IER CAN_ESR CAN_BTR CAN_FMR CAN_TI0R "
    "DBGMCU_CR DBGMCU_APB1FZ DBGMCU_APB2FZ",
    {"TIM": "TIM8", "ADC": "ADC1", "SPI": "SPI3", "USART": "USART2", "DMA": "DMA1", "CAN": "CAN1"},
    {"DBG_IWDG_STOP": "DBG_IWDEG_STOP", "IC1PSC": "ICPCS", "IWDGRSTF": "WDGRSTF", "PINRSTF": "PADRSTF", "FMP": "FMP0",
     "FULL": "FULL0", "FOVR": "FOVR0", "RFOM": "RFOM0"}, 613)
G4 = Family(
    (CHIP / "stm32g4", CHIP / "stm32"), register_map.stm32g474, "ABCDEFG",
    RENAMED | {"CCR": "CCR1"} | {f"DMAMUX1.CCR[{i}]": f"DMAMUX1.C{i}CR" for i in range(16)},
    {"DMA_TypeDef": [("C", 8, "DMA_Channel_TypeDef", "{0}{number}")]},
    "RCC_CR RCC_CFGR RCC_PLLCFGR RCC_AHB1ENR RCC_AHB2ENR RCC_APB1ENR1 RCC_APB1ENR2 RCC_APB2ENR RCC_CSR RCC_CCIPR "
    "FLASH_ACR PWR_CR2 PWR_CR3 PWR_CR5 PWR_SR2 USART_CR1 USART_CR3 USART_ISR DMA_CCR TIM_CR1 TIM_CR2 TIM_SMCR TIM_SR "
    "TIM_EGR TIM_CCER TIM_BDTR ADC_ISR ADC_CR ADC_IER ADC_JSQR FDCAN_DBTP FDCAN_CCCR FDCAN_NBTP FDCAN_ECR FDCAN_PSR "
    "FDCAN_TDCR FDCAN_IR FDCAN_IE FDCAN_ILE FDCAN_RXF0S FDCAN_TXBC FDCAN_TXFQS SYSCFG_CFGR2 DBGMCU_CR DBGMCU_APB2FZ "
    "DBGMCU_APB1FZR1",
    {"TIM": "TIM1", "ADC": "ADC1", "USART": "LPUART1", "DMA": "DMA1", "FDCAN": "FDCAN1"}, {}, 443)


@pytest.fixture(params=[F4, G4], ids=["stm32f4", "stm32g4"])
def family(request) -> Family:
    return request.param


def test_every_register_is_where_the_vendor_says(family, tmp_path):
    """All timers have the largest timer's struct. The G4's table has only registers that the firmware uses."""
    there = family.by_name
    places = [(expression, there[name].address) for expression, name in family.places() if name in there]
    assert len(places) >= family.least
    found = family.evaluate(tmp_path, [expression for expression, _ in places])
    assert [(e, hex(right), hex(here)) for (e, right), here in zip(places, found, strict=True) if right != here] == []


def test_every_bit_is_where_the_vendor_says(family, tmp_path):
    macros, checks = re.findall(r"^#define (\w+) ", family.header, re.M), []
    for begin in family.bits.split():
        kind, _, member = begin.partition("_")
        register = family.named(family.instances.get(kind, kind), member)
        checks += [(macro, *family.field(register, macro[len(begin) + 1:].removesuffix("_Pos")))
                   for macro in macros if macro.startswith(f"{begin}_") and not macro.endswith("_SR_FLAGS")]
    assert len(checks) > 150
    values = family.evaluate(tmp_path, [macro for macro, _, _ in checks])
    right = [value == low if macro.endswith("_Pos") else value and not value & ~(((1 << bits) - 1) << low)
             for (macro, low, bits), value in zip(checks, values, strict=True)]
    assert [check for check, good in zip(checks, right, strict=True) if not good] == []


def test_registers_that_stand_alone_are_where_the_vendor_says(tmp_path):
    there = F4.by_name
    expected = {"&TIM5_OR": there["TIM5.OR"].address, "FT_LSI_TIMER_LSI": 1 << there["TIM5.OR"].fields["IT4_RMP"][0],
                "EXTI_LINE_PVD": 1 << there["EXTI.RTSR"].fields["TR16"][0]}
    assert dict(zip(expected, F4.evaluate(tmp_path, list(expected)), strict=True)) == expected


def test_core_registers_are_where_another_debugger_finds_them(tmp_path):
    from pyocd.coresight.cortex_m import CortexM
    from pyocd.coresight.dwt import DWT

    expected = {
        "&SCB->CPUID": CortexM.CPUID, "&SCB->ICSR": CortexM.ICSR, "&SCB->VTOR": CortexM.VTOR,
        "&SCB->AIRCR": CortexM.NVIC_AIRCR, "&SCB->SCR": CortexM.SCR, "&SCB->SHPR[0]": CortexM.SHPR1,
        "&SCB->SHPR[2]": CortexM.SHPR3, "&SCB->SHCSR": CortexM.SHCSR, "&SCB->DFSR": CortexM.DFSR,
        "&SCB->CPACR": CortexM.CPACR, "SCB_CPACR_CP10_CP11": CortexM.CPACR_CP10_CP11_MASK,
        "SCB_AIRCR_VECTKEY": CortexM.NVIC_AIRCR_VECTKEY, "SCB_AIRCR_SYSRESETREQ": CortexM.NVIC_AIRCR_SYSRESETREQ,
        "&DEMCR": CortexM.DEMCR, "DEMCR_TRCENA": CortexM.DEMCR_TRCENA,
        "&DWT->CTRL": 0xE0001000 + DWT.DWT_CTRL, "&DWT->CYCCNT": 0xE0001000 + DWT.DWT_CYCCNT,
        "DWT_CTRL_CYCCNTENA": DWT.DWT_CTRL_CYCCNTENA_MASK, "&SysTick->CTRL": CortexM.SYSTICK_CSR,
        # the following rows are from ARM DDI 0403E, tables B3-4 (system control) and B3-7 (SysTick)
        "&SysTick->LOAD": 0xE000E014, "&SysTick->VAL": 0xE000E018, "&SCB->CCR": 0xE000ED14,
        "&SCB->CFSR": 0xE000ED28, "&SCB->HFSR": 0xE000ED2C, "&SCB->MMFAR": 0xE000ED34, "&SCB->BFAR": 0xE000ED38,
    }
    assert dict(zip(expected, F4.evaluate(tmp_path, list(expected)), strict=True)) == expected


@pytest.mark.parametrize("check, right, wrong", [
    (test_every_register_is_where_the_vendor_says, "USART2 ((USART_TypeDef *)0x40004400u)",
     "USART2 ((USART_TypeDef *)0x40004800u)"),
    (test_every_bit_is_where_the_vendor_says, "RCC_CR_HSEON (1u << 16)", "RCC_CR_HSEON (1u << 15)")])
def test_a_wrong_header_would_be_noticed(tmp_path, check, right, wrong):
    text = (CHIP / "stm32f4" / "ft_registers.h").read_text(encoding="utf-8")
    assert f"#define {right}" in text
    (tmp_path / "ft_registers.h").write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(AssertionError):
        check(replace(F4, folders=(tmp_path, CHIP / "stm32")), tmp_path)
