"""Emission of all sources for one mechanism, as {file name: text}, and of the folder that `generate` writes."""

from pathlib import Path

from femtorque.codegen.board import Board
from femtorque.codegen.common import GENERATED, Refused, claim, write_text
from femtorque.codegen.control import constants
from femtorque.codegen.emit import (
    board_header, closed, configuration_digest as digest, families, flexible, library, messages, modes, readme, rnea,
    step, wrench)
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model, has_modes, supported


def step_sources(model: Model) -> dict[str, str]:
    """Return the inverse-dynamics step alone: ft_model.h, ft_step.h, ft_step.c, by the mechanism's scheme."""
    if model.mechanism.flexible:
        return flexible.render(model)
    if has_modes(model.mechanism):
        return modes.render(model.mechanism)
    if model.mechanism.constrained:
        return closed.render(model)
    return step.render(model)


def sources(mechanism: Mechanism, board: Board | None, feedforward: bool = True,
            step: dict[str, str] | None = None, pil: bool = False) -> dict[str, str]:
    """Return all emitted sources of the image.

    Without a board, return the step, the control law's constants and the messages. feedforward=False removes the
    feed-forward torque from the control law, so that its benefit can be measured. pil=True makes the
    processor-in-the-loop image: it receives counts from the host and sends duties to the host. All these images have
    different digests. step: the result of step_sources, if the caller has it."""
    files = _unsigned(mechanism, board, feedforward, step, pil)
    return files | digest.render(mechanism, board, digest.digest(mechanism, files), pil)


def identity(mechanism: Mechanism, board: Board | None, feedforward: bool = True,
             step: dict[str, str] | None = None, pil: bool = False) -> bytes:
    """Return the digest, 32 bytes, that an image of this mechanism must report. Arguments: as for `sources`."""
    return digest.digest(mechanism, _unsigned(mechanism, board, feedforward, step, pil))


def _unsigned(mechanism: Mechanism, board: Board | None, feedforward: bool, step: dict[str, str] | None,
              pil: bool) -> dict[str, str]:
    """Return all sources from which the digest is computed."""
    supported(mechanism)
    model = Model.of(mechanism)
    files = step_sources(model) if step is None else dict(step)
    files |= constants.render(mechanism, board, feedforward=feedforward)
    files |= families.render(mechanism)
    files |= messages.render(len(mechanism.streamed))
    if board is not None:
        files |= board_header.render(mechanism, board, pil)
    return files


def generate(mechanism: Mechanism, out: Path, force: bool = False, library: str | None = None,
             derivatives: bool = False) -> list[Path]:
    """Write the inverse-dynamics step and a README to a folder that needs no further files.

    Equal inputs give bit-identical files. library: version as MAJOR.MINOR.PATCH, if the function shall write a library
    with manifests and examples. The function removes files of an earlier library from src/, because a build compiles
    every file there. derivatives: include derivatives of torques. If one of the files exists, raise BadInput and write
    no file. force: replace files that this function has written. Raise Refused for mechanisms without derivatives."""
    files = _alone(mechanism, library, derivatives)
    for name in files:
        claim(out / name, GENERATED, force)
    old = _made(out / "src") - {out / name for name in files} if library else set()
    for name in files:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
    for path in old:
        path.unlink()
    for name, text in files.items():
        write_text(out / name, text)
    return [out / name for name in files]


def model_sources(model: Model, derivatives: bool = False) -> dict[str, str]:
    """Return all C of the model: step, torques at an instant and, without loops, torques that balance a wrench.
    derivatives: include derivatives of torques. Raise Refused for mechanisms without derivatives."""
    mechanism, files = model.mechanism, step_sources(model)
    if not mechanism.flexible and not mechanism.constrained:
        files |= wrench.render(model)
    if mechanism.flexible and derivatives:
        raise Refused(f"{mechanism.name}: torques of flexible links depend on how they swing: they have no derivatives "
                      "at one instant")
    return files | (rnea.units(mechanism) if mechanism.flexible else rnea.render(model, derivatives))


def _alone(mechanism: Mechanism, version: str | None, derivatives: bool) -> dict[str, str]:
    """Return {path: text} of the folder."""
    supported(mechanism)
    model = Model.of(mechanism)
    files = model_sources(model, derivatives)
    words = readme.render(model, sorted(files), version is not None, derivatives)
    return (files if version is None else library.render(mechanism, files, version)) | words


def _made(folder: Path) -> set[Path]:
    """Return the files that an earlier call of `generate` wrote into this folder."""
    return {path for path in folder.glob("ft_*.[ch]")
            if path.is_file() and library.MADE in path.read_text(encoding="utf-8")}
