"""How learning ends: the first role may learn alone for a while, as challengers do.

The last of a pair that learned together is not what either role could be against the other as it stands: the second
role, which wins nearly always, goes on running ahead of the first one. In the finish (`duel.finish_share`) that one
catches up with a second role that stays as it is, until its time is over or it wins often enough
(`duel.finish_until`). If it already does, there is nothing to finish.
"""

from __future__ import annotations

from holdfast.curriculum.contract import Tell
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.rota import FIRST
from holdfast.selfplay.schedule import last_iteration, planned_finish

LOOK_EVERY = 10  # iterations at least between two evaluations that the last duels of a finish ask for


def finish_is_due(pair: Pair) -> bool:
    """Have both roles had their time together?"""
    config, book = pair.config, pair.book
    if config.duel.finish_share == 0.0 or book.finish_at is not None or pair.exercises:
        return False
    return planned_finish(config) <= pair.scheduled < config.run.iterations


def begin_finish(pair: Pair, event: Tell) -> None:
    """From here on only the first role learns, by schedules of its own."""
    pair.book.finish_at, pair.book.standing.awaits = pair.scheduled, None
    event("finish", role=pair.roles[FIRST], policy=pair.vault.freeze(pair.learners[FIRST]))


def wants_a_look(pair: Pair) -> bool:
    """Where a share of wins ends the finish: before it begins, when the last duels say so, when its time is over."""
    config, book = pair.config, pair.book
    since = pair.counts.iteration - book.evaluated_at
    if config.duel.finish_until == 0.0 or since == 0:
        return False
    if book.finish_at is None:
        return finish_is_due(pair)
    rate = book.sides[FIRST].pulse.rate
    wins_enough = rate is not None and rate >= config.duel.finish_until and since >= LOOK_EVERY
    return wins_enough or pair.scheduled >= config.run.iterations


def note_finish(pair: Pair, rate: float, event: Tell) -> None:
    """After an evaluation in the finish, or when that is due: does the first role win often enough to stop?"""
    book, wanted = pair.book, pair.config.duel.finish_until
    if 0.0 < wanted <= rate and (book.finish_at is not None or finish_is_due(pair)):
        book.has_finished = True
        after = 0 if book.finish_at is None else pair.scheduled - book.finish_at
        event("finished_early", role=pair.roles[FIRST], rate=rate, wanted=wanted, after=after)


def take_up_finish(pair: Pair, event: Tell) -> None:
    """A resumed run may have been made longer: both roles learn on until the finish that is now planned."""
    book = pair.book
    begun = pair.scheduled if book.finish_at is None and book.has_finished else book.finish_at
    if begun is None or begun >= planned_finish(pair.config):
        return
    book.shift += pair.scheduled - begun
    book.finish_at, book.has_finished = None, False
    event("unfinished", until=last_iteration(pair.config, book))
