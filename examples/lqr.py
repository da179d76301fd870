"""A push in mid-motion on the virtual board: gains by LQR along the motion against the gains of each joint's PD.

    python examples/lqr.py lqr.png

`arm.linear` gives the linear system at every hundredth of a second. Its LQR gains go into a copy of the firmware, as a
table and a dozen lines of C. Both images play the same motion with the same feed-forward. The weights leave LQR the
gain margin of the PD: the sampled loop stays stable if all gains are doubled.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

from femtorque import Mechanism, Trajectory
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain.platformio import assemble, compile_directly
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import play_motion

Run = tuple[np.ndarray, np.ndarray]
MECHANISMS = Path(__file__).resolve().parents[1] / "mechanisms"
ROW = 0.01  # s from one row of gains to the next
PUSH, BEGINS, LASTS = 1.0, 1.4, 0.06  # N m on the shoulder; s since power-on, and s
WEIGHTS = {"angle": 1.0, "velocity": 2e-3, "torque": 0.1}  # of an error of 1 rad, 1 rad/s, and of the whole effort

LAW = """
static const ft_real lqr[%(rows)d][FT_JOINTS][2 * FT_JOINTS] = %(table)s;

/* Return the torque of the errors of all joints, by the gains of this instant. */
static ft_real of_errors(uint32_t j, const ft_law_input *in)
{
    static uint32_t ticks;
    const ft_real *gain;
    ft_real torque = FT_C(0.0);
    uint32_t k;

    if (j == FT_JOINTS - 1u && (ticks > 0 || in->after[j] != FT_C(0.0)) && ticks < %(last)du)
        ticks++;
    gain = lqr[ticks / %(each)du][j];
    for (k = 0; k < FT_JOINTS; k++) {
        const errors e = behind(k, ft_position_difference(in->target->q[k], in->seen->q[k]), in);

        torque += gain[k] * e.place + gain[FT_JOINTS + k] * e.u;
    }
    return torque;
}
"""
OWN = """\
    const ft_gains g = gains(l, j);
    ft_real torque = g.ku * e.place + g.kv * e.u;
"""
TABLED = "    ft_real torque = of_errors(j, in);\n"
BEFORE = "/* Return the feedback torque"


def lqr_gains(arm: Mechanism, motion: Trajectory) -> np.ndarray:
    """Return gains (R, J, 2 J), N m/rad and N m s/rad, that minimise the weighted errors along the motion."""
    dt, n = 1.0 / arm.control.rate_hz, len(arm.streamed)
    q, v, a = motion.at(np.arange(0.0, motion.duration + ROW, ROW))
    A, B = arm.linear(q, v, arm.inverse_dynamics(q, v, a, total=True), total=True)
    F, G = np.eye(2 * n) + dt * A + 0.5 * dt**2 * A @ A, dt * B + 0.5 * dt**2 * A @ B  # over one tick
    effort = np.array([joint.limits.effort for joint in arm.streamed])
    Q = np.diag(np.repeat([WEIGHTS["angle"]**2, WEIGHTS["velocity"]**2], n))
    R = np.diag((WEIGHTS["torque"] / effort)**2)
    P, K = Q, np.zeros((len(q), n, 2 * n))
    for i in reversed([*range(len(q)), *20 * [len(q) - 1]]):  # Riccati's recursion, backwards; at the end at rest
        for _ in range(round(ROW / dt)):
            K[i] = np.linalg.solve(R + G[i].T @ P @ G[i], G[i].T @ P @ F[i])
            P = Q + F[i].T @ P @ (F[i] - G[i] @ K[i])
    return K


def law(text: str, arm: Mechanism, K: np.ndarray) -> str:
    """Return ft_law.c with a table of gains in place of the joints' own gains."""
    assert text.count(OWN) == 1 and text.count(BEFORE) == 1, "the firmware's law has changed"
    dt = 1.0 / arm.control.rate_hz
    units = np.repeat([2.0 * np.pi / 2**32, 2.0 / dt], len(arm.streamed))  # of a position step and of half an increment
    rows = np.array2string(K * units, separator=",", threshold=K.size, formatter={"float": "{:.6e}f".format})
    each = round(ROW / dt)
    own = LAW % {"rows": len(K), "table": rows.replace("[", "{").replace("]", "}"), "each": each,
                 "last": each * (len(K) - 1)}
    return text.replace(OWN, TABLED).replace(BEFORE, own + BEFORE)


def play(arm: Mechanism, motion: Trajectory, out: Path, K: np.ndarray | None = None) -> Run:
    """Return times (N,) since power-on, s, and true errors (N, J), rad, of the pushed arm. K: gains of `lqr_gains`;
    by default the gains of each joint's PD."""
    assemble(arm, out)
    source = out / "src" / "application" / "ft_law.c"
    if K is not None:
        source.write_text(law(source.read_text(), arm, K))
    compile_directly(out, out)
    plant = Plant(arm)
    plant.hand = lambda p: np.array([PUSH, 0.0, 0.0]) * (BEGINS <= p.time < BEGINS + LASTS)
    with VirtualBoard(out / "firmware.elf", arm, plant) as chip:
        result = play_motion(chip, arm, knots(motion, arm), feedforward=True)
    assert result.good, (result.ended, result.faults)
    return result.record.seconds[result.moving], (result.target_positions - result.record.q)[result.moving]


def draw(arm: Mechanism, runs: dict[str, Run], path: Path) -> None:
    """Draw the errors of every joint under both laws."""
    figure, axes = plt.subplots(len(arm.streamed), sharex=True, figsize=(7.0, 5.5), layout="constrained")
    for j, (axis, joint) in enumerate(zip(axes, arm.streamed, strict=True)):
        axis.axvspan(BEGINS, BEGINS + LASTS, color="0.85", lw=0.0)
        for (name, (t, error)), colour in zip(runs.items(), ("tab:orange", "tab:blue"), strict=True):
            rms = np.sqrt(np.mean(error[:, j]**2))
            axis.plot(t, 1e3 * error[:, j], color=colour, label=f"{name}, rms of the motion {1e3 * rms:.2f} mrad")
        axis.set(ylabel=f"{joint.name}, mrad", xlim=(BEGINS - 0.1, BEGINS + 0.6))
        axis.grid(alpha=0.3)
        axis.legend(loc="lower right", frameon=False)
    axes[0].set_title(f"Errors after a push of {PUSH:g} N m on the shoulder, in motion")
    axes[-1].set_xlabel("time since power-on, s")
    figure.savefig(path, dpi=110)


def main(path: Path) -> dict[str, Run]:
    """Play both laws, draw the figure, and return the runs."""
    arm = Mechanism.load(MECHANISMS / "three_link.toml")
    motion, out = Trajectory.load(MECHANISMS / "three_link.csv", arm), Path(mkdtemp())
    runs = {"PD": play(arm, motion, out / "pd"), "LQR": play(arm, motion, out / "lqr", lqr_gains(arm, motion))}
    draw(arm, runs, path)
    return runs


if __name__ == "__main__":
    for name, (_, error) in main(Path(sys.argv[1] if len(sys.argv) > 1 else "lqr.png")).items():
        print(name, "rms", (1e3 * np.sqrt(np.mean(error**2, axis=0))).round(2), "mrad, largest",
              (1e3 * np.max(np.abs(error), axis=0)).round(1), "mrad")
