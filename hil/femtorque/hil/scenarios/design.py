"""Motors, gears and servo gains chosen by simulation, as in the PLEXUS paper for an industrial robot.

The motors come first. The electrical energy of the motion, without recuperation,

    E = sum over joints of int max(0, V I) dt,   V = R I + K N q',   I = tau / (N K),
    tau = tau_ID(motors carried) + N^2 J q'' + D q' + f_c sgn q'

is minimised over the relative masses s and the gear ratios N of all motors. In each tick |V| <= voltage and |T| <= 3
times the continuous torque. The rms of T is at most the continuous torque. The total mass of the motors is at most that
at the start. The motors are a geometrically similar family (length proportional to s^1/3) that is wound for one K: R
proportional to s^-5/3 (K^2/R to length^5), L to 1/s, rotor inertia J to s^5/3, and continuous torque to s^7/6 (heat
leaves through a surface proportional to s^2/3). tau_ID is linear in the carried masses, so that the search needs one
inverse dynamics per motor, computed in advance. Solved by SLSQP (SciPy).

After the motors, the optimisation chooses the servos: a bandwidth w per joint and a damping ratio z, with Ku = m w^2
and Kv = 2 z m w, where m is the minimum apparent inertia. The objective is the tracking error, rms over time and
joints, of the articulated plant with voltage servos, motors, friction and a voltage limit. Constraint: at each pose the
board's sampled loop is stable with all gains multiplied by `margin`. Each trial is a simulation that gives no
gradients. Therefore COBYLA (SciPy) solves the problem.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from femtorque.codegen.board import load_board
from femtorque.codegen.common import Array, Refused
from femtorque.codegen.control import SampledLoop, apparent_inertia
from femtorque.codegen.mechanism import Gains, Mechanism, Motor
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import newton_euler
from femtorque.hil.plant import Servo
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.scenarios.scenario import Check, Design

PEAK = 3.0  # ratio of the maximum torque of a motor to its continuous torque
SEARCH_TICK = 4  # the search for motors uses every fourth control tick; afterwards all ticks are checked
SERVO_STEP = 1e-3  # time step of the plant and the servo in the search for gains, s


@dataclass(frozen=True)
class Load:
    """Load for one choice of motors, N ticks: torque, current, voltage (N, n) at the motors; energy (n,) J."""

    torque: Array
    current: Array
    voltage: Array
    energy: Array


def _motors(mechanism: Mechanism) -> list[Motor]:
    """Return the motors of its moving joints, one per joint."""
    motors = [joint.motor for joint in mechanism.moving if joint.motor]
    assert len(motors) == len(mechanism.moving)
    return motors


class Demand:
    """The requirements that the motion puts on the motors of a mechanism, for any sizes (n,) and gear ratios (n,)."""

    def __init__(self, mechanism: Mechanism, design: Design, motion: Trajectory, every: int = 1) -> None:
        self.mechanism, self.design, self.joints = mechanism, design, mechanism.moving
        self.n, self.dt = len(self.joints), every / mechanism.control.rate_hz
        t = (np.arange(int(motion.duration / self.dt)) + 0.5) * self.dt
        q, self.qd, self.qdd = motion.at(t)
        names = [design.carried.get(joint.name) for joint in self.joints]

        def torque(masses: Array) -> Array:
            loads = tuple(replace(p, mass=masses[names.index(p.name)]) if p.name in names else p
                          for p in mechanism.payloads)
            return newton_euler(Model.of(replace(mechanism, payloads=loads)), q, self.qd, self.qdd)

        self.bare = torque(np.zeros(self.n))
        self.carried = np.array([torque(np.eye(self.n)[j]) - self.bare if name else np.zeros_like(self.bare)
                                 for j, name in enumerate(names)])  # (n, N, n) of 1 kg each
        viscous = np.array([joint.friction.viscous for joint in self.joints])
        coulomb = np.array([joint.friction.coulomb for joint in self.joints])
        self.friction = viscous * self.qd + coulomb * np.sign(self.qd)

    @property
    def start(self) -> Array:
        """Return the logarithms (2 n,) of the sizes and gear ratios in the file."""
        return np.log(np.concatenate([np.ones(self.n), [abs(motor.gear) for motor in _motors(self.mechanism)]]))

    def load(self, sizes: Array, gears: Array) -> Load:
        masses = self.design.mass * sizes
        motors = [scaled(m, s, N) for m, s, N in zip(_motors(self.mechanism), sizes, gears, strict=True)]
        R, K, J = (np.array([getattr(m, key) for m in motors]) for key in ("R", "K", "inertia"))
        at_joint = self.bare + np.tensordot(masses, self.carried, axes=1) + gears**2 * J * self.qdd + self.friction
        torque = at_joint / gears
        current = torque / K
        voltage = R * current + K * gears * self.qd
        return Load(torque, current, voltage, np.maximum(voltage * current, 0.0).sum(axis=0) * self.dt)

    def slack(self, sizes: Array, gears: Array) -> dict[str, Array]:
        """Return the relative slack of every limit; negative if the limit is exceeded."""
        load, continuous = self.load(sizes, gears), self.design.continuous * sizes ** (7.0 / 6.0)
        assert self.mechanism.board is not None
        limit = self.design.voltage * self.mechanism.board.bus_voltage
        return {
            "voltage": 1.0 - np.abs(load.voltage) / limit,
            "peak torque": 1.0 - np.abs(load.torque) / (PEAK * continuous),
            "rms torque": 1.0 - np.sqrt(np.mean(load.torque**2, axis=0)) / continuous,
            "mass of all motors": np.array([1.0 - sizes.sum() / self.n]),
        }


def scaled(motor: Motor, size: float, gear: float) -> Motor:
    """Return a motor of the same family with `size` times the mass, and with another gear ratio of the same sign."""
    return replace(motor, R=motor.R * size ** (-5.0 / 3.0), L=motor.L / size,
                   inertia=motor.inertia * size ** (5.0 / 3.0),
                   gear=float(np.copysign(gear, motor.gear)))


def with_motors(mechanism: Mechanism, design: Design, sizes: Array, gears: Array) -> Mechanism:
    """Return the mechanism with other motors, at the positions of its payloads."""
    of = {joint.name: k for k, joint in enumerate(mechanism.moving)}
    joints = tuple(j if j.motor is None or j.name not in of else
                   replace(j, motor=scaled(j.motor, sizes[of[j.name]], gears[of[j.name]]), limits=replace(
                       j.limits, effort=_effort(mechanism, design, j.motor, sizes[of[j.name]], gears[of[j.name]])))
                   for j in mechanism.joints)
    masses = {payload: design.mass * sizes[of[joint]] for joint, payload in design.carried.items()}
    return replace(mechanism, joints=joints,
                   payloads=tuple(replace(p, mass=masses.get(p.name, p.mass)) for p in mechanism.payloads))


def _effort(mechanism: Mechanism, design: Design, own: Motor, size: float, gear: float) -> float:
    assert mechanism.board is not None
    motor = scaled(own, size, gear)
    stall = abs(motor.gear * motor.K) * mechanism.board.bus_voltage / motor.R
    return float(min(PEAK * design.continuous * size ** (7.0 / 6.0) * gear, 0.99 * stall))


def choose_motors(mechanism: Mechanism, design: Design, motion: Trajectory) -> tuple[Array, Array]:
    """Return the sizes and gear ratios (n,) with minimum energy. Raises Refused if none satisfies the limits."""
    demand = Demand(mechanism, design, motion, SEARCH_TICK)
    n, first = demand.n, demand.load(*_split(demand.start)).energy.sum()

    def slack(x: Array) -> Array:
        # additional slack for the ticks that the search omits
        return np.concatenate([s.ravel() for s in demand.slack(*_split(x)).values()]) - 0.01

    bounds = [tuple(np.log(design.size))] * n + [tuple(np.log(design.gear))] * n
    found = minimize(lambda x: demand.load(*_split(x)).energy.sum() / first, demand.start, method="SLSQP",
                     bounds=bounds,
                     constraints={"type": "ineq", "fun": slack}, options={"maxiter": 60, "ftol": 1e-6})
    sizes, gears = _split(found.x)
    kept = Demand(mechanism, design, motion).slack(sizes, gears)
    broken = [f"{name} ({-s.min():.1%} over)" for name, s in kept.items() if s.min() < 0.0]
    if broken:
        raise Refused(f"{mechanism.name}: no motors keep the limits of the design: {', '.join(broken)}")
    return sizes, gears


def _split(x: Array) -> tuple[Array, Array]:
    sizes, gears = np.exp(x).reshape(2, -1)
    return sizes, gears


# ---- servos


def servo_run(mechanism: Mechanism, motion: Trajectory) -> tuple[Array, float]:
    """Return the rms error (n,) rad and the electrical energy J of a motion. The plant has voltage servos with the
    mechanism's gains: V = K N q_c' + R / (N K) (Ku e + Kv e'), with |V| at most the bus voltage."""
    assert mechanism.board is not None
    plant, motors = Plant(mechanism, max_step=SERVO_STEP), _motors(mechanism)
    constant = np.array([m.gear * m.K for m in motors])
    volts = np.array([m.R for m in motors]) / constant
    gains = [j.gains for j in mechanism.moving]
    servo = Servo(kp=volts * [g.ku for g in gains], kd=volts * [g.kv for g in gains], limit=mechanism.board.bus_voltage)
    times = np.arange(round(motion.duration / SERVO_STEP)) * SERVO_STEP
    q, qd, _ = motion.at(times)
    errors, energy = [], 0.0
    for target, velocity in zip(q, qd, strict=True):
        errors.append(target - plant.q)
        servo.ko = constant * velocity
        voltage = servo.command(plant.q, plant.v, target, velocity)
        plant.drive(SERVO_STEP, voltage)
        energy += float(np.maximum(voltage * plant.current, 0.0).sum()) * SERVO_STEP
    return np.sqrt(np.mean(np.square(errors), axis=0)), energy


def choose_gains(mechanism: Mechanism, design: Design, motion: Trajectory, trials: int) -> tuple[Mechanism, int]:
    """Return the mechanism with the gains that give the minimum tracking error, and the number of simulations."""
    assert mechanism.board is not None
    loop = SampledLoop.of(Model.of(mechanism), load_board(mechanism.board.use).lead)
    m, n = apparent_inertia(loop.masses), len(mechanism.moving)
    names = [joint.name for joint in mechanism.moving]
    seen: dict[bytes, float] = {}

    def gains(x: Array) -> tuple[Array, Array]:
        w, z = np.exp(x[:n]), np.clip(np.exp(x[n]), *design.damping)
        return m * w**2, 2.0 * z * m * w

    def objective(x: Array) -> float:
        if x.tobytes() not in seen:
            seen[x.tobytes()] = _size(servo_run(with_gains(mechanism, names, *gains(x)), motion)[0])
        return float(np.log(seen[x.tobytes()]))

    def room(x: Array) -> float:
        ku, kv = gains(x)
        return 1.0 - 1e-4 - float(np.max(loop.radii(design.margin * ku, design.margin * kv)))

    ku = np.array([joint.gains.ku for joint in mechanism.moving])
    kv = np.array([joint.gains.kv for joint in mechanism.moving])
    start = np.append(0.5 * np.log(ku / m), np.log(np.mean(kv / (2.0 * np.sqrt(ku * m)))))
    best = _Best(objective, room)
    minimize(best, start, method="COBYLA", constraints={"type": "ineq", "fun": lambda x: 100.0 * room(x)},
             options={"maxiter": trials, "rhobeg": 0.6})
    return with_gains(mechanism, names, *gains(best.x)), len(seen)


class _Best:
    """An objective that stores the best point within the constraint, as COBYLA may end slightly outside."""

    def __init__(self, objective: Callable[[Array], float], room: Callable[[Array], float]) -> None:
        self.objective, self.room = objective, room
        self.x, self.value = np.empty(0), np.inf

    def __call__(self, x: Array) -> float:
        value = self.objective(x)
        if value < self.value and self.room(x) >= 0.0:
            self.x, self.value = x.copy(), value
        return value


def with_gains(mechanism: Mechanism, names: list[str], ku: Array, kv: Array) -> Mechanism:
    chosen = {name: Gains(float(f"{p:.3g}"), float(f"{d:.3g}")) for name, p, d in zip(names, ku, kv, strict=True)}
    return replace(mechanism, joints=tuple(replace(j, gains=chosen.get(j.name, j.gains)) for j in mechanism.joints))


def _size(error: Array) -> float:
    return float(np.sqrt(np.mean(error**2)))


# ---- both


@dataclass(frozen=True)
class Choice:
    """The chosen motors and gears. start, chosen: the mechanism before and after. sizes, gears (n,): the motors'
    relative masses and gear ratios. predicted, simulated: energy before and after, J, from the demand and from the
    plant under servos."""

    start: Mechanism
    chosen: Mechanism
    sizes: Array
    gears: Array
    predicted: tuple[float, float]
    simulated: tuple[float, float]
    error: tuple[Array, Array]  # (n,): error before and after, rad
    slack: dict[str, float]  # minimum slack of each limit, for the chosen mechanism
    trials: int  # number of simulations
    radius: float  # spectral radius of the sampled loop with the gains times the margin

    def checks(self, margin: float) -> list[Check]:
        """Return the objectives before and after, and the constraints, as checks."""
        (e0, e1), (s0, s1) = self.predicted, self.simulated
        r0, r1 = (1e3 * _size(e) for e in self.error)
        return [
            Check("objective of the motors: electrical energy of the motion",
                  f"{e0:.1f} -> {e1:.1f} J ({e1 / e0 - 1:+.0%})",
                  "less than at the start", e1 < e0),
            Check("the same measured in the plant under servos", f"{s0:.1f} -> {s1:.1f} J ({s1 / s0 - 1:+.0%})",
                  "less than at the start", s1 < s0),
            Check("objective of the servos: rms error over all joints",
                  f"{r0:.2f} -> {r1:.2f} mrad ({r1 / r0 - 1:+.0%})",
                  "less than at the start", r1 < r0),
            *(Check(f"constraint: {name}", f"{slack:.1%} left", "not negative", slack >= 0.0)
              for name, slack in self.slack.items()),
            Check(f"constraint: spectral radius with all gains times {margin:g}", f"{self.radius:.5f}", "below 1",
                  self.radius < 1.0),
        ]

    def table(self) -> list[tuple[str, ...]]:
        """Return one row per joint: motor mass, gear ratio and gains, before and after."""
        rows: list[tuple[str, ...]] = []
        for a, b, size in zip(self.start.moving, self.chosen.moving, self.sizes, strict=True):
            assert a.motor is not None and b.motor is not None
            rows.append((a.name, f"1 -> {size:.2f}", f"{abs(a.motor.gear):.0f} -> {abs(b.motor.gear):.0f}",
                         f"{a.gains.ku:g} -> {b.gains.ku:g}", f"{a.gains.kv:g} -> {b.gains.kv:g}"))
        return rows


DESIGN_COLUMNS = ("joint", "motor's mass over the start's", "gear", "Ku, N m/rad", "Kv, N m s/rad")


def optimise(mechanism: Mechanism, design: Design, motion: Trajectory, trials: int = 60) -> Choice:
    """Optimise the motors and then the servos for one motion, with at most about `trials` simulations."""
    assert mechanism.board is not None
    demand = Demand(mechanism, design, motion)
    sizes, gears = choose_motors(mechanism, design, motion)
    moved = with_motors(mechanism, design, sizes, gears)
    chosen, count = choose_gains(moved, design, motion, trials)
    loop = SampledLoop.of(Model.of(chosen), load_board(mechanism.board.use).lead)
    ku, kv = (design.margin * np.array([getattr(j.gains, key) for j in chosen.moving]) for key in ("ku", "kv"))
    (error0, energy0), (error1, energy1) = servo_run(mechanism, motion), servo_run(chosen, motion)
    return Choice(mechanism, chosen, sizes, gears,
                  (float(demand.load(*_split(demand.start)).energy.sum()),
                   float(demand.load(sizes, gears).energy.sum())),
                  (energy0, energy1), (error0, error1),
                  {name: float(s.min()) for name, s in demand.slack(sizes, gears).items()}, count,
                  float(np.max(loop.radii(ku, kv))))
