from .bilateral import Coupling as Coupling
from .following import (
    BoardStatus as BoardStatus, Following as Following, FollowStatus as FollowStatus, Watch as Watch,
    board_status as board_status)
from .gamepad import PadJog as PadJog
from .jog import TipJog as TipJog
from .page_control import Hand as Hand
