"""Bounds on masses, inertias, lengths, limits and motors of real mechanisms. Numbers outside these bounds are probably
mistakes. URDFs often have lengths in millimetres, no inertias, or limits that are mere placeholders. Each finding names
key, value and probable cause. The findings are warnings, because an unusual model may be intended."""

import math
from collections.abc import Iterator

import numpy as np

from femtorque.codegen.mechanism import Joint, Link, Mechanism, motor_words
from femtorque.codegen.model import GROUND, Model

G, EARTH = 9.81, (9.7, 9.9)  # usual gravity, and tolerated range, m/s^2 (on the earth 9.76 to 9.83)
LONG = 20.0  # maximum distance from the ground to a joint along the links, m
DENSEST, THINNEST = 22.6e3, 0.02  # highest and lowest plausible density, kg/m^3: osmium, a slender rod
LEAST = 0.01  # mass, kg; inertias below this mass are often arbitrary, as for frames and sensors
APART = 1e-3  # distance, m; nearer axes count as one point, and a component between them may be inside a joint
PLACEHOLDER = 1e3  # limits of this size or more whose digits are 1000... or 999... are placeholders
TURNS = 120  # maximum distance of limits from zero (femtorque.codegen.control.constants)
SOLD = {"R": (0.02, 1e3, "ohm"), "K": (5e-4, 3.0, "N m/A"), "inertia": (1e-9, 0.05, "kg m^2")}  # ranges on sale
GEARS = 2000.0  # motor turns per joint turn


def doubts(mechanism: Mechanism) -> list[str]:
    """Return all findings, one line each."""
    model = Model.of(mechanism)
    return [*_gravity(mechanism), *_lengths(model), *_masses(model),
            *(x for link in mechanism.links for x in _inertia(link)), *_limits(mechanism),
            *(x for joint in mechanism.moving for x in _motor(mechanism, joint))]


def _gravity(mechanism: Mechanism) -> Iterator[str]:
    """Doubt a gravity vector that is only a unit vector, or in other units."""
    strength = float(np.linalg.norm(mechanism.gravity))
    if strength and not EARTH[0] <= strength <= EARTH[1]:
        given = ", ".join(f"{x:g}" for x in mechanism.gravity)
        yield (f"gravity = [{given}] is {strength:.3g} m/s^2, and {G:g} on Earth: it is an acceleration, "
               f"[0, 0, -{G:g}] where z points up; or [0, 0, 0] where all axes are upright")


def _lengths(model: Model) -> Iterator[str]:
    """Doubt lengths along the links, m."""
    far = [0.0] * model.n
    for i, body in enumerate(model.bodies):
        far[i] = float(np.linalg.norm(body.p0)) + (0.0 if body.parent == GROUND else far[body.parent])
    reach = max(far, default=0.0)
    if reach > LONG:
        i = far.index(reach)
        yield (f"joint.{model.bodies[i].joint.name} is {reach:.4g} m from the ground along the links: are lengths in "
               f"millimetres? SI asks for metres")
    for link in model.mechanism.links:
        off = float(np.linalg.norm(link.com))
        if off > max(1.0, 3.0 * reach):
            yield (f"link.{link.name}.com is {off:.4g} m from the link's frame, all joints within {reach:.3g} m: is it "
                   f"in millimetres?")


def _masses(model: Model) -> Iterator[str]:
    """Doubt bodies without mass that lie between other bodies. The export has probably lost an inertial element."""
    for body in model.bodies:
        beyond = [model.bodies[i] for i in body.children]
        if body.mass > 0.0 or not beyond or np.any(body.inertia):
            continue
        way = max(float(np.linalg.norm(child.p0)) for child in beyond)
        if way > APART:
            yield (f"link.{body.joint.child} has no mass and is {way:.3g} m long, from joint {body.joint.name} to "
                   f"{beyond[0].joint.name}: is its inertial missing?")


