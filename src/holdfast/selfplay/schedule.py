"""When who learns what: learning together, the finish and rounds, as pure functions of the configuration and the book.

A round repeats schedules, the whole of them or their end, so a run's own count of iterations is ahead of them by
`book.shift`. Everything here is in iterations of the schedules, unless it says that it is in those of the run.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.sections import Config
from holdfast.selfplay.book import Book


class Span(NamedTuple):
    """When roles learn together, or the first one alone."""

    start: int
    end: int


def in_schedule(book: Book, iteration: int) -> int:
    """The iteration of the schedules whose learning rate and rewards this one of the run has."""
    return iteration - book.shift


def last_iteration(config: Config, book: Book) -> int:
    """The one of the run after which it ends, or the pair is tested, unless the finish is over sooner."""
    return config.run.iterations + book.shift


def planned_finish(config: Config) -> int:
    """From when the first role learns alone, or the end of the run; before it both have had an iteration at least."""
    whole = config.run.iterations
    return max(whole - round(config.duel.finish_share * whole), 1)


def together_again(config: Config) -> int:
    """How long a pair that learns on in a round does so before the first role finishes."""
    return max(1, round(config.response.round_share * planned_finish(config)))


def mending_length(config: Config) -> int:
    """Of such a round, with what then comes."""
    return together_again(config) + config.run.iterations - planned_finish(config)


def round_length(config: Config) -> int:
    """How many iterations a round may have at most."""
    return config.run.iterations if config.response.anew else mending_length(config)


def span(config: Config, book: Book) -> Span:
    """Of what goes on now; an exercise may have delayed the finish."""
    if book.finish_at is not None:
        return Span(book.finish_at, max(config.run.iterations, book.finish_at + 1))
    return Span(0, planned_finish(config))


def rollouts_until_change(config: Config, book: Book, now: int) -> int | None:
    """Iterations that a turn may have before the first role learns alone; none if that is not to come."""
    is_to_come = config.duel.finish_share > 0.0 and book.finish_at is None
    return max(span(config, book).end - now, 1) if is_to_come else None
