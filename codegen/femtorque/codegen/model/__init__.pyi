from .beam_element import (
    Element as Element, element_axes as element_axes, first_element as first_element, joint_springs as joint_springs,
    joint_stiffness as joint_stiffness, material as material, node_masses as node_masses,
    second_element as second_element, stiffness as stiffness, strain_displacement as strain_displacement)
from .bodies import (
    GROUND as GROUND, Body as Body, Model as Model, placed_links as placed_links, rotation_axis as rotation_axis,
    skew as skew)
from .driven_friction import DrivenFriction as DrivenFriction, beyond_coulomb as beyond_coulomb
from .flexible_link import ModalLink as ModalLink, beam_elements as beam_elements, modal_link as modal_link
from .joint_space_inertia import mass_matrix as mass_matrix, rotor_inertia as rotor_inertia
from .kinematics import (
    Conversion as Conversion, Levers as Levers, Pose as Pose, accumulation as accumulation, carried as carried,
    frame_to_axis as frame_to_axis, joint_axes as joint_axes, joint_torque as joint_torque,
    joint_torque_matrix as joint_torque_matrix, lambda_matrix as lambda_matrix, levers as levers,
    nodal_forces as nodal_forces, offsets as offsets, pose as pose, rotate as rotate, rotate_back as rotate_back,
    velocities as velocities)
from .limits_of_emission import supported as supported
from .loop_assembly import (
    CLEAR as CLEAR, CLOSING as CLOSING, SINGULAR as SINGULAR, Assembly as Assembly, ClosedMotion as ClosedMotion,
    assemble as assemble)
from .loop_constraint import ALONG as ALONG, AXES as AXES, PARALLEL as PARALLEL, Cut as Cut, Side as Side
from .modes import (
    AHEAD as AHEAD, Later as Later, has_modes as has_modes, in_mode as in_mode, ramp as ramp, schedule as schedule,
    shares as shares, stretches as stretches)
from .motion import Motion as Motion, Timed as Timed
from .passive_friction import PassiveFriction as PassiveFriction, is_passive as is_passive
from .torsion import END as END, with_torsion as with_torsion
from .tree_of_pieces import FlexibleTree as FlexibleTree, Piece as Piece, flexible_tree as flexible_tree
