"""From a mechanism file to everything that follows from it: reference, emitted C, board, trajectories, messages."""

import os

# Small matrices: threads of linear algebra that wait for each other cost far more than they bring. A setting of the
# user's own stands; where numpy was imported before, this does nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
