from .about import crash as crash
from .capture import COLUMNS as COLUMNS, Column as Column, Recorder as Recorder, Recording as Recording
from .clock import Clock as Clock, WallClock as WallClock
from .configuration import Configuration as Configuration
from .external_torque import Feeling as Feeling, feeling as feeling, way as way, wrench_of as wrench_of
from .link import BAUD as BAUD, Device as Device, Link as Link, open_port as open_port
from .ports import (
    Answer as Answer, ask_port as ask_port, find as find, is_auto as is_auto, survey as survey, wanted as wanted)
from .requests import ASK as ASK, float_arm as float_arm, jog_rate as jog_rate, joint_number as joint_number
from .retransmit import Sender as Sender, message as message
from .serial_ports import adapters as adapters, candidates as candidates
from .session import DRIVEN as DRIVEN, PERIOD as PERIOD, Session as Session, mode_name as mode_name
from .tracking_error import Errors as Errors, Tracked as Tracked
from .unix_socket import SCHEME as SCHEME, Bound as Bound, path_of as path_of, served_folder as served_folder
