"""The hand-written register header against independent sources: ST's SVD and pyocd's own constants for the core."""

import re
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from assurance.registers import register_map

CHIP = Path(__file__).resolve().parents[2] / "firmware" / "chip"
FAMILY, SHARED = CHIP / "stm32f4", CHIP / "stm32"
HEADER = "".join(p.read_text(encoding="utf-8") for p in (SHARED / "stm32_registers.h", FAMILY / "ft_registers.h"))

# Laid out as another peripheral in the SVD, or spread over two names there.
SVD_NAMES = {"CCMR1": "CCMR1_Input", "CCMR2": "CCMR2_Output", "AFR[0]": "AFRL", "AFR[1]": "AFRH",
             "ISR[0]": "LISR", "ISR[1]": "HISR", "IFCR[0]": "LIFCR", "IFCR[1]": "HIFCR",
             "RFR[0]": "RF0R", "RFR[1]": "RF1R"} | {f"FR[{i}]": f"F{i // 2}R{i % 2 + 1}" for i in range(56)}
DEBUG_UNIT = {"IDCODE": "DBGMCU_IDCODE", "CR": "DBGMCU_CR", "APB1FZ": "DBGMCU_APB1_FZ", "APB2FZ": "DBGMCU_APB2_FZ"}


@cache
def svd(device: str = "STM32F41x") -> dict[str, dict[str, tuple[int, dict[str, tuple[int, int]]]]]:
    """Peripheral -> register -> (address, field -> (lowest bit, bits)). The F405 has the layout of the F41x."""
    package = find_spec("pyocd")
    assert package is not None, "pyocd is not installed (pip install pyocd): it carries the SVD"
    path = Path(package.origin).parent / "debug" / "svd" / "svd_data.zip"
    root = ET.fromstring(zipfile.ZipFile(path).read(f"{device}.svd"))
    bare = {p.findtext("name"): p for p in root.iter("peripheral")}
    found = {}
    for name, p in bare.items():
        base = int(p.findtext("baseAddress"), 0)
        layout = bare[p.get("derivedFrom")] if p.get("derivedFrom") else p
        found[name] = {}
        for r in layout.iter("register"):
            fields = {f.findtext("name"): (int(f.findtext("bitOffset")), int(f.findtext("bitWidth")))
                      for f in r.iter("field")}
            found[name][r.findtext("name")] = (base + int(r.findtext("addressOffset"), 0), fields)
    return found


def evaluate(tmp_path: Path, expressions: list[str]) -> list[int]:
    """Values of C expressions over the header, by the cross compiler."""
    source = tmp_path / "values.c"
    source.write_text('#include "ft_registers.h"\n' + "const uint32_t values[] = {\n"
                      + ",\n".join(f"(uint32_t)({e})" for e in expressions) + "};\n", encoding="utf-8")
    target = tmp_path / "values.o"
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-c", "-I", FAMILY, "-I", SHARED,
                    source, "-o", target],
                   check=True)
    with target.open("rb") as file:
        data = ELFFile(file).get_section_by_name(".rodata").data()
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def outside(tmp_path: Path, checks: list[tuple[str, tuple[int, int]]]) -> list[tuple[str, str, str]]:
    """Macros, with the lowest bit and the width of their fields, that do not lie there."""
    wrong = []
    for (macro, (low, bits)), value in zip(checks, evaluate(tmp_path, [m for m, _ in checks]), strict=True):
        mask = ((1 << bits) - 1) << low
        right = value == low if macro.endswith("_Pos") else value and not value & ~mask
        if not right:
            wrong.append((macro, hex(value), hex(mask)))
    return wrong


def members(struct: str) -> list[str]:
    """Register names of one struct of the header, arrays spelled out."""
    body = re.search(r"typedef struct \{([^}]*)\} " + struct + ";", HEADER)[1]
    body = re.sub(r"/\*.*?\*/|RESERVED\([^)]*\);", "", body, flags=re.S)
    names = []
    for declaration in re.findall(r"volatile uint32_t ([^;]+);", body):
        for name in re.split(r"\s*,\s*", declaration.strip()):
            array = re.fullmatch(r"(\w+)\[(\d+)\]", name)
            names += [f"{array[1]}[{i}]" for i in range(int(array[2]))] if array else [name]
    return names


