"""Tests of images in a wheel. An image is used only without a compiler for the chip, and only for the configuration of
the image."""

from dataclasses import replace

import pytest

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.emit import configuration_digest as digest
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.toolchain import platformio, prebuilt

ARM = MECHANISMS / "three_link.toml"


@pytest.fixture(scope="module")
def brought(tmp_path_factory):
    """Return the folder of images that the present compiler has built."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("images")
        for module in (digest, platformio, prebuilt):
            patch.setattr(module, "PREBUILT", folder)
        patch.setattr(prebuilt, "EXAMPLES", ("three_link",))
        yield prebuilt.make()


@pytest.fixture
def bare(brought, monkeypatch, tmp_path):
    """Yield a folder of images, with an empty cache and without a compiler for the chip."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path / "cache"))
    digest.compiler_identity.cache_clear()
    yield tmp_path
    digest.compiler_identity.cache_clear()


@pytest.mark.parametrize("feedforward", [True, False])
def test_without_a_compiler_the_image_that_is_brought_is_taken_and_said(bare, feedforward):
    mechanism = load_mechanism(ARM)
    with pytest.warns(UserWarning, match="the one that femtorque brings") as said:
        built = platformio.build_image(mechanism, bare / "out", feedforward=feedforward)
    assert built.digest[:16] in str(said[0].message)
    assert built.digest == platformio.project(mechanism, feedforward).digest
    assert "homed" in platformio.functions(built.elf)


def test_what_is_brought_is_what_the_compiler_makes(brought, tmp_path):
    built = platformio.build_image(load_mechanism(ARM), tmp_path / "out")
    assert (brought[0] / "firmware.bin").read_bytes() == built.image.read_bytes()


def test_another_configuration_is_refused_with_what_to_install(bare):
    mechanism = load_mechanism(ARM)
    other = replace(mechanism, links=(*mechanism.links[:-1], replace(mechanism.links[-1], mass=1.5)))
    with pytest.raises(Refused, match="apt install gcc-arm-none-eabi"):
        platformio.build_image(other, bare / "out")


def test_an_image_that_is_damaged_is_not_taken(bare, brought):
    image = brought[0] / "firmware.elf"
    whole = image.read_bytes()
    image.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    try:
        with pytest.raises(Refused, match="is not on PATH"):
            platformio.build_image(load_mechanism(ARM), bare / "out")
    finally:
        image.write_bytes(whole)
