from .codec import (
    OVERHEAD as OVERHEAD, BadFrame as BadFrame, Codec as Codec, Frame as Frame, FrameReader as FrameReader,
    checked as checked, payload_size as payload_size, stuffed_size as stuffed_size)
from .in_words import (
    explain as explain, fault_name as fault_name, fault_words as fault_words, flag as flag, flag_words as flag_words,
    looked_up as looked_up, state_name as state_name)
from .messages import (
    CAPTURED as CAPTURED, CAPTURES as CAPTURES, FELT_TOUCHED as FELT_TOUCHED, FOLLOW_AUTO as FOLLOW_AUTO,
    KNOT_END as KNOT_END, KNOT_MODE as KNOT_MODE, KNOT_START as KNOT_START, MESSAGES as MESSAGES, MODES as MODES,
    STATES as STATES, STATUS_HZ as STATUS_HZ, About as About, Capture as Capture, Command as Command, Data as Data,
    Drive as Drive, Drives as Drives, Felt as Felt, Field as Field, Float as Float, Follow as Follow,
    Followed as Followed, Gains as Gains, Hello as Hello, Home as Home, Ident as Ident, Jog as Jog, Knot as Knot,
    Message as Message, Payload as Payload, Poll as Poll, Probe as Probe, Read as Read, Seek as Seek, Sense as Sense,
    Status as Status, Target as Target, WithToken as WithToken)
from .units import (
    COUNTED as COUNTED, beyond as beyond, farthest as farthest, from_wire as from_wire, numbers as numbers,
    per_joint as per_joint, position_unit as position_unit, to_float as to_float, to_wire as to_wire)
