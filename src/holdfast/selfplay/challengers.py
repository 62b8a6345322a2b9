"""Challengers for the pool: learners that beat one frozen role, kept so that the role learns to hold against them.

A pair that only meets each other's newest and earlier policies may share a blindness that a newcomer finds at once.
AlphaStar's league exploiters (Vinyals et al. 2019) are this idea; here a challenger begins with its role's own weights
and the full learning rate, and what a best-response test would have found later is met while there is time to learn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holdfast.kit.rng import derive
from holdfast.selfplay.certificate import FROZEN
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Contender
from holdfast.selfplay.response import Response, Setting, respond
from holdfast.selfplay.rota import FIRST, SECOND, other
from holdfast.selfplay.side import has_role
from holdfast.selfplay.state import DuelState

CHALLENGE_SEED = 0xC4A1


def challenge_is_due(state: DuelState) -> bool:
    """Never before roles can move, nor in the last interval: nobody would be left to learn from it."""
    every, now = state.config.league.challenge_every, state.counts.iteration
    if every == 0 or state.exercises or now + every > state.config.run.iterations:
        return False
    return now - state.book.challenged_at >= every


def challenge(state: DuelState, ladder: Ladder, heed: Callable[[], None], event: Callable[..., None]) -> None:
    """Let a challenger of each chosen role learn, and admit it to that role's pool."""
    league = state.config.league
    names = [state.vault.freeze(side) for side in state.sides]
    state.book.challenged_at = state.counts.iteration
    for number in (FIRST, SECOND):
        if not has_role(league.challenge_roles, number):
            continue
        rival = Contender(FROZEN, state.vault.take(names[other(number)]))
        setting = Setting(state.config, ladder, state.book.standing.level, number, rival, heed=heed)
        found = respond(setting, state.vault.take(names[number]), league.challenge_steps, _seed(state, number))
        join_pool(state, found, event)


def join_pool(state: DuelState, found: Response, event: Callable[..., None]) -> None:
    """A challenger is met by the other role from now on."""
    side_book = state.book.sides[found.role]
    policy = state.vault.keep(found.arrays)
    left = side_book.pool.admit(policy, side_book.steps, state.config.league)
    gone = None if left is None else left.hash
    event("challenged", role=state.sides[found.role].name, policy=policy, left=gone, **_gain(found))


def _gain(found: Response) -> dict[str, float | int]:
    return {
        "steps": found.steps,
        "before": found.history[0].rate,
        "after": max(gain.rate for gain in found.history),
    }


def _seed(state: DuelState, number: int) -> int:
    """Another one for every challenger of a run, the same after a resume."""
    key = derive(np.uint64(state.config.run.seed), np.uint64(CHALLENGE_SEED + number))
    return int(derive(key, np.uint64(state.counts.iteration)) >> np.uint64(33))
