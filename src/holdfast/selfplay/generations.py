"""Generations: both roles begin anew with other weights, while what they were stays in the pool.

A pair learns to hold against the other half of itself. Pursuers of runs with other first weights catch such an evader
two to four times as often as its own pursuer does, so meeting only one's own lineage is not enough. The last policies
of each generation are met by all later ones, by measured results; the pool has `league.size` places for them alone.
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
from holdfast.selfplay.state import DuelState, Side
from holdfast.selfplay.vault import arrays_of, put_into
from holdfast.state import torch_generator

GENERATION = 15  # purpose of the generators that draw first weights


class Span(NamedTuple):
    """When a generation learns, in iterations."""

    start: int
    end: int


def planned_end(config: Config, generation: int) -> int:
    """All but the last are of one length; together they have their share of the run. Each has an iteration at least."""
    duel, whole = config.duel, config.run.iterations
    earlier = duel.generations - 1
    if generation >= earlier:
        return whole
    share = duel.generation_share or earlier / duel.generations
    wanted = round((generation + 1) * share * whole / earlier)
    return min(max(wanted, generation + 1), whole - (earlier - generation))


def span(config: Config, book: Book) -> Span:
    """Of the generation that learns now; a long turn may have begun it after its planned end."""
    return Span(book.born_at, max(planned_end(config, book.generation), book.born_at + 1))


def is_last(config: Config, book: Book) -> bool:
    return book.generation >= config.duel.generations - 1


def generation_is_due(state: DuelState) -> bool:
    """Between two turns, and never before roles can move."""
    if is_last(state.config, state.book) or state.exercises:
        return False
    return state.counts.iteration >= planned_end(state.config, state.book.generation)


def begin_generation(state: DuelState, event: Callable[..., None]) -> None:
    """Both roles join their pools as they are, and begin anew."""
    book, config = state.book, state.config
    book.generation += 1
    book.born_at = state.counts.iteration
    ancestors = {}
    for side, side_book in zip(state.sides, book.sides, strict=True):
        name = state.vault.freeze(side.learner)
        side_book.pool.admit(name, side_book.steps, config.league)
        ancestors[side.name] = name
        _reborn(state, side)
        side_book.pulse, side_book.ring = Pulse(), Ring()
        side_book.born_at, side_book.collapses = side_book.steps, 0
        side_book.restart_next, side_book.is_stuck = True, False
    book.standing = Standing(book.standing.level)
    book.candidate_streak = book.outside_streak = 0
    event("generation", generation=book.generation, of=config.duel.generations, ancestors=ancestors)


def _reborn(state: DuelState, side: Side) -> None:
    config, role = state.config, state.world.spec.roles[side.number]
    generator = torch_generator(config.run.seed, GENERATION + 1000 * state.book.generation + 100 * side.number)
    put_into(side.learner, arrays_of(Learner(role, config.policy, config.learner, generator, config.rollout.threads)))
