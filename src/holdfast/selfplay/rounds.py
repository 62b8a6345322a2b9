"""Rounds: a pair that fails its best-response test learns on and is tested again, as long as there are rounds left.

A round repeats the last part of the run's schedules: the learning rate rises to where it was then and falls once more.
"""

from __future__ import annotations

from holdfast.config import Config
from holdfast.selfplay.book import Book


def round_length(config: Config) -> int:
    """In iterations."""
    return max(1, round(config.response.round_share * config.run.iterations))


def last_iteration(config: Config, book: Book) -> int:
    """The one after which the run ends, or the pair is tested."""
    return config.run.iterations + book.rounds * round_length(config)


def iteration_in_schedule(config: Config, book: Book, iteration: int) -> int:
    """The iteration of the run whose learning rate and rewards this one has."""
    return iteration - book.rounds * round_length(config)
