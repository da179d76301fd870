"""Test that a mechanism file gives the same bytes on every processor type that NumPy, OpenBLAS and the C library
distinguish.

Each processor type is tested in a separate process. OPENBLAS_CORETYPE selects the kernels of OpenBLAS.
NPY_DISABLE_CPU_FEATURES disables NumPy's vector instructions. GLIBC_TUNABLES disables the C library's vector
instructions."""

import platform
from pathlib import Path

import pytest

from tests.codegen.step.test_same_torques import CASES
from tests.support.emitted_bytes import KERNELS, elsewhere, emitted, kernels

OLDEST = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL",
          "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4"}
OTHERS = {
    "as it is": {"OPENBLAS_CORETYPE": ""},
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen", "NPY_DISABLE_CPU_FEATURES": "AVX512_ICL"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
}
# an open tree, a URDF with drives, a closed loop, a flexible arm
FEW = ["six_axis", "so101_sts", "four_bar", "flexible_arm"]


def test_an_old_processor_emits_the_bytes_of_this_one(tmp_path, monkeypatch):
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path / "cache"))
    found = elsewhere(tmp_path / "old", FEW, OLDEST)
    if platform.machine() in ("x86_64", "AMD64"):
        assert found[KERNELS] != kernels(), "it computes as this one does: nothing is shown"
    for name in FEW:
        assert found[name] == emitted(CASES[name](), tmp_path / name), name


@pytest.mark.bench
@pytest.mark.parametrize("other", OTHERS)
def test_every_mechanism_has_the_same_bytes_on_every_processor(other, tmp_path):
    if other == "SkylakeX" and "avx512f" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("this processor has no AVX-512, and would stop at the first such instruction")
    names = list(CASES)
    old, new = elsewhere(tmp_path / "old", names, OLDEST), elsewhere(tmp_path / "new", names, OTHERS[other])
    assert old.pop(KERNELS) != new.pop(KERNELS)
    assert set(old) == set(names)
    assert [name for name in names if old[name] != new[name]] == []
