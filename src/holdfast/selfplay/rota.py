"""Whose turn it is, how long it lasts and how fast it learns: pure functions of what was recorded.

The order of rules is fixed: a role forced by an event, then freezing, then a boost of the losing role, then the ratio
of turns. Alternation goes by the role that learned last, never by the number of the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from holdfast.kit.errors import ConfigError
from holdfast.selfplay.settings import DuelConfig

FIRST, SECOND = 0, 1  # numbers of the two roles
WARMUP = ((200_000, 0.2), (600_000, 0.4), (1_200_000, 0.6))  # up to these steps, this share of a turn
LEAST_DAMPING = 0.1


@dataclass
class Rota:
    """What the choice of roles remembers."""

    last: int | None = None  # the role that learned last
    in_a_row: int = 0  # turns it has had
    forced: int | None = None  # by an advance or by domination; used once
    boosted: int | None = None
    boost_left: int = 0
    active: int = FIRST  # the role that alternate_freeze lets learn
    switched_at: int = 0  # steps when it was chosen
    switches: int = 0
    streak: int = 0  # evaluations in a row in which it won often enough


class Turn(NamedTuple):
    """Who learns next, and why."""

    roles: tuple[int, ...]
    reason: str


def other(role: int) -> int:
    return SECOND if role == FIRST else FIRST


def role_number(name: str) -> int | None:
    return {"first": FIRST, "second": SECOND}.get(name)


def next_turn(settings: DuelConfig, rota: Rota, steps: int) -> Turn:
    """The next turn's roles; `steps` are agent-steps of the whole run."""
    frozen = role_number(settings.freeze_role)
    if frozen is not None:
        return Turn((other(frozen),), "freeze_role")
    if rota.forced is not None:
        return Turn((rota.forced,), "forced")
    if settings.mode == "simultaneous":
        return Turn((FIRST, SECOND), "simultaneous")
    if settings.alternate_freeze and not _is_free(settings, steps):
        return Turn((rota.active,), "alternate_freeze")
    if rota.boosted is not None and rota.boost_left > 0:
        return Turn((rota.boosted,), "boost")
    if rota.last is None or rota.last == SECOND:
        return Turn((FIRST,), "alternation")
    if rota.in_a_row < settings.train_ratio:
        return Turn((FIRST,), "ratio")
    return Turn((SECOND,), "alternation")


def who_learns_next(settings: DuelConfig, rota: Rota) -> int | None:
    """The role that a new level is new to: one that is forced, else the one that did not learn last. None where a role
    is frozen: there may be no turn of it to wait for."""
    if settings.freeze_role != "none" or settings.alternate_freeze or rota.last is None:
        return None
    return other(rota.last) if rota.forced is None else rota.forced


def _is_free(settings: DuelConfig, steps: int) -> bool:
    return 0 < settings.free_play_from <= steps


def after_turn(rota: Rota, roles: tuple[int, ...]) -> None:
    """Note that these roles had their turn."""
    role = roles[0]
    rota.in_a_row = rota.in_a_row + 1 if rota.last == role else 1
    rota.last = role
    if rota.forced == role:
        rota.forced = None
    if rota.boosted == role and rota.boost_left > 0:
        rota.boost_left -= 1
        if rota.boost_left == 0:
            rota.boosted = None


def after_evaluation(settings: DuelConfig, rota: Rota, first_rate: float, steps: int) -> list[str]:
    """What an evaluation changes about future turns; the names of the rules that acted."""
    acted = []
    if settings.alternate_freeze and not _is_free(settings, steps):
        rate = first_rate if rota.active == FIRST else 1.0 - first_rate
        rota.streak = rota.streak + 1 if rate > threshold_at(settings, steps) else 0
        if rota.streak >= settings.freeze_consecutive:
            switch_frozen(rota, steps)
            acted.append("freeze_switch")
    gap = abs(2.0 * first_rate - 1.0)
    if settings.boost_threshold > 0.0 and rota.boost_left == 0 and gap > settings.boost_threshold:
        rota.boosted, rota.boost_left = SECOND if first_rate > 0.5 else FIRST, settings.boost_turns
        acted.append("boost")
    return acted


def forced_switch_is_due(settings: DuelConfig, rota: Rota, steps: int) -> bool:
    """Has the one role of alternate_freeze learned as long as it may?"""
    if not settings.alternate_freeze or _is_free(settings, steps):
        return False
    return 0 < settings.force_switch_every <= steps - rota.switched_at


def switch_frozen(rota: Rota, steps: int) -> None:
    rota.active, rota.switched_at, rota.streak = other(rota.active), steps, 0
    rota.switches += 1


def threshold_at(settings: DuelConfig, steps: int) -> float:
    """The share of wins that ends a role's time, by the schedule."""
    found = settings.freeze_threshold
    for start, threshold in read_schedule(settings.freeze_schedule):
        if steps >= start:
            found = threshold
    return found


def read_schedule(parts: tuple[str, ...]) -> list[tuple[int, float]]:
    """`500000:0.6` as (500000, 0.6), in order."""
    found = []
    for part in parts:
        start, colon, threshold = part.partition(":")
        try:
            found.append((int(start), float(threshold)))
        except ValueError:
            raise ConfigError([f"duel.freeze_schedule: {part!r} is not step:threshold, as in 500000:0.6"]) from None
        if not colon or not 0.0 <= found[-1][1] <= 1.0:
            raise ConfigError([f"duel.freeze_schedule: {part!r}: the threshold must lie between 0 and 1"])
    return sorted(found)


def turn_rollouts(
    settings: DuelConfig, role: int, played: int, rollout_steps: int, obstacles: bool, shrink: float = 1.0
) -> int:
    """Rollouts of a turn: base or warm-up, times the multiplier, rounded up; `played` are steps of such turns."""
    length = settings.turn_steps * shrink
    if settings.warmup:
        length *= next((share for limit, share in WARMUP if played < limit), 1.0)
    if role == SECOND and (settings.multiplier_when == "always" or obstacles):
        length *= settings.evader_multiplier
    return max(1, -(-round(length) // rollout_steps))


def damping(settings: DuelConfig, gap: float | None) -> float:
    """The factor on the learning rate while the balance gap is narrow."""
    if settings.damp_threshold <= 0.0 or gap is None or gap >= settings.damp_threshold:
        return 1.0
    return max(LEAST_DAMPING, gap / settings.damp_threshold)


def full_sight(settings: DuelConfig, steps: int) -> float:
    """The share of steps with full sight, by the masking curriculum."""
    if settings.mask_steps == 0:
        return 0.0
    left = max(0.0, 1.0 - steps / settings.mask_steps)
    return settings.mask_residual + (1.0 - settings.mask_residual) * left
