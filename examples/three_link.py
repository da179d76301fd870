# %% [markdown]
# # From a mechanism file to a moving arm, in Python
# `three_link.py` runs as a script. `python docs/generate.py` makes `three_link.ipynb` from it, for Jupyter.
# Everything here runs on this computer. With a real board, only one line differs.

# %%
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from femtorque import Board, Mechanism, Trajectory, plan_motion, report, virtual_board

here = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
mechanisms, out = here.parent / "mechanisms", Path(mkdtemp())

# %% [markdown]
# A mechanism file describes the arm. All following computations start from this file.

# %%
arm = Mechanism.load(mechanisms / "three_link.toml")
print(arm.name, [joint.name for joint in arm.moving], f"{arm.control.rate_hz} Hz")

# %% [markdown]
# ## Torques
# Compute the torques that a motion needs, at the middle of every control tick.

# %%
motion = Trajectory.load(mechanisms / "three_link.csv", arm)
torque = arm.torque(motion)
print(f"{len(torque.t)} ticks, peak {np.abs(torque.tau).max(axis=0).round(3)} N m, "
      f"{torque.error:.1e} of it away from Newton-Euler")

# %% [markdown]
# ## A motion of our own
# The planner turns waypoints into a jerk-limited motion within all limits. The waypoints here are two poses, and a
# straight line of the tip.

# %%
waypoints = out / "waypoints.toml"
waypoints.write_text("""
tip = { link = "hand", xyz = [0.2, 0.0, 0.0] }
[[waypoint]]
joints = { shoulder = 0.2, elbow = 0.9 }
[[waypoint]]
xyz = [0.35, 0.25, 0.0]
[[waypoint]]
xyz = [0.35, -0.05, 0.0]
line = true
""")
planned = plan_motion(arm, waypoints, back=True)
print(planned.words())

# %% [markdown]
# ## A board
# The exact flash image on an emulated chip, with a simulated arm. On the desk it would be
# `with Board.connect("auto", arm) as board:` - all other lines stay the same.

# %%
with virtual_board(arm) as board:
    assert isinstance(board, Board)
    print(board.state, board.positions.round(3))
    board.home()
    print("before moving:", board.check(planned.trajectory).words())
    outcome = board.stream(planned.trajectory, log=out / "run.mcap")
    print(f"{outcome.ended}: tracking rms {(1e3 * outcome.tracking_rms).round(2)} mrad")

# %% [markdown]
# ## The worst values
# In words; `report` also writes the page with the figures.

# %%
for sentence in report(out / "run.mcap", out / "run.html"):
    print("-", sentence)
print(out / "run.html")
