"""Runs of self-play whose parts a test looks into or changes before they begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.config.sections import Config
from holdfast.run import Run, open_run
from holdfast.runs.folder import create_run
from holdfast.runs.watch import Result
from holdfast.selfplay.curriculum import SelfPlay
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.pair_judge import PairJudge
from holdfast.train import loop
from holdfast.views.terminal import Quiet


def opened(config: Config) -> Run:
    return open_run(config, create_run(config, "pennies", ["test"]), Quiet())


def begun(run: Run) -> Result:
    return run.start(loop)


def lived_through(config: Config) -> Run:
    run = opened(config)
    begun(run)
    return run


def play_of(run: Run) -> SelfPlay:
    assert isinstance(run.curriculum, SelfPlay)
    return run.curriculum


def judge_of(run: Run) -> PairJudge:
    assert isinstance(run.judge, PairJudge)
    return run.judge


def pair_of(run: Run) -> Pair:
    return play_of(run).pair


def listened(run: Run, note: Callable[..., None]) -> None:
    """`note` is told all that self-play tells the run."""
    play = play_of(run)
    tell = play.tell

    def both(kind: str, **facts: Any) -> None:
        note(kind, **facts)
        tell(kind, **facts)

    play.tell = both  # type: ignore[method-assign]


def weights_of(run: Run) -> list[bytes]:
    return [np.asarray(learner.optimizer.parameters).tobytes() for learner in pair_of(run).learners]
