"""One thread for linear algebra: the matrices are small, and threads that wait for each other cost far more than they
bring, above all when the tests themselves run side by side. To be set before numpy is imported."""

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
