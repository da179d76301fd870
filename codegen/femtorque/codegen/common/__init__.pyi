from .cache import (
    entry_of as entry_of, found as found, kept as kept, key_of as key_of, program as program, sources as sources)
from .colours import joint as joint, joints as joints
from .errors import BadInput as BadInput, Refused as Refused, Stopped as Stopped
from .extras import EXTRAS as EXTRAS, installing as installing, missing as missing, need as need
from .files import check_size as check_size, parse_toml as parse_toml, read_text as read_text
from .firmware import FIRMWARE as FIRMWARE, MECHANISMS as MECHANISMS, PREBUILT as PREBUILT, house as house
from .garbage_collection import put_off as put_off
from .memo import remembered as remembered
from .output import (
    BUILD as BUILD, GENERATED as GENERATED, LIBRARY as LIBRARY, LOG as LOG, LOG_TABLE as LOG_TABLE, MOTION as MOTION,
    MOTION_NPZ as MOTION_NPZ, PARQUET as PARQUET, TABLE as TABLE, TORQUES as TORQUES, all_or_none as all_or_none,
    check_page as check_page, check_place as check_place, claim as claim, claim_folder as claim_folder,
    drawn_by as drawn_by, marked as marked, picture as picture, replacing as replacing, write_text as write_text)
from .portable_algebra import (
    Array as Array, basis as basis, distances as distances, least_squares as least_squares, modes as modes,
    rank as rank, solve as solve)
from .portable_math import arctan2 as arctan2, exp as exp, log as log, sin_cos as sin_cos, square as square
from .sanitize import printable as printable, tidied as tidied
from .suggestion import hint as hint, nearest as nearest, shown as shown
from .templating import template as template
from .vectors import cross as cross, dot as dot, norm as norm, product as product, rotation_rpy as rotation_rpy
