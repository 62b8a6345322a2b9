"""Rounds: a pair that fails its best-response test learns on and is tested again, as long as there are rounds left.

A round repeats the last part of the run's schedules: the learning rate rises to where it was then and falls once more.
A role that a challenger outdid may go on with that one's weights: what the test found is then met by the other role,
and who stood still has moved. Or a round is a whole run from other first weights: where a pair ends is partly luck, and
one that was found wanting need not be mended, or not more often than `response.mends`.
"""

from __future__ import annotations

from holdfast.curriculum.levels import Standing
from holdfast.curriculum.live import Tell
from holdfast.learner.learner import Learner
from holdfast.selfplay.health import Pulse
from holdfast.selfplay.response import Found, Response
from holdfast.selfplay.rollback import Ring
from holdfast.selfplay.schedule import planned_finish, together_again
from holdfast.selfplay.side import Side
from holdfast.selfplay.state import DuelState, keep_in_ring
from holdfast.selfplay.vault import arrays_of, put_into
from holdfast.state import torch_generator

FIRST_WEIGHTS = 15  # purpose of the generators that draw those of a round anew


def begin_round(state: DuelState, is_outdone: bool) -> bool:
    """What follows has the schedules of a whole run from other weights (true), or those of its end once more.

    A pair that no challenger outdid, but an alarm or its challengers' weakness kept from passing, has nothing to learn
    from its test.
    """
    book, config = state.book, state.config
    book.rounds += 1
    if config.response.anew and (book.mended >= config.response.mends or not is_outdone):
        book.shift, book.mended = state.counts.iteration, 0
        _begin_anew(state, config.levels.start_level)
        return True
    book.shift = state.counts.iteration - (planned_finish(config) - together_again(config))
    book.mended += 1
    _learn_together(state)
    return False


def _begin_anew(state: DuelState, level: int) -> None:
    """Both roles have other weights, other duels and no past, at a level."""
    book = state.book
    for number, (side, side_book) in enumerate(zip(state.sides, book.sides, strict=True)):
        _reborn(state, side)
        side_book.pulse, side_book.ring = Pulse(), Ring()
        side_book.born_at, side_book.inherited, side_book.collapses = side_book.steps, 0, 0
        side_book.restart_next, side_book.is_stuck = True, False
        keep_in_ring(state, number, is_turn_start=True)
    _learn_together(state)
    book.standing = Standing(level)
    book.candidate_streak = 0


def _learn_together(state: DuelState) -> None:
    """Also where the first role had learned alone."""
    state.book.finish_at, state.book.has_finished = None, False


def _reborn(state: DuelState, side: Side) -> None:
    """With weights that no other round began with."""
    config, role = state.config, state.world.spec.roles[side.number]
    generator = torch_generator(config.run.seed, FIRST_WEIGHTS + 1000 * state.book.rounds + 100 * side.number)
    put_into(side.learner, arrays_of(Learner(role, config.policy, config.learner, generator, config.rollout.threads)))


def inherit(state: DuelState, found: Found, event: Tell) -> None:
    """A role goes on as its challenger, whose learning counts as its own: the next ones have to learn as long."""
    role = found.response.role
    side, book = state.sides[role], state.book.sides[role]
    put_into(side.learner, found.response.arrays)
    book.inherited += found.response.steps - (book.own_steps if found.response.start == "scratch" else 0)
    book.pulse, book.ring, book.is_stuck = Pulse(), Ring(), False
    keep_in_ring(state, role, is_turn_start=True)  # what it was before was outdone: nothing to go back to
    rate = found.wins / found.duels
    event("heir", role=side.name, policy=state.vault.freeze(side), start=found.response.start, rate=rate)


def join_pool(state: DuelState, found: Response, event: Tell) -> None:
    """A challenger is met by the other role from now on."""
    side_book = state.book.sides[found.role]
    policy = state.vault.keep(found.arrays)
    left = side_book.pool.admit(policy, side_book.steps, state.config.league)
    gained = {
        "steps": found.steps,
        "before": found.history[0].rate,
        "after": max(gain.rate for gain in found.history),
    }
    gone = None if left is None else left.hash
    event("challenged", role=state.sides[found.role].name, policy=policy, left=gone, **gained)
