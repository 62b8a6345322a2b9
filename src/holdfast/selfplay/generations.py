"""Generations: both roles begin anew with other weights, while what they were stays in the pool.

A pair learns to hold against the other half of itself. Pursuers of runs with other first weights catch such an evader
two to four times as often as its own pursuer does, so meeting only one's own lineage is not enough. The last policies
of each generation are met by all later ones, by measured results; the pool has `league.size` places for them alone.

After the last generation roles may learn as challengers do: both, each against the other as it stood when that began
(`duel.sharpen_share`), then the first one alone, while the second one stays as it is (`duel.finish_share`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from holdfast.config import Config
from holdfast.curriculum.levels import Standing
from holdfast.learner.learner import Learner
from holdfast.selfplay.book import Book
from holdfast.selfplay.health import Pulse
from holdfast.selfplay.rollback import Ring
from holdfast.selfplay.rota import FIRST
from holdfast.selfplay.side import Side
from holdfast.selfplay.state import DuelState, keep_in_ring
from holdfast.selfplay.vault import arrays_of, put_into
from holdfast.state import torch_generator

GENERATION = 15  # purpose of the generators that draw first weights


class Span(NamedTuple):
    """When a generation learns, or roles after the last one, in iterations."""

    start: int
    end: int


def planned_finish(config: Config) -> int:
    """The iteration from which the first role learns alone; every generation has had one before."""
    whole = config.run.iterations
    return max(whole - round(config.duel.finish_share * whole), min(config.duel.generations, whole))


def planned_sharpening(config: Config) -> int:
    """The iteration from which roles learn against what the other was then; the finish's without such a time."""
    whole = config.run.iterations
    return max(planned_finish(config) - round(config.duel.sharpen_share * whole), min(config.duel.generations, whole))


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
    return book.generation >= config.duel.generations - 1


def generation_is_due(state: DuelState) -> bool:
    """Between two turns, and never before roles can move."""
    if is_last(state.config, state.book) or state.exercises:
        return False
    return state.counts.iteration >= planned_end(state.config, state.book.generation)


def sharpening_is_due(state: DuelState) -> bool:
    """Has the last generation had its time, and is there some before the finish?"""
    config, book, now = state.config, state.book, state.counts.iteration
    if config.duel.sharpen_share == 0.0 or book.is_ending or not is_last(config, book) or state.exercises:
        return False
    return max(planned_sharpening(config), book.born_at + 1) <= now < planned_finish(config)


def begin_sharpening(state: DuelState, event: Callable[..., None]) -> None:
    """From here on each role learns against what the other is now, whatever ends its turns."""
    state.book.sharpen_at = state.counts.iteration
    policies = {}
    for side, side_book in zip(state.sides, state.book.sides, strict=True):
        side_book.stood = policies[side.name] = state.vault.freeze(side)
    event("sharpen", policies=policies)


def finish_is_due(state: DuelState) -> bool:
    """Has the last generation had its time?"""
    config, book, now = state.config, state.book, state.counts.iteration
    if config.duel.finish_share == 0.0 or book.finish_at is not None or not is_last(config, book) or state.exercises:
        return False
    return max(planned_finish(config), book.born_at + 1) <= now < config.run.iterations


def begin_finish(state: DuelState, event: Callable[..., None]) -> None:
    """From here on only the first role learns, by schedules of its own."""
    book = state.book
    book.finish_at = state.counts.iteration
    for side_book in book.sides:
        side_book.stood = None
    event("finish", role=state.sides[FIRST].name, policy=state.vault.freeze(state.sides[FIRST]))


def begin_generation(state: DuelState, event: Callable[..., None]) -> None:
    """Both roles join their pools as they are, and begin anew."""
    book, config = state.book, state.config
    book.generation += 1
    book.born_at = state.counts.iteration
    ancestors = {}
    for side, side_book in zip(state.sides, book.sides, strict=True):
        ancestors[side.name] = state.vault.freeze(side.learner)
        side_book.pool.admit(ancestors[side.name], side_book.steps, config.league)
    begin_anew(state, book.standing.level)
    event("generation", generation=book.generation, of=config.duel.generations, ancestors=ancestors)


def begin_anew(state: DuelState, level: int) -> None:
    """Both roles have other weights, other duels and no past, at a level."""
    book = state.book
    for number, (side, side_book) in enumerate(zip(state.sides, book.sides, strict=True)):
        _reborn(state, side)
        side_book.pulse, side_book.ring = Pulse(), Ring()
        side_book.born_at, side_book.inherited, side_book.collapses = side_book.steps, 0, 0
        side_book.restart_next, side_book.is_stuck = True, False
        keep_in_ring(state, number, is_turn_start=True)
    book.standing = Standing(level)
    book.candidate_streak = book.outside_streak = 0


def _reborn(state: DuelState, side: Side) -> None:
    """With weights that neither another generation nor another round began with."""
    config, role = state.config, state.world.spec.roles[side.number]
    lineage = state.book.generation + state.book.rounds
    generator = torch_generator(config.run.seed, GENERATION + 1000 * lineage + 100 * side.number)
    put_into(side.learner, arrays_of(Learner(role, config.policy, config.learner, generator, config.rollout.threads)))