def peripherals() -> dict[str, str]:
    """Instance -> struct, of ST's peripherals."""
    found = dict(re.findall(r"#define (\w+) \(\((\w+_TypeDef) \*\)0x", HEADER))
    return found | {f"GPIO{port}": "GPIO_TypeDef" for port in "ABCDEFGH"}


def svd_lacks(timer: str, member: str) -> bool:
    """Registers of larger timers only: the struct is that of the largest."""
    if timer in ("TIM1", "TIM8"):
        return False
    if timer in ("TIM9", "TIM12"):
        return member in ("CR2", "CCMR2", "CCR[2]", "CCR[3]", "RCR", "BDTR")
    if timer in ("TIM10", "TIM11", "TIM13", "TIM14"):
        return member in ("CR2", "SMCR", "CCMR2", "CCR[1]", "CCR[2]", "CCR[3]", "RCR", "BDTR")
    return member in ("RCR", "BDTR")


def test_every_register_is_where_the_vendor_says(tmp_path):
    expected, expressions = [], []
    for name, struct in peripherals().items():
        instance = f"GPIO({'ABCDEFGH'.index(name[4:])})" if name.startswith("GPIO") else name
        for member in members(struct):
            if name.startswith("TIM") and svd_lacks(name, member):
                continue
            plain = re.sub(r"(CCR|JDR)\[(\d)\]", lambda m: f"{m[1]}{int(m[2]) + 1}", member)
            there = svd()["DBG"][DEBUG_UNIT[plain]] if name == "DBGMCU" else svd()[name][SVD_NAMES.get(plain, plain)]
            expected.append((name, member, there[0]))
            expressions.append(f"&{instance}->{member}")
        if struct == "CAN_TypeDef":
            for way, boxes in (("T", 3), ("R", 2)):
                for box in range(boxes):
                    for member in members("CAN_Box_TypeDef"):
                        there = svd()[name][f"{way}{member.replace('R', '')}{box}R"]
                        expected.append((name, f"{way}[{box}].{member}", there[0]))
                        expressions.append(f"&{instance}->{way}[{box}].{member}")
        if struct == "DMA_TypeDef":
            for stream in range(8):
                for member in members("DMA_Stream_TypeDef"):
                    expected.append((name, f"S[{stream}].{member}", svd()[name][f"S{stream}{member}"][0]))
                    expressions.append(f"&{instance}->S[{stream}].{member}")
    assert len(expected) > 200
    wrong = [(n, m, hex(there), hex(here)) for (n, m, there), here in
             zip(expected, evaluate(tmp_path, expressions), strict=True) if there != here]
    assert wrong == []


