"""Processing of a mechanism file: reference model, emitted C, board, trajectories, messages."""

import os

# With small matrices, the threads of the linear-algebra library cost more time than they save. An environment variable
# that the user set has precedence. The setting has no effect if numpy was imported earlier.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
