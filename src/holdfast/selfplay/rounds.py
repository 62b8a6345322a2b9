"""Rounds: a pair that fails its best-response test learns on and is tested again, as long as there are rounds left.

A round repeats the last part of the run's schedules: the learning rate rises to where it was then and falls once more.
A role that a challenger outdid may go on with that one's weights: what the test found is then met by the other role,
and who stood still has moved. Or a round is a whole run from other first weights: where a pair ends is partly luck, and
one that was found wanting need not be mended, or not more often than `response.mends`.
"""

from __future__ import annotations

from holdfast.curriculum.contract import Tell
from holdfast.learner.learner import Learner
from holdfast.selfplay.health import Pulse
from holdfast.selfplay.levels import Standing
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.response import Found, Response
from holdfast.selfplay.rollback import Ring
from holdfast.selfplay.schedule import planned_finish, together_again
from holdfast.selfplay.vault import arrays_of, put_into
from holdfast.state import torch_generator

FIRST_WEIGHTS = 15  # purpose of the generators that draw those of a round anew


def begin_round(pair: Pair, is_outdone: bool) -> bool:
    """What follows has the schedules of a whole run from other weights (true), or those of its end once more.

    A pair that no challenger outdid, but an alarm or its challengers' weakness kept from passing, has nothing to learn
    from its test.
    """
    book, config = pair.book, pair.config
    book.rounds += 1
    if config.response.anew and (book.mended >= config.response.mends or not is_outdone):
        book.shift, book.mended = pair.counts.iteration, 0
        _begin_anew(pair, config.levels.start_level)
        return True
    book.shift = pair.counts.iteration - (planned_finish(config) - together_again(config))
    book.mended += 1
    _learn_together(pair)
    return False


def _begin_anew(pair: Pair, level: int) -> None:
    """Both roles have other weights, other duels and no past, at a level."""
    book = pair.book
    for number, side_book in enumerate(book.sides):
        _reborn(pair, number)
        side_book.pulse, side_book.ring = Pulse(), Ring()
        side_book.born_at, side_book.inherited, side_book.collapses = side_book.steps, 0, 0
        side_book.restart_next, side_book.is_stuck = True, False
        pair.keep_in_ring(number, is_turn_start=True)
    _learn_together(pair)
    book.standing = Standing(level)
    book.candidate_streak = 0


def _learn_together(pair: Pair) -> None:
    """Also where the first role had learned alone."""
    pair.book.finish_at, pair.book.has_finished = None, False


def _reborn(pair: Pair, number: int) -> None:
    """With weights that no other round began with."""
    config, role = pair.config, pair.spec.roles[number]
    generator = torch_generator(config.run.seed, FIRST_WEIGHTS + 1000 * pair.book.rounds + 100 * number)
    born = Learner(role, config.policy, config.learner, generator, config.rollout.threads)
    put_into(pair.learners[number], arrays_of(born))


def inherit(pair: Pair, found: Found, event: Tell) -> None:
    """A role goes on as its challenger, whose learning counts as its own: the next ones have to learn as long."""
    role = found.response.role
    book = pair.book.sides[role]
    put_into(pair.learners[role], found.response.arrays)
    book.inherited += found.response.steps - (book.own_steps if found.response.start == "scratch" else 0)
    book.pulse, book.ring, book.is_stuck = Pulse(), Ring(), False
    pair.keep_in_ring(role, is_turn_start=True)  # what it was before was outdone: nothing to go back to
    rate = found.wins / found.duels
    event(
        "heir",
        role=pair.roles[role],
        policy=pair.vault.freeze(pair.learners[role]),
        start=found.response.start,
        rate=rate,
    )


def join_pool(pair: Pair, found: Response, event: Tell) -> None:
    """A challenger is met by the other role from now on."""
    side_book = pair.book.sides[found.role]
    policy = pair.vault.keep(found.arrays)
    left = side_book.pool.admit(policy, side_book.steps, pair.config.league)
    gained = {
        "steps": found.steps,
        "before": found.history[0].rate,
        "after": max(gain.rate for gain in found.history),
    }
    gone = None if left is None else left.hash
    event("challenged", role=pair.roles[found.role], policy=policy, left=gone, **gained)
