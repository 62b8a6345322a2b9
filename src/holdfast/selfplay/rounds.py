"""Rounds: a pair that fails its best-response test learns on and is tested again, as long as there are rounds left.

A round repeats the last part of the run's schedules: the learning rate rises to where it was then and falls once more.
A role that a challenger outdid may go on with that one's weights: what the test found is then met by the other role,
and who stood still has moved. Or a round is a whole run from other first weights: where a pair ends is partly luck, and
one that was found wanting need not be mended.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.config import Config
from holdfast.selfplay.book import Book
from holdfast.selfplay.health import Pulse
from holdfast.selfplay.response import Found
from holdfast.selfplay.rollback import Ring
from holdfast.selfplay.state import DuelState, keep_in_ring
from holdfast.selfplay.vault import put_into


def round_length(config: Config) -> int:
    """In iterations."""
    if config.response.anew:
        return config.run.iterations
    return max(1, round(config.response.round_share * config.run.iterations))


def last_iteration(config: Config, book: Book) -> int:
    """The one after which the run ends, or the pair is tested."""
    return config.run.iterations + book.rounds * round_length(config)


def iteration_in_schedule(config: Config, book: Book, iteration: int) -> int:
    """The iteration of the run whose learning rate and rewards this one has."""
    return iteration - book.rounds * round_length(config)


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
