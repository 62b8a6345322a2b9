"""Holdfast trains reinforcement-learning agents on one machine and resumes them bit for bit.

Nothing heavy is imported here, so that `holdfast --help` answers at once.
"""

__version__ = "0.1.0"
