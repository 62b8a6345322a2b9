"""Matching pennies with levels and an exercise: what curricula and a cold start need of a world, without kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from holdfast.config.options import option
from holdfast.config.sections import Config
from holdfast.run import Run
from holdfast.runs.metrics import read_lines
from holdfast.selfplay.judging import Judgement, questions_of
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.sequential import ask
from holdfast.worlds.spec import LevelParameter
from tests.conftest import small_config
from tests.selfplay.running import judge_of, opened, pair_of
from tests.two_roles import Pennies, PennySettings

DUELS = 4096  # of an evaluation whose share of wins is given
LEVEL = (
    LevelParameter("spawn_min", 2.0, 0.0, 30.0, "least distance"),
    LevelParameter("spawn_max", 5.0, 0.0, 30.0, "largest distance"),
    LevelParameter("obstacles", 0.0, 0.0, 9.0, "number of obstacles"),
)


@dataclass(frozen=True)
class LevelledSettings(PennySettings):
    """Matching pennies in an arena."""

    arena_w: float = option(20.0, "width", low=1.0)
    arena_h: float = option(20.0, "height", low=1.0)
    task: Literal["duel", "navigate"] = option("duel", "what is played")
    play: Literal["both", "seeker", "hider"] = option("both", "who plays it")


class Levelled(Pennies):
    """Levels change nothing; in the exercise the other role's coins lie still."""

    Settings = LevelledSettings

    def __init__(self, settings: LevelledSettings, lanes: int, seed: int, threads: int = 1) -> None:
        super().__init__(settings, lanes, seed, threads)
        self.spec = self.spec._replace(name="levelled", level=LEVEL)
        self.clock = self.clock._replace(level=np.tile([parameter.default for parameter in LEVEL], (lanes, 1)))

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        still = {name: np.zeros(buffers.alive.shape, np.int64) for name, buffers in self.roles.items()}
        super().step({**still, **actions})


def levelled_config(folder: Path, **options: str) -> Config:
    """Turns of two rollouts of the seeker and one of the hider; an evaluation after each."""
    words = {
        "run.root": str(folder), "duel.mode": "turns", "duel.turn_steps": "256", "levels.kind": "smooth",
        "evaluation.every": "1", "evaluation.episodes": "24", "health.window": "40", "run.allow_slow": "true",
    }  # fmt: skip
    return small_config("tests.selfplay.levelled:Levelled", **{**words, **options})


def levelled_pair(folder: Path, **options: str) -> tuple[Run, Pair]:
    """Before the first step."""
    run = opened(levelled_config(folder, **options))
    return run, pair_of(run)


def rated(run: Run, rate: Callable[[int], float]) -> None:
    """Evaluations are played, but find this share of wins of the first role after so many iterations."""
    judge = judge_of(run)
    play = judge.evaluate

    def evaluate(run: Run) -> Judgement:
        wins = round(rate(run.state.counts.iteration) * DUELS)
        return replace(play(run), wins=wins, duels=DUELS, answers=ask(questions_of(run.config), [wins], [DUELS]))

    judge.evaluate = evaluate  # type: ignore[method-assign]


def events_of(run: Run, kind: str) -> list[dict[str, Any]]:
    return [event for event in read_lines(run.folder.folder / "events.jsonl") if event["event"] == kind]
