"""Results of a mechanism file: reference, emitted C, board, trajectories, messages."""

import os

# With small matrices, threads of linear algebra cost more time by waiting than they save. The user's setting has
# precedence. If numpy was imported before, these lines have no effect.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
