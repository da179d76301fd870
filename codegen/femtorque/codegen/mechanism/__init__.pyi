from .buses import FD_BITRATE as FD_BITRATE
from .canonical_text import canonical as canonical
from .description import (
    BASE as BASE, COULOMB_VELOCITY as COULOMB_VELOCITY, Anchor as Anchor, Beam as Beam, Bus as Bus, Contact as Contact,
    Control as Control, Drive as Drive, Friction as Friction, Gains as Gains, Home as Home, Joint as Joint,
    Limits as Limits, Link as Link, Loop as Loop, Matrix as Matrix, Mechanism as Mechanism, Mimic as Mimic,
    Mode as Mode, Motor as Motor, Park as Park, Payload as Payload, Safety as Safety, Section as Section,
    ServoSetting as ServoSetting, Vector as Vector)
from .edit import set_bus as set_bus, set_gains as set_gains, set_joint as set_joint, set_solid as set_solid
from .mjcf_export import mjcf as mjcf
from .motors import MOTORS as MOTORS, Sold as Sold, motor_words as motor_words, named as named
from .reader import load_mechanism as load_mechanism
from .refusal import in_radians as in_radians, refuse as refuse, unmoved as unmoved
from .schema import (
    TITLE_PATTERN as TITLE_PATTERN, TITLE_RULE as TITLE_RULE, Number as Number, Positive as Positive, Table as Table,
    Three as Three, first_fault as first_fault)
from .urdf import (
    MOMENTS as MOMENTS, Tables as Tables, alone as alone, document_of as document_of, links_here as links_here,
    read_urdf as read_urdf, toml_key as toml_key)
