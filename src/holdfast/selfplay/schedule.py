"""When who learns what: generations, sharpening and the finish in iterations of the run's schedules, as pure functions.

A round repeats schedules, the whole of them or their end, so a run's own count of iterations is ahead of them by
`book.shift`. Everything here is in iterations of the schedules, unless it says that it is in those of the run.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.sections import Config
from holdfast.selfplay.book import Book


class Span(NamedTuple):
    """When a generation learns, or roles after the last one."""

    start: int
    end: int


def in_schedule(book: Book, iteration: int) -> int:
    """The iteration of the schedules whose learning rate and rewards this one of the run has."""
    return iteration - book.shift


def last_iteration(config: Config, book: Book) -> int:
    """The one of the run after which it ends, or the pair is tested, unless the finish is over sooner."""
    return config.run.iterations + book.shift


def planned_finish(config: Config) -> int:
    """From when the first role learns alone; every generation has had an iteration before."""
    whole = config.run.iterations
    return max(whole - round(config.duel.finish_share * whole), min(config.duel.generations, whole))


def planned_sharpening(config: Config) -> int:
    """From when roles learn against what the other was then; the finish's without such a time."""
    whole = config.run.iterations
    return max(planned_finish(config) - round(config.duel.sharpen_share * whole), min(config.duel.generations, whole))


def together_again(config: Config) -> int:
    """How long a pair that learns on in a round does so before it sharpens or the first role finishes."""
    return max(1, round(config.response.round_share * planned_sharpening(config)))


def mending_length(config: Config) -> int:
    """Of such a round, with what then comes."""
    return together_again(config) + config.run.iterations - planned_sharpening(config)


def round_length(config: Config) -> int:
    """How many iterations a round may have at most."""
    return config.run.iterations if config.response.anew else mending_length(config)


def planned_end(config: Config, generation: int) -> int:
    """All but the last are of one length; together they have their share of the run. Each has an iteration at least."""
    duel, whole = config.duel, planned_sharpening(config)
    earlier = duel.generations - 1
    if generation >= earlier:
        return whole
    share = duel.generation_share or earlier / duel.generations
    wanted = round((generation + 1) * share * whole / earlier)
    return min(max(wanted, generation + 1), whole - (earlier - generation))


def span(config: Config, book: Book) -> Span:
    """Of the generation that learns now, or of what comes after the last; an exercise may have delayed either."""
    if book.finish_at is not None:
        return Span(book.finish_at, max(config.run.iterations, book.finish_at + 1))
    if book.sharpen_at is not None:
        return Span(book.sharpen_at, max(planned_finish(config), book.sharpen_at + 1))
    return Span(book.born_at, max(planned_end(config, book.generation), book.born_at + 1))


def rollouts_until_change(config: Config, book: Book, now: int) -> int | None:
    """Iterations that a turn may have before others learn, or otherwise; none if nothing of that is to come."""
    duel, left = config.duel, span(config, book).end - now
    to_come = not is_last(config, book) or duel.finish_share > 0.0 or (duel.sharpen_share > 0.0 and not book.is_ending)
    return max(left, 1) if to_come and book.finish_at is None else None


def is_last(config: Config, book: Book) -> bool:
    """Whether no generation is to come."""
    return book.generation >= config.duel.generations - 1
