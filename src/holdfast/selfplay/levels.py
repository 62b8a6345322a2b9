"""Levels of a duel as one list, discrete or smooth, and the pure decision to go up or down in it.

The level is an index into the list: what it is called and what it contains cannot drift apart. One evaluation counts
once for every streak, however long the turns between evaluations are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from holdfast.kit.errors import ConfigError
from holdfast.selfplay.sequential import Evidence, Question
from holdfast.selfplay.settings import LevelsConfig

OBSTACLES_FROM = 8.0  # m, largest starting distance of smooth levels from which there are obstacles
REGRESS_FLOOR, REGRESS_PATIENCE = 0.02, 3  # win rate of the second role, and evaluations in a row below it

NEAREST = 2.0  # metres between the two at the start of a duel
FAR_SHARE, MIDDLE_SHARE = 0.8, 0.4  # of the arena's diagonal, and of that
DISCRETE = (
    (2.0, 5.0, False),
    (5.0, 15.0, False),
    (2.0, 5.0, True),
    (5.0, 8.0, True),
    (5.0, 12.0, True),
    (2.0, 15.0, True),
)
LOST = "second role lost"
PLATEAU = 0.03  # a smaller change of a rate is none


@dataclass(frozen=True)
class Level:
    """What the duels of a level begin with."""

    index: int
    nearest: float
    farthest: float
    obstacles: int

    @property
    def label(self) -> str:
        circles = f", {self.obstacles} obstacles" if self.obstacles else ""
        return f"level {self.index}: {self.nearest:g} to {self.farthest:g} m{circles}"


def levels(settings: LevelsConfig, width: float, height: float) -> tuple[Level, ...]:
    """All levels in an arena of this size, the easiest first."""
    cap = FAR_SHARE * math.hypot(width, height)
    found = _discrete(settings, cap) if settings.kind == "discrete" else _smooth(settings, cap)
    if settings.start_level >= len(found):
        raise ConfigError([f"levels.start_level = {settings.start_level}: the last of the levels is {len(found) - 1}"])
    return found


def _discrete(settings: LevelsConfig, cap: float) -> tuple[Level, ...]:
    def fitted(index: int, nearest: float, farthest: float, circles: bool) -> Level:
        nearest = nearest if nearest == NEAREST else min(nearest, MIDDLE_SHARE * cap)
        return Level(index, nearest, min(farthest, cap), settings.obstacles if circles else 0)

    return tuple(fitted(index, *row) for index, row in enumerate(DISCRETE))


def _smooth(settings: LevelsConfig, cap: float) -> tuple[Level, ...]:
    last = min(settings.final_max, cap)
    top = max(0, math.ceil(round((last - settings.start_max) / settings.increment, 9)))
    farthest = [min(settings.start_max + settings.increment * index, last) for index in range(top + 1)]
    return tuple(
        Level(index, NEAREST, far, settings.obstacles if far >= OBSTACLES_FROM else 0)
        for index, far in enumerate(farthest)
    )


@dataclass
class Standing:
    """What is remembered about the evaluations at the current level."""

    level: int = 0
    turns: int = 0  # of play, whole ones
    awaits: int | None = None  # the role that must have had one before the next advance
    evaluations: int = 0
    passed: int = 0  # in a row
    lost: int = 0  # in a row, by the second role
    rates: list[float] = field(default_factory=list)  # of the first role, newest last
    panels: list[list[float]] = field(default_factory=list)  # against scripts, newest last

    def move_to(self, level: int) -> None:
        self.level, self.turns, self.evaluations, self.passed, self.lost = level, 0, 0, 0, 0
        self.rates, self.panels, self.awaits = [], [], None


class LevelDecision(NamedTuple):
    """Up, down or stay, with the tests behind it."""

    event: Literal["advance", "hold", "regress"]
    because: str
    evidence: tuple[Evidence, ...]


def questions(settings: LevelsConfig) -> list[Question]:
    """What an evaluation at a level must answer; rates are of the first role."""
    asked = [Question(LOST, "above", 1.0 - REGRESS_FLOOR)]
    if settings.advance == "capture":
        asked.append(Question("first role wins", "above", settings.capture_threshold))
        if settings.min_escape > 0.0:
            asked.append(Question("second role wins", "below", 1.0 - settings.min_escape))
    elif settings.advance == "balance":
        asked.append(Question("balanced", "balance", settings.balance_gap / 2.0))
    return asked


def decide_level(
    settings: LevelsConfig, standing: Standing, answers: dict[str, Evidence], panel: list[float], top: int
) -> LevelDecision:
    """Take one evaluation into the standing, and decide; answers to questions of others count for nothing here. The
    caller moves the level and tells the standing."""
    standing.evaluations += 1
    some = next(iter(answers.values()))
    standing.rates = [*standing.rates, some.rate][-4:]
    standing.panels = [*standing.panels, panel][-4:]
    standing.lost = standing.lost + 1 if answers[LOST].verdict == "yes" else 0
    evidence = tuple(answers.values())
    if standing.lost >= REGRESS_PATIENCE and standing.level > 0:
        return LevelDecision("regress", f"the second role lost {standing.lost} evaluations in a row", evidence)
    if standing.awaits is not None:
        return LevelDecision("hold", "one role has had no turn of play at this level yet", evidence)
    passed, because = _passed(settings, standing, answers)
    standing.passed = standing.passed + 1 if passed else 0
    wanted = 1 if settings.advance == "capture" else settings.consecutive
    if standing.level >= top:
        return LevelDecision("hold", "the top level", evidence)
    if standing.passed >= wanted:
        return LevelDecision("advance", because, evidence)
    held = f"{because}; {standing.passed} of {wanted} in a row, {standing.evaluations} evaluations at this level"
    return LevelDecision("hold", held, evidence)


def _passed(settings: LevelsConfig, standing: Standing, answers: dict[str, Evidence]) -> tuple[bool, str]:
    if settings.advance == "plateau":
        return is_plateau(standing), f"rates {', '.join(f'{rate:.3f}' for rate in standing.rates)}"
    tests = [answers[question.name] for question in questions(settings) if question.name != LOST]
    words = "; ".join(
        f"{test.name}: {test.verdict} ({test.rate:.3f} [{test.low:.3f}, {test.high:.3f}])" for test in tests
    )
    return all(test.verdict == "yes" for test in tests), words


def is_plateau(standing: Standing) -> bool:
    """Three evaluations in which neither the pair's rate nor one against a script changed."""
    if len(standing.rates) < 3:
        return False
    columns = [standing.rates[-3:], *zip(*standing.panels[-3:], strict=True)]
    return all(max(column) - min(column) < PLATEAU for column in columns)
