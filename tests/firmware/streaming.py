"""Motions to stream."""

from functools import cache

from femtorque.codegen.motion import Knots, Trajectory, knots
from tests.firmware.app import THREE_LINK, three_link


@cache
def three_link_trajectory() -> Trajectory:
    return Trajectory.load(THREE_LINK.with_suffix(".csv"), three_link())


@cache
def three_link_knots() -> Knots:
    return knots(three_link_trajectory(), three_link())
