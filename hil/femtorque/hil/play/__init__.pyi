from .api import virtual_board as virtual_board
from .closed_loop import (
    Result as Result, Watch as Watch, folder as folder, play_motion as play_motion, run_closed_loop as run_closed_loop,
    serve_board as serve_board, wrapped as wrapped)
from .connect import session_with as session_with
from .pil import run_in_the_loop as run_in_the_loop
from .served_pc import serve_pc as serve_pc
from .session_tape import Sliced as Sliced, read_tape as read_tape, replay_tape as replay_tape, taped as taped
