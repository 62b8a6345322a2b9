"""Generations: both roles begin anew with other weights, while what they were stays in the pool.

A pair learns to hold against the other half of itself. Pursuers of runs with other first weights catch such an evader
two to four times as often as its own pursuer does, so meeting only one's own lineage is not enough. The last policies
of each generation are met by all later ones, by measured results; the pool has `league.size` places for them alone.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.learner.learner import Learner
from holdfast.selfplay.health import Pulse
from holdfast.selfplay.levels import Standing
from holdfast.selfplay.rollback import Ring
from holdfast.selfplay.schedule import is_last, planned_end
from holdfast.selfplay.side import Side
from holdfast.selfplay.state import DuelState, keep_in_ring
from holdfast.selfplay.vault import arrays_of, put_into
from holdfast.state import torch_generator

GENERATION = 15  # purpose of the generators that draw first weights


def generation_is_due(state: DuelState) -> bool:
    """Between two turns, and never before roles can move."""
    if is_last(state.config, state.book) or state.exercises:
        return False
    return state.scheduled >= planned_end(state.config, state.book.generation)


def begin_generation(state: DuelState, event: Callable[..., None]) -> None:
    """Both roles join their pools as they are, and begin anew."""
    book, config = state.book, state.config
    book.generation += 1
    book.born_at = state.scheduled
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
    take_up_learning(state)
    book.standing = Standing(level)
    book.candidate_streak = book.outside_streak = 0


def take_up_learning(state: DuelState) -> None:
    """Both roles learn together, if they sharpened or the first one finished."""
    book = state.book
    book.sharpen_at, book.finish_at, book.has_finished = None, None, False
    for side_book in book.sides:
        side_book.stood = None


def _reborn(state: DuelState, side: Side) -> None:
    """With weights that neither another generation nor another round began with."""
    config, role = state.config, state.world.spec.roles[side.number]
    lineage = state.book.generation + state.book.rounds
    generator = torch_generator(config.run.seed, GENERATION + 1000 * lineage + 100 * side.number)
    put_into(side.learner, arrays_of(Learner(role, config.policy, config.learner, generator, config.rollout.threads)))