# Macro prefix -> (peripheral, register) of the SVD.
BITS = {
    "RCC_CR_": ("RCC", "CR"), "RCC_PLLCFGR_": ("RCC", "PLLCFGR"), "RCC_CFGR_": ("RCC", "CFGR"),
    "RCC_AHB1ENR_": ("RCC", "AHB1ENR"), "RCC_APB1ENR_": ("RCC", "APB1ENR"), "RCC_APB2ENR_": ("RCC", "APB2ENR"),
    "RCC_CSR_": ("RCC", "CSR"), "FLASH_ACR_": ("FLASH", "ACR"), "PWR_CR_": ("PWR", "CR"), "TIM_CR1_": ("TIM8", "CR1"),
    "TIM_SMCR_": ("TIM3", "SMCR"), "TIM_SR_": ("TIM8", "SR"), "TIM_EGR_": ("TIM8", "EGR"),
    "TIM_CCMR1_": ("TIM3", "CCMR1_Input"), "TIM_CCER_": ("TIM8", "CCER"),
    "TIM_CCMR2_": ("TIM3", "CCMR2_Input"), "PWR_CSR_": ("PWR", "CSR"), "TIM_CR2_": ("TIM8", "CR2"),
    "ADC_CR1_": ("ADC1", "CR1"), "ADC_CR2_": ("ADC1", "CR2"),
    "ADC_JSQR_": ("ADC1", "JSQR"), "ADC_SR_": ("ADC2", "SR"), "SPI_CR1_": ("SPI3", "CR1"), "SPI_SR_": ("SPI3", "SR"),
    "TIM_BDTR_": ("TIM8", "BDTR"), "USART_SR_": ("USART2", "SR"),
    "USART_CR1_": ("USART2", "CR1"), "USART_CR3_": ("USART2", "CR3"), "DMA_SxCR_": ("DMA1", "S5CR"),
    "CAN_MCR_": ("CAN1", "MCR"), "CAN_MSR_": ("CAN1", "MSR"), "CAN_TSR_": ("CAN1", "TSR"),
    "CAN_RFR_": ("CAN1", "RF0R"), "CAN_IER_": ("CAN1", "IER"), "CAN_ESR_": ("CAN1", "ESR"),
    "CAN_BTR_": ("CAN1", "BTR"), "CAN_FMR_": ("CAN1", "FMR"), "CAN_TI0R_": ("CAN1", "TI0R"),
    "DBGMCU_CR_": ("DBG", "DBGMCU_CR"), "DBGMCU_APB1FZ_": ("DBG", "DBGMCU_APB1_FZ"),
    "DBGMCU_APB2FZ_": ("DBG", "DBGMCU_APB2_FZ"),
}
RENAMED = {"DBG_IWDG_STOP": "DBG_IWDEG_STOP",
           "PPRE1_DIV4": "PPRE1", "PPRE2_DIV2": "PPRE2", "PLLSRC_HSE": "PLLSRC", "SMS_ENCODER3": "SMS",
           "CC1S_TI1": "CC1S", "CC2S_TI2": "CC2S", "LATENCY_5WS": "LATENCY", "DIR_TO_PERIPHERAL": "DIR",
           "PL_HIGH": "PL", "LOCK_3": "LOCK", "NF": "NF", "CMS_MODE_1": "CMS", "SW_PLL": "SW", "SWS_PLL": "SWS",
           "BR_DIV16": "BR", "SW_HSE": "SW", "SWS_HSE": "SWS", "PLS_6": "PLS", "CC4S_TI4": "CC4S",
           "IC4PSC_DIV8": "IC4PSC",
           "IC1PSC_DIV8": "IC1PSC", "MMS_UPDATE": "MMS", "JEXTSEL_TIM1_TRGO": "JEXTSEL", "JEXTEN_RISING": "JEXTEN",
           "FMP": "FMP0", "FULL": "FULL0", "FOVR": "FOVR0", "RFOM": "RFOM0"}


def field_of(fields: dict[str, tuple[int, int]], name: str) -> tuple[int, int] | None:
    """(lowest bit, bits) of a field; the SVD splits some (PLLM0 ... PLLM5, SWS0, SWS1) and renames a few."""
    if name in fields:
        return fields[name]
    alias = {"NF": "NF", "IC1PSC": "ICPCS", "BORRSTF": "BORRSTF", "IWDGRSTF": "WDGRSTF", "PINRSTF": "PADRSTF",
             "IC2F": "IC2F"}.get(name)
    if alias in fields:
        return fields[alias]
    bits = sorted(offset for key, (offset, _) in fields.items() if re.fullmatch(name + r"\d", key))
    return (bits[0], len(bits)) if bits else None


def test_every_bit_is_where_the_vendor_says(tmp_path):
    macros = re.findall(r"^#define (\w+) ", HEADER, re.M)
    checks = []
    for prefix, (peripheral, register) in BITS.items():
        # all of them together
        for macro in (m for m in macros if m.startswith(prefix) and not m.endswith("_SR_FLAGS")):
            name = macro[len(prefix):].removesuffix("_Pos")
            device = "STM32F429x" if macro == "PWR_CR_VOS" else "STM32F41x"  # which leaves this field out
            found = field_of(svd(device)[peripheral][register][1], RENAMED.get(name, name))
            assert found is not None, f"{macro}: {peripheral}.{register} has no such field"
            checks.append((macro, found))
    assert len(checks) > 65
    assert outside(tmp_path, checks) == []


