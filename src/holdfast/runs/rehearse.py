"""Rehearsal: the whole run in miniature, in which every enabled feature must fire once and show an effect.

A feature that would crash or do nothing hours into a run does so here, within seconds. The miniature is run once from
beginning to end and once interrupted and resumed; both must end in the same bytes.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.config.sections import Config
from holdfast.runs.checkpoint import Saved, load
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.metrics import read_lines

LANES, STEPS, EPISODES, ITERATIONS = 8, 16, 6, 4
RESTART = 0.4  # of five iterations: enough for the learning rate to rise again


class Feature(NamedTuple):
    """One thing a run is set to do, and what was seen of it."""

    name: str
    fired: bool
    evidence: str


class Rehearsal(NamedTuple):
    """Everything that was tried."""

    features: tuple[Feature, ...]
    seconds: float

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features if not feature.fired)

    def to_json(self) -> dict[str, Any]:
        return {
            "passed": not self.missing,
            "missing": list(self.missing),
            "features": [feature._asdict() for feature in self.features],
            "seconds": round(self.seconds, 2),
        }


class Company(NamedTuple):
    """What a kind of run brings to its rehearsal."""

    shrink: Callable[[Config, Config], Config]  # the whole run's configuration and the general miniature of it
    prepare: Callable[[Any], None]  # injects into the parts of a run what makes features fire
    features: Callable[[Config, RunFolder], list[Feature]]


Play = Callable[[Config, RunFolder, Callable[[Any], None]], object]  # a run with its parts prepared


def miniature(config: Config, folder: Path) -> Config:
    """The same run, small: few lanes, short rollouts, an evaluation and a checkpoint at every iteration."""
    anew = config.learner.lr_restart > 0.0
    iterations = min(config.run.iterations, ITERATIONS + anew)
    lanes, steps = min(config.rollout.lanes, LANES), min(config.rollout.steps, STEPS)
    evaluation = replace(
        config.evaluation,
        every=1 if config.evaluation.every else 0,
        episodes=min(config.evaluation.episodes, EPISODES),
        final_episodes=min(config.evaluation.final_episodes, EPISODES),
        seeds="fixed",
    )
    return replace(
        config,
        rollout=replace(config.rollout, lanes=lanes, steps=steps),
        learner=replace(
            config.learner,
            minibatch=lanes * steps,  # divides any batch, and whole sequences of it
            lr_restart=RESTART if anew else 0.0,
        ),
        evaluation=evaluation,
        checkpoint=replace(config.checkpoint, every=1, keep=10_000, milestone_every=0),
        run=replace(config.run, root=str(folder), name="", iterations=iterations, stop_score=None, tensorboard=False),
    )


def rehearse(config: Config, company: Company, start: Play, go_on: Play) -> Rehearsal:
    """Run the miniature twice, the second time from its middle, and look for every feature."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        mini = company.shrink(config, miniature(config, Path(folder)))
        run = create_run(mini, "rehearsal", ["rehearse"])
        start(mini, run, company.prepare)
        features = [
            *_common(mini, run),
            *company.features(mini, run),
            _resumed(mini, run, lambda again: go_on(mini, again, company.prepare)),
        ]
        run.unlock()
    return Rehearsal(tuple(features), time.perf_counter() - begun)


def _saved(run: RunFolder, iteration: int) -> Saved:
    return load(run.folder / "checkpoints" / f"{iteration:06d}")


def _common(mini: Config, run: RunFolder) -> list[Feature]:
    metrics = read_lines(run.folder / "metrics.jsonl")
    first, last = _saved(run, 1), _saved(run, len(metrics))
    weights = [name for name in last.arrays if name.endswith("/optimizer/parameters") and name in first.arrays]
    moved = max((float(np.abs(last.arrays[name] - first.arrays[name]).max()) for name in weights), default=0.0)
    episodes = int(metrics[-1]["episodes"])
    evaluations = [line["evaluation.score"] for line in metrics if "evaluation.score" in line]
    found = [
        Feature("episodes end", episodes > 0, f"{episodes} in {metrics[-1]['agent_steps']} agent-steps"),
        Feature("weights change", moved > 0, f"by up to {moved:.2g} between the first and the last update"),
        Feature("checkpoints", True, f"{len(metrics)} written, all whole"),
    ]
    if mini.learner.lr_schedule != "constant":
        rates = [value for line in metrics for name, value in line.items() if name.endswith(".lr")]
        found.append(
            Feature("learning-rate schedule", len(set(rates)) > 1, f"from {max(rates):.2g} to {min(rates):.2g}")
        )
    if mini.learner.lr_restart > 0.0:
        found.append(_restart(metrics[mini.learner.warmup :]))
    if mini.evaluation.every:
        span = f"scores from {min(evaluations):.3g} to {max(evaluations):.3g}" if evaluations else "none was played"
        found.append(Feature("evaluations", bool(evaluations), span))
    return found


def _restart(metrics: list[dict[str, Any]]) -> Feature:
    """Behind the warm-up, only a restart lets a rate rise."""
    rises = [
        (earlier[name], rate)
        for earlier, later in pairwise(metrics)
        for name, rate in later.items()
        if name.endswith(".lr") and rate > earlier.get(name, rate)
    ]
    seen = f"from {rises[0][0]:.2g} to {rises[0][1]:.2g}" if rises else "it never rose"
    return Feature("learning rate begins anew", bool(rises), seen)


def _resumed(mini: Config, run: RunFolder, go_on: Callable[[RunFolder], object]) -> Feature:
    """The same run, interrupted in the middle and resumed from its checkpoint."""
    last = len(read_lines(run.folder / "metrics.jsonl"))
    middle = last // 2
    again = RunFolder(run.folder.with_name("resumed"))
    shutil.copytree(run.folder, again.folder)
    for number in range(middle + 1, last + 1):
        shutil.rmtree(again.folder / "checkpoints" / f"{number:06d}", ignore_errors=True)
    go_on(again)
    whole, resumed = _saved(run, last), _saved(again, last)
    differ = [name for name, array in whole.arrays.items() if not np.array_equal(array, resumed.arrays[name])]
    differ += [] if whole.facts.get("curriculum") == resumed.facts.get("curriculum") else ["curriculum"]
    same_lines = (run.folder / "metrics.jsonl").read_bytes() == (again.folder / "metrics.jsonl").read_bytes()
    differ += [] if same_lines else ["metrics.jsonl"]
    text = f"from iteration {middle} to {last}: " + (f"differs in {', '.join(differ)}" if differ else "the same bytes")
    return Feature("resume", not differ, text)
