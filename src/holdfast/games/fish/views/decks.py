"""`deck harvest` for a school: the moments before the worst losses of a policy."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.config.sections import Config
from holdfast.curriculum.deck_errors import DeckError
from holdfast.curriculum.deck_files import Source
from holdfast.kit.errors import ConfigError
from holdfast.runs.folder import RunFolder

EPISODES_PER_WORST = 5  # as in the harvest of a run: the worst 4 of 20


def harvest_deck(arguments: argparse.Namespace, run: RunFolder, config: Config) -> Path:
    """Play a run's policy on seeds of its own and write the worst moments to a deck."""
    from holdfast.games.fish.harvest import BY_HAND, HarvestRule, harvest, harvest_keys, write_harvest
    from holdfast.learner.learner import fingerprint
    from holdfast.rollout.act import PolicyActor
    from holdfast.runs.reopen import load_learners

    settings = _harvest_settings(config, arguments)
    which = arguments.checkpoint or ("best" if (run.folder / "checkpoints" / "best").exists() else "latest")
    learners, saved = load_learners(run, config, which)
    source = Source(run.name, int(saved.name), fingerprint(learners))
    rule = HarvestRule(arguments.episodes or EPISODES_PER_WORST * arguments.worst, arguments.worst)
    keys = harvest_keys(config.evaluation.seed, BY_HAND, rule.episodes)
    found = harvest(settings, lambda world: PolicyActor(learners), keys, rule, threads=config.rollout.threads)
    path = write_harvest(Path(arguments.output), settings, found, source, arguments.slow)
    if path is None:
        raise DeckError(
            f"nothing to keep: none of the {rule.worst} worst of {rule.episodes} episodes has a moment with "
            f"{rule.least_avoidable} avoidable deaths ahead; no deck was written"
        )
    print(f"deck: {path} ({len(found.moments)} situations), {path.with_suffix('.json')}")
    return path


def _harvest_settings(config: Config, arguments: argparse.Namespace) -> Any:
    problems = []
    for name in ("worst", "episodes"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            problems.append(f"--{name} {value}: must be at least 1")
    if arguments.episodes is not None and arguments.episodes < arguments.worst:
        problems.append(f"--episodes {arguments.episodes}: fewer than the {arguments.worst} worst to take from them")
    if not 0.0 < arguments.slow <= 10.0:
        problems.append(f"--slow {arguments.slow:g}: must be above 0 and at most 10")
    if Path(arguments.output).suffix == ".json":
        problems.append(f"-o {arguments.output}: .json is the ending of its light twin; use .deck or .npz")
    if arguments.fish is not None and arguments.fish < 1:
        problems.append(f"--fish {arguments.fish}: must be at least 1")
    if problems:
        raise ConfigError(problems)
    settings = config.evaluation_world
    return settings if arguments.fish is None else replace(settings, fish=arguments.fish)