def test_registers_that_stand_alone_are_where_the_vendor_says(tmp_path):
    expected = {"&TIM5_OR": svd()["TIM5"]["OR"][0], "FT_LSI_TIMER_LSI": 1 << svd()["TIM5"]["OR"][1]["IT4_RMP"][0],
                "EXTI_LINE_PVD": 1 << svd()["EXTI"]["RTSR"][1]["TR16"][0]}
    assert dict(zip(expected, evaluate(tmp_path, list(expected)), strict=True)) == expected


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
        # from here on by ARM DDI 0403E, tables B3-4 (system control) and B3-7 (SysTick)
        "&SysTick->LOAD": 0xE000E014, "&SysTick->VAL": 0xE000E018, "&SCB->CCR": 0xE000ED14,
        "&SCB->CFSR": 0xE000ED28, "&SCB->HFSR": 0xE000ED2C, "&SCB->MMFAR": 0xE000ED34, "&SCB->BFAR": 0xE000ED38,
    }
    values = evaluate(tmp_path, list(expected))
    assert dict(zip(expected, values, strict=True)) == expected


@pytest.mark.parametrize("mutation", [("#define USART2 ((USART_TypeDef *)0x40004400u)", "0x40004800u"),
                                      ("#define RCC_CR_HSEON (1u << 16)", "(1u << 15)")])
def test_a_wrong_header_would_be_noticed(tmp_path, monkeypatch, mutation):
    line, wrong = mutation
    right = re.search(r"0x\w+|\(1u << \d+\)", line)[0]
    assert line in HEADER
    text = (FAMILY / "ft_registers.h").read_text(encoding="utf-8")
    (tmp_path / "ft_registers.h").write_text(text.replace(line, line.replace(right, wrong)), encoding="utf-8")
    monkeypatch.setattr("assurance.registers.test_registers.FAMILY", tmp_path)
    check = test_every_bit_is_where_the_vendor_says if "HSEON" in line else (
        test_every_register_is_where_the_vendor_says)
    with pytest.raises(AssertionError):
        check(tmp_path)


# ---------------------------------------------------------------- STM32G474

G4_FAMILY = CHIP / "stm32g4"
G4_HEADER = "".join(p.read_text(encoding="utf-8") for p in (SHARED / "stm32_registers.h", G4_FAMILY / "ft_registers.h"))
G4_NAMES = {"AFR[0]": "AFRL", "AFR[1]": "AFRH"}
G4_BITS = {
    "RCC_CR_": "RCC.CR", "RCC_CFGR_": "RCC.CFGR", "RCC_PLLCFGR_": "RCC.PLLCFGR", "RCC_AHB1ENR_": "RCC.AHB1ENR",
    "RCC_APB1ENR1_": "RCC.APB1ENR1", "RCC_APB1ENR2_": "RCC.APB1ENR2", "RCC_APB2ENR_": "RCC.APB2ENR",
    "RCC_CSR_": "RCC.CSR", "FLASH_ACR_": "FLASH.ACR", "PWR_CR3_": "PWR.CR3", "PWR_CR5_": "PWR.CR5",
    "USART_CR1_": "LPUART1.CR1", "USART_CR3_": "LPUART1.CR3", "USART_ISR_": "LPUART1.ISR", "DMA_CCR_": "DMA1.CCR1",
    "TIM_CR1_": "TIM1.CR1", "TIM_SMCR_": "TIM1.SMCR", "TIM_SR_": "TIM1.SR", "TIM_EGR_": "TIM1.EGR",
    "TIM_CCER_": "TIM1.CCER", "TIM_BDTR_": "TIM1.BDTR", "RCC_AHB2ENR_": "RCC.AHB2ENR", "ADC_ISR_": "ADC1.ISR",
    "ADC_CR_": "ADC1.CR", "ADC_IER_": "ADC1.IER", "TIM_CR2_": "TIM1.CR2", "ADC_JSQR_": "ADC1.JSQR",
    "PWR_CR2_": "PWR.CR2", "RCC_CCIPR_": "RCC.CCIPR",
    "FDCAN_DBTP_": "FDCAN1.DBTP", "FDCAN_CCCR_": "FDCAN1.CCCR", "FDCAN_NBTP_": "FDCAN1.NBTP",
    "FDCAN_ECR_": "FDCAN1.ECR", "FDCAN_PSR_": "FDCAN1.PSR", "FDCAN_TDCR_": "FDCAN1.TDCR", "FDCAN_IR_": "FDCAN1.IR",
    "FDCAN_IE_": "FDCAN1.IE", "FDCAN_ILE_": "FDCAN1.ILE", "FDCAN_RXF0S_": "FDCAN1.RXF0S",
    "FDCAN_TXBC_": "FDCAN1.TXBC", "FDCAN_TXFQS_": "FDCAN1.TXFQS",
    "PWR_SR2_": "PWR.SR2", "SYSCFG_CFGR2_": "SYSCFG.CFGR2", "DBGMCU_CR_": "DBGMCU.CR",
    "DBGMCU_APB2FZ_": "DBGMCU.APB2FZ", "DBGMCU_APB1FZR1_": "DBGMCU.APB1FZR1",
}
G4_RENAMED = {"FDCANSEL_PCLK1": "FDCANSEL",
              "SW_HSI": "SW", "SW_PLL": "SW", "SWS_HSI": "SWS", "SWS_PLL": "SWS", "HPRE_DIV2": "HPRE",
              "PLLSRC_HSE": "PLLSRC", "LATENCY_4WS": "LATENCY", "DIR_TO_PERIPHERAL": "DIR", "PL_HIGH": "PL",
              "SMS_ENCODER3": "SMS", "CMS_MODE_1": "CMS", "LOCK_3": "LOCK",
              "SW_HSE": "SW", "SWS_HSE": "SWS", "PLS_6": "PLS", "MMS_UPDATE": "MMS", "JEXTEN_RISING": "JEXTEN"}


