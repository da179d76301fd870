"""The application's C as text and as object code: warnings, both compilers, both precisions, no double."""

import re
import shutil
import statistics
import subprocess

import pytest

from femtorque.codegen.common import FIRMWARE
from femtorque.codegen.drive import application
from femtorque.codegen.toolchain import host_compiler
from tests.firmware.app import sources, three_link

ARM = "arm-none-eabi-gcc"
CORE = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
OURS = sorted(application().values())


def arm(tool):
    found = shutil.which(f"arm-none-eabi-{tool}")
    assert found, f"arm-none-eabi-{tool} is missing: apt install gcc-arm-none-eabi"
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder with every source of an arm's application, emitted and hand-written."""
    path = tmp_path_factory.mktemp("sources")
    for name, text in sources(three_link()).items():
        if not name.startswith("fake_chip"):
            (path / name).write_text(text)
    return path


def build(folder, command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("precision", ["single", "double"])
def test_that_it_compiles_without_a_warning_on_the_host(folder, precision):
    files = [p.name for p in folder.glob("*.c")]
    build(folder, [host_compiler.compiler(), "-O2", "-fsyntax-only", *host_compiler.WARNINGS, *host_compiler.ARITHMETIC,
                   *host_compiler.precision_flags(precision), "-I.", *files])


def test_that_the_chips_code_has_no_double_no_heap_and_no_libm(folder):
    files = [p.name for p in folder.glob("*.c")]
    build(folder, [arm("gcc"), *CORE, "-Os", "-c", *host_compiler.WARNINGS, *host_compiler.ARITHMETIC, "-I.", *files])
    wanted = subprocess.run([arm("nm"), "-u", *[f.replace(".c", ".o") for f in files]], cwd=folder,
                            capture_output=True, text=True, check=True).stdout
    undefined = set(re.findall(r"U (\w+)", wanted))
    foreign = {name for name in undefined if not name.startswith(("ft_", "ft"))}
    assert foreign <= {"memcpy", "memset", "memmove", "strlen", "__aeabi_ldivmod", "__aeabi_uldivmod"}


@pytest.mark.parametrize(("name", "first", "then"), [
    ("ft_buses.c", "q->count = 0;", "q->out[i] = frames[i];"),
    ("ft_buses.c", "q->out[i] = frames[i];", "q->count = count"),
    ("ft_buses.c", "if (q->read == q->written)", "*frame = q->in["),
    ("ft_buses.c", "*frame = q->in[", "q->read++;"),
    ("ft_wires.c", "memcpy(w->out,", "ft_half_duplex_send(wire, w->out"),
])
def test_that_the_compiler_may_not_move_what_an_interrupt_or_dma_reads_past_what_hands_it_over(name, first, then):
    """The test reads the text, because the present compiler keeps this order even without the barrier."""
    text = (FIRMWARE / "chip" / "stm32" / name).read_text()
    between = text[text.index(first):text.index(then, text.index(first))]
    assert 'FT_IN_ORDER();' in between or '__asm__ volatile("" ::: "memory");' in between


def test_that_the_hand_written_c_keeps_its_style():
    for path in OURS:
        text = path.read_text()
        assert max(map(len, text.splitlines())) <= 80, path
        assert "\t" not in text and not re.search(r"[ \t]$", text, re.M), path
        code = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", text, flags=re.S)
        assert not re.search(r"\b(double|malloc|free|goto)\b", code), path
        # literals through FT_C or with f
        assert not re.search(r"[^\w.(]\d+\.\d*(?![\df)])", code.replace("FT_C(", "(")), path
        for name in re.findall(r"^(?!static|typedef|extern|#)[\w ]+[ *](\w+)\([^;]*\)\n\{", code, re.M):
            assert name.startswith("ft_"), path


def test_that_functions_are_short():
    lengths = {}
    for path in (p for p in OURS if p.suffix == ".c"):
        found = re.findall(r"^((?!typedef|struct)[a-z][\w *]*?(\w+)\([^;{}]*\))\n\{\n(.*?)^\}",
                           path.read_text(), re.M | re.S)
        lengths |= {f"{path.name}:{name}": body.count("\n") for _, name, body in found}
    assert len(lengths) > 100
    assert max(lengths.values()) <= 30, max(lengths, key=lengths.get)
    assert statistics.median(lengths.values()) <= 6


def test_that_one_file_alone_knows_all_of_the_applications_state():
    """Other files receive their parts of the state as arguments."""
    knowing = {p.name for p in OURS if '#include "ft_state.h"' in p.read_text()
               or re.search(r"\bft\.\w", p.read_text())}
    assert knowing == {"ft_app.c"}
