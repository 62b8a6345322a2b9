"""Rounds: a pair that fails its best-response test learns on and is tested again, as long as there are rounds left.

A round repeats the last part of the run's schedules: the learning rate rises to where it was then and falls once more.
A role that a challenger outdid may go on with that one's weights: what the test found is then met by the other role,
and who stood still has moved. Or a round is a whole run from other first weights: where a pair ends is partly luck, and
one that was found wanting need not be mended, or not more often than `response.mends`.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.selfplay.generations import begin_anew, take_up_learning
from holdfast.selfplay.health import Pulse
from holdfast.selfplay.response import Found
from holdfast.selfplay.rollback import Ring
from holdfast.selfplay.schedule import planned_sharpening, together_again
from holdfast.selfplay.state import DuelState, keep_in_ring
from holdfast.selfplay.vault import put_into


def begin_round(state: DuelState, is_outdone: bool) -> bool:
    """What follows has the schedules of a whole run from other weights (true), or those of its end once more.

    A pair that no challenger outdid, but an alarm or its challengers' weakness kept from passing, has nothing to learn
    from its test.
    """
    book, config = state.book, state.config
    book.rounds += 1
    if config.response.anew and (book.mended >= config.response.mends or not is_outdone):
        book.shift, book.mended = state.counts.iteration, 0
        begin_anew(state, config.levels.start_level)
        return True
    book.shift = state.counts.iteration - (planned_sharpening(config) - together_again(config))
    book.mended += 1
    take_up_learning(state)
    return False


def inherit(state: DuelState, found: Found, event: Callable[..., None]) -> None:
    """A role goes on as its challenger, whose learning counts as its own: the next ones have to learn as long."""
    role = found.response.role
    side, book = state.sides[role], state.book.sides[role]
    put_into(side.learner, found.response.arrays)
    book.inherited += found.response.steps - (book.own_steps if found.response.start == "scratch" else 0)
    book.pulse, book.ring, book.is_stuck = Pulse(), Ring(), False
    keep_in_ring(state, role, is_turn_start=True)  # what it was before was outdone: nothing to go back to
    rate = found.wins / found.duels
    event("heir", role=side.name, policy=state.vault.freeze(side), start=found.response.start, rate=rate)
