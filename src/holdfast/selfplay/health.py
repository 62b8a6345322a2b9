"""Is a role that learns still well? Looked at after every update, as a pure function of what was counted.

A rate is taken over the last `window` episodes against the newest opponent at the current level. A turn too short to
fill the window goes on with the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from holdfast.kit.intervals import wilson
from holdfast.selfplay.settings import HealthConfig

LOG_STD_FLOOR = -2.0  # logarithm of the least standard deviation of actions

WAS_WELL = 0.10  # a role that won more often than this has something to lose
FELL_BY = 0.2
STUCK_SHARE = 0.2  # of a turn
FLOOR_CHECKS = 5

Condition = Literal["well", "defeated", "fallen", "narrow", "broken", "stuck", "dominates"]


@dataclass
class Pulse:
    """What the monitor remembers of one role."""

    results: list[int] = field(default_factory=list)  # 1 = won, newest last
    in_turn: int = 0  # results since the turn began
    peak: float = 0.0  # best rate of this turn
    start_low: float | None = None  # lower limit of the first full window of this turn
    floor_checks: int = 0  # updates in a row with all action noise at its floor
    cleared_at: int = 0  # the role's steps when it was last rolled back or moved

    def add(self, results: list[int], window: int) -> None:
        self.results = (self.results + results)[-window:]
        self.in_turn += len(results)

    def begin_turn(self, window: int) -> None:
        if self.in_turn >= window:
            self.clear()
        self.in_turn = 0

    def clear(self) -> None:
        self.results, self.in_turn, self.peak, self.start_low, self.floor_checks = [], 0, 0.0, None, 0

    @property
    def rate(self) -> float | None:
        return sum(self.results) / len(self.results) if self.results else None


class Sign(NamedTuple):
    """One update of one role, as far as its health is concerned."""

    finite: bool
    log_std: tuple[float, ...]  # of continuous actions; empty otherwise
    turn_share: float  # of the turn that is over


class Diagnosis(NamedTuple):
    """The condition of a role, with the numbers it rests on."""

    condition: Condition
    because: str
    wins: int
    duels: int
    low: float
    high: float


def diagnose(settings: HealthConfig, pulse: Pulse, sign: Sign) -> Diagnosis:
    """Look once; the pulse is brought up to date (peak, start, checks at the floor)."""
    wins, duels = sum(pulse.results), len(pulse.results)
    low, high = wilson(wins, duels)
    pulse.floor_checks = pulse.floor_checks + 1 if _at_floor(settings, sign) else 0
    condition, because = _condition(settings, pulse, sign, high)
    if duels >= settings.window:
        pulse.peak = max(pulse.peak, wins / duels)
        if pulse.start_low is None and pulse.in_turn >= settings.window:
            pulse.start_low = low
    return Diagnosis(condition, because, wins, duels, low, high)


def _at_floor(settings: HealthConfig, sign: Sign) -> bool:
    return bool(sign.log_std) and all(value <= LOG_STD_FLOOR + 1e-6 for value in sign.log_std)


def _condition(settings: HealthConfig, pulse: Pulse, sign: Sign, high: float) -> tuple[Condition, str]:
    if not sign.finite:
        return "broken", "a number was not finite"
    if pulse.floor_checks >= FLOOR_CHECKS:
        return "narrow", f"all action noise at its floor for {pulse.floor_checks} updates"
    rate = pulse.rate
    if rate is None or len(pulse.results) < settings.window:
        return "well", "too few episodes to judge by"
    if rate <= settings.low and pulse.peak > WAS_WELL:
        return "defeated", f"wins {rate:.3f} of its duels after {pulse.peak:.3f}"
    if pulse.start_low is not None and high < pulse.start_low - FELL_BY:
        return "fallen", f"wins at most {high:.3f}, at the turn's start at least {pulse.start_low:.3f}"
    if rate <= settings.low and sign.turn_share >= STUCK_SHARE:
        return "stuck", f"wins {rate:.3f} of its duels {sign.turn_share:.0%} into the turn"
    if rate >= settings.high:
        return "dominates", f"wins {rate:.3f} of its duels"
    return "well", f"wins {rate:.3f} of its duels"


def wants_rollback(settings: HealthConfig, condition: Condition) -> bool:
    if condition == "dominates":
        return settings.on_domination == "rollback"
    return condition in ("defeated", "fallen", "narrow", "broken")
