"""Train, resume and evaluate from Python: what the verbs of the command line do, with the same checks and errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.api.runs import OpenedRun
from holdfast.api.targets import target_name
from holdfast.config.options import as_plain, as_text
from holdfast.config.reading import Overrides, load_config
from holdfast.config.sections import Config
from holdfast.curriculum.feasible import check_run, refuse_infeasible
from holdfast.kit.errors import ConfigError
from holdfast.rollout.evaluate import Summary
from holdfast.runs.first_weights import check_first_weights
from holdfast.runs.folder import RunFolder, create_run, find_run
from holdfast.runs.reopen import config_to_resume, keep_changed_config
from holdfast.runs.watch import Result, Watch
from holdfast.train import resume as resume_loop
from holdfast.train import train as train_loop
from holdfast.views.dry_run import checked_spec
from holdfast.views.judge import find_policy, judge
from holdfast.views.terminal import LiveView, make_watch
from holdfast.worlds.registry import game_of


def train(
    target: Any, options: Overrides | None = None, *, quiet: bool = False, watch: Watch | None = None
) -> OpenedRun:
    """Train a new run to its end, and return it.

    `target` is the name of a preset, a .toml file, `"gym:CartPole-v1"`, `"module:Class"`, or the class itself: a
    `World`, or a Gymnasium environment. A class must be importable, because the run folder keeps its name.
    `options` are those of the command line by their dotted names, with Python values (a script may also hand on its own
    words, `sys.argv[1:]`):

    >>> import holdfast as hf
    >>> run = hf.train("template", {"run.iterations": 2}, quiet=True)
    >>> run.name, run.result.outcome
    ('template-1', 'finished')
    >>> sorted(run.result.scores)
    ['learned', 'optimal', 'random']

    What is wrong with the options is told at once, before anything is written:

    >>> hf.train("template", {"learner.lrr": 1e-3})
    Traceback (most recent call last):
    holdfast.kit.errors.ConfigError: 1 problem in the configuration:
      - options: no option learner.lrr (did you mean learner.lr?)

    Progress is printed unless `quiet`; `watch` takes its place. Ctrl-C saves and returns: `run.result.outcome` is then
    `"interrupted"`, and `hf.resume(run)` goes on. In a thread of a program nothing listens to Ctrl-C.
    """
    name = target_name(target)
    config, explicit = load_config(name, options)
    _refuse_campaign(config, name)
    check_first_weights(config, checked_spec(config, explicit))
    seen_by = _watch(quiet, watch)
    run = new_run(config, name, _command(name, options or {}))
    return _finished(run, seen_by, lambda shown: train_loop(config, run, shown))


def new_run(config: Config, target: str, command: list[str]) -> RunFolder:
    """The folder of a run that may begin: Infeasible, and no folder, if its gate can never open."""
    report = check_run(config)
    refuse_infeasible(config, report)
    run = create_run(config, target, command)
    if report is not None:
        run.write_json("feasibility.json", {**report.to_json(), "accepted": not report.feasible})
    return run


def resume(
    run: str | Path | OpenedRun,
    options: Overrides | None = None,
    *,
    root: str = "runs",
    relax: Sequence[str] = (),
    quiet: bool = False,
    watch: Watch | None = None,
) -> OpenedRun:
    """Go on with a run from its last checkpoint; its end is the same as if it had never stopped.

    `options` may change what leaves the learning as it is (how often is evaluated, what is kept); what does not must be
    named in `relax`, as in `hf.resume("fish-1", {"learner.lr": 1e-4}, relax=["learner.lr"])`.

    >>> import holdfast as hf
    >>> run = hf.train("template", {"run.iterations": 2, "run.name": "short"}, quiet=True)
    >>> longer = hf.resume("short", {"run.iterations": 3}, relax=["run.iterations"], quiet=True)
    >>> longer.result.counts.iteration
    3
    """
    folder = find_run(_name_of(run), root)
    seen_by = _watch(quiet, watch)
    folder.lock()
    try:
        config, notes, fresh_lanes = config_to_resume(folder, options or {}, allow_change=False, relax=relax)
        if notes:
            keep_changed_config(folder, config, notes)
    except BaseException:
        folder.unlock()
        raise
    return _finished(folder, seen_by, lambda shown: resume_loop(config, folder, shown, notes, fresh_lanes))


def evaluate(
    run: str | Path | OpenedRun,
    *,
    episodes: int = 80,
    checkpoint: str = "latest",
    sampled: bool = False,
    root: str = "runs",
) -> dict[str, Summary]:
    """Scores of a run's policy, or of a kept policy, beside those of policies that need no learning.

    All play the same episodes, on seeds that no run trains or decides on. `checkpoint` is `"latest"`, `"best"` or an
    iteration's number; `sampled` draws actions as in training instead of taking the likeliest.

    >>> import holdfast as hf
    >>> run = hf.train("template", {"run.iterations": 2}, quiet=True)
    >>> scores = hf.evaluate(run, episodes=40)
    >>> scores["random"].mean < scores["optimal"].mean, scores["learned"].episodes
    (True, 40)
    """
    if episodes < 1:
        raise ConfigError([f"episodes = {episodes}: must be at least 1"])
    return judge(find_policy(_name_of(run), root), checkpoint, episodes, sampled)[0]


def _name_of(run: str | Path | OpenedRun) -> str:
    return str(run.folder if isinstance(run, OpenedRun) else run)


def _watch(quiet: bool, watch: Watch | None) -> Watch:
    if watch is not None and quiet:
        raise ConfigError(["quiet = True has no effect beside a watch of your own: give one of the two"])
    return make_watch(quiet, sys.stdout) if watch is None else watch


def _finished(run: RunFolder, watch: Watch, go: Callable[[Watch], Result]) -> OpenedRun:
    try:
        return OpenedRun(run, go(watch))
    finally:
        if isinstance(watch, LiveView):
            watch.close()
        run.unlock()


def _refuse_campaign(config: Config, name: str) -> None:
    game = game_of(config)
    if game.campaign is not None and game.campaign(config) is not None:
        raise ConfigError([f"{name} is a series of runs, not one: holdfast train {name}"])


def _command(name: str, options: Overrides) -> list[str]:
    """The words of a command line that make the same run."""
    if isinstance(options, Mapping):
        options = [f"--{key}={as_text(as_plain(value))}" for key, value in options.items()]
    return ["holdfast", "train", name, *options]