@pytest.fixture
def g4(monkeypatch):
    monkeypatch.setattr("assurance.registers.test_registers.FAMILY", G4_FAMILY)
    monkeypatch.setattr("assurance.registers.test_registers.HEADER", G4_HEADER)
    return {reg.name: reg for reg in register_map.stm32g474().values()}


def test_every_register_of_the_g4_is_where_its_manual_says(tmp_path, g4):
    instances = dict(re.findall(r"#define (\w+) \(\((\w+_TypeDef) \*\)0x", G4_HEADER))
    instances |= {f"GPIO{port}": "GPIO_TypeDef" for port in "ABCDEFG"}
    expected, expressions = [], []
    for name, struct in instances.items():
        instance = f"GPIO({'ABCDEFG'.index(name[4:])})" if name.startswith("GPIO") else name
        rows = [(f"C[{i}].{m}", f"{m}{i + 1}") for i in range(8) for m in members("DMA_Channel_TypeDef")] if (
            struct == "DMA_TypeDef") else []
        for member in members(struct):
            plain = re.sub(r"(CCR|JDR)\[(\d+)\]", lambda m,
                           name=name: f"C{m[2]}CR" if name == "DMAMUX1" else f"{m[1]}{int(m[2]) + 1}",
                           member)
            rows.append((member, G4_NAMES.get(plain, plain)))
        for member, plain in rows:
            if f"{name}.{plain}" in g4:  # the table is as long as what is used
                expected.append((f"{name}.{plain}", g4[f"{name}.{plain}"].address))
                expressions.append(f"&{instance}->{member}")
    assert len(expected) > 230
    wrong = [(n, hex(there), hex(here)) for (n, there), here in
             zip(expected, evaluate(tmp_path, expressions), strict=True) if there != here]
    assert wrong == []


def test_every_bit_of_the_g4_is_where_its_manual_says(tmp_path, g4):
    checks = []
    for prefix, register in G4_BITS.items():
        macros = re.findall(r"^#define (\w+) ", G4_HEADER, re.M)
        for macro in (m for m in macros if m.startswith(prefix) and m != "TIM_SR_FLAGS"):
            name = macro[len(prefix):].removesuffix("_Pos")
            place = g4[register].fields.get(G4_RENAMED.get(name, name))
            assert place is not None, f"{macro}: {register} has no such field"
            checks.append((macro, place))
    assert len(checks) > 65
    assert outside(tmp_path, checks) == []