def _inertia(link: Link) -> Iterator[str]:
    """Doubt an inertia if the sphere with this mass and inertia has an impossible density.

    Among all bodies with a given mass and density, the sphere has the smallest inertia."""
    moment = float(np.linalg.eigvalsh(link.inertia)[-1])
    if link.mass < LEAST or moment <= 0.0 or link.beam is not None:
        return
    radius = math.sqrt(2.5 * moment / link.mass)
    density = link.mass / (4.0 / 3.0 * math.pi * radius**3)
    link_is = f"link.{link.name}: {link.mass:.4g} kg with a largest moment of {moment:.3g} kg m^2"
    if density > DENSEST:
        yield (f"{link_is} would be denser ({density:.2g} kg/m^3) than any metal: is the inertia made up, the mass in "
               f"grams?")
    elif density < THINNEST:
        yield f"{link_is} would be a ball {2.0 * radius:.3g} m wide: is the inertia in kg mm^2 or g mm^2?"


def _limits(mechanism: Mechanism) -> Iterator[str]:
    """Doubt limits that look like degrees or placeholders, or are beyond TURNS turns."""
    empty: dict[tuple[str, float], list[str]] = {}
    for joint in mechanism.moving:
        for name in ("lower", "upper", "velocity", "effort"):
            value = getattr(joint.limits, name)
            if name in ("lower", "upper") and joint.type != "prismatic" and _degrees(value):
                yield (f"joint.{joint.name}.limits.{name} = {value:g} looks like degrees: angles are in rad, and "
                       f"{value:g} degrees are {math.radians(value):.4g}")
            elif math.isfinite(value) and _placeholder(abs(value)):
                empty.setdefault((name, value), []).append(joint.name)
            elif name in ("lower", "upper") and joint.type != "prismatic" and TURNS < abs(value) / math.tau < math.inf:
                yield (f"joint.{joint.name}.limits.{name} = {value:g} is beyond {TURNS} turns, where the board stops; "
                       f'a joint without end is of type "continuous"')
    for (name, value), joints in empty.items():
        more = f" (and of {len(joints) - 1} more joints)" if len(joints) > 1 else ""
        yield (f"joint.{joints[0]}.limits.{name} = {value:g}{more} looks like a placeholder: plans and motors are "
               f"fitted to it, faults found by it; write what the joint can do, or leave it out")


def _degrees(value: float) -> bool:
    """Return True if a value looks like an angle in degrees: it is a whole number, and as rad more than one turn."""
    return 30.0 <= abs(value) <= 720.0 and value == round(value)


def _placeholder(value: float) -> bool:
    """Return True if a value is a placeholder with the digits 1000... or 999...."""
    if value < PLACEHOLDER - 1.0:
        return False
    digits = f"{value:.0f}"
    return set(digits) == {"9"} or (digits[0] == "1" and set(digits[1:]) == {"0"}) or value >= 1e8


def _motor(mechanism: Mechanism, joint: Joint) -> Iterator[str]:
    """Doubt windings, rotors and gears outside the range of commercial products."""
    motor, slides = joint.motor, joint.type == "prismatic"
    if motor is None or motor.kind != "brushed":
        return
    said = [f"{name} = {getattr(motor, name):.3g} {unit}" for name, (least, most, unit) in SOLD.items()
            if getattr(motor, name) and not least <= getattr(motor, name) <= most]
    if abs(motor.gear) > GEARS * (joint.drive.gear if joint.drive else 1.0) and not slides:
        said.append(f"gear = {motor.gear:g}")
    if not said:
        return
    volts = joint.supply(mechanism.board.bus_voltage if mechanism.board else 24.0)
    effort = abs(motor.gear) * motor.K * volts / motor.R
    limits = joint.limits
    wanted = (limits.effort if math.isfinite(limits.effort) else effort,
              limits.velocity if math.isfinite(limits.velocity) else volts / (abs(motor.gear) * motor.K))
    hint = "" if slides else "; " + motor_words(*wanted, volts)
    yield f"joint.{joint.name}.motor: {', '.join(said)}: no brushed motor that is sold is like this{hint}"

