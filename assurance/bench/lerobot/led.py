"""Runs a virtual board in real time, with a simulated hand that guides its arm: `python -m assurance.bench.lerobot.led
MECH`.

The program prints the board's url. When the arm is in FLOAT, the hand moves every joint through springs along a sum of
sines about the start pose. At first the sum is at rest."""

import sys

import numpy as np

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.toolchain import platformio
from femtorque.codegen.wire import Codec, FrameReader, Status, state_name
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import folder

REACH, HZ, RAMP = 0.3, (0.2, 0.45), 2.0  # amplitude, rad; frequencies of the sines, Hz; time until full amplitude, s
STIFF, DAMP = (20.0, 12.0, 4.0), (1.0, 0.5, 0.1)  # stiffness and damping of the hand's springs, N m/rad and N m s/rad


def way(t: float, joints: int) -> np.ndarray:
    """Return the displacement (J,), rad, from the start pose, t s after the hand's motion begins."""
    k = np.arange(1, joints + 1)
    share = min(max(t, 0.0) / RAMP, 1.0) ** 2
    return share * REACH / k * sum(np.sin(2.0 * np.pi * hz * t + j * k) - np.sin(j * k) for j, hz in enumerate(HZ))


def main() -> None:
    mechanism = load_mechanism(sys.argv[1])
    start = np.array([joint.start for joint in mechanism.streamed])
    plant = Plant(mechanism)
    with VirtualBoard(platformio.build_image(mechanism, folder(mechanism, True)).elf, mechanism, plant) as board:
        board.recording, board.brakes = False, True
        states, since = [""], list[float]()
        reader = FrameReader(Codec(len(start)))

        def heard(data: bytes) -> None:
            states[:] = [state_name(frame.message) for frame in reader.feed(data) if isinstance(frame.message, Status)
                         ][-1:] or states

        def hand(plant: Plant) -> np.ndarray:
            if states[0] != "FLOAT":
                since.clear()
                return np.zeros(len(start))
            since[:] = since or [plant.time]
            wanted = start + way(plant.time - since[0], len(start))
            return np.array(STIFF) * (wanted - plant.q) - np.array(DAMP) * plant.v

        plant.hand = hand
        board.listeners.append(heard)
        print(board.url, flush=True)
        board.serve()


if __name__ == "__main__":
    main()
