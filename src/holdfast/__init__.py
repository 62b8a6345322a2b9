"""Holdfast trains reinforcement-learning agents on one machine and resumes them bit for bit.

Nothing heavy is imported here, so that `holdfast --help` answers at once.
"""

import os

__version__ = "0.1.0"

# Threads that wait for each other burn their core for milliseconds by default (libgomp spins 300,000 times). With one
# other busy program on a 2-core machine that made training three to five times slower; spinning less costs up to 15 %
# on a quiet machine (there, set OMP_WAIT_POLICY=ACTIVE). Read when torch and Numba load, so it is set before them.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
