"""Open a run that exists: its configuration under allowed overrides, and its policy for evaluations and videos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.config.reading import Overrides, from_json
from holdfast.config.sections import Config, changes_learning, flat, to_json
from holdfast.kit.errors import ConfigError, nearest
from holdfast.kit.soundness import restoring
from holdfast.learner.learner import Learner
from holdfast.runs.checkpoint import Saved
from holdfast.runs.choose import load_checkpoint
from holdfast.runs.folder import RunFolder
from holdfast.runs.supervised import supervised
from holdfast.state import fresh_learners, restore_learners
from holdfast.worlds.registry import make_world


def config_of(run: RunFolder) -> Config:
    return from_json(run.describe()["config"], str(run.folder / "run.json"))[0]


class Reopened(NamedTuple):
    """How a run goes on: its configuration, what to tell the user, and whether its lanes begin anew."""

    config: Config
    notes: list[str]
    fresh_lanes: bool


def config_to_resume(run: RunFolder, arguments: Overrides, allow_change: bool, relax: Sequence[str] = ()) -> Reopened:
    """The saved configuration with overrides. Refuses what would change what is learned, unless it is named in `relax`
    or all changes are allowed; what the weights are made of can never change."""
    config, changed = from_json(run.describe()["config"], str(run.folder / "run.json"), arguments)
    relaxed = relaxed_options(relax, config)
    learning = [key for key in changes_learning(config, changed) if key not in relaxed and not allow_change]
    problems = [f"{key} cannot change in a run that exists" for key in sorted(changed & {"run.name", "run.root"})]
    problems += [f"{key} makes other weights: start a new run" for key in sorted(changed) if key.startswith("policy.")]
    problems += [
        f"{key} would change what is learned; add --allow-change (or --relax {key}) to go on with it all the same"
        for key in learning
    ]
    idle = sorted(name for name, keys in _named(relax, config).items() if not keys & changed)
    problems += [f"--relax {name}: nothing of that name is changed: remove it" for name in idle]
    if problems:
        raise ConfigError(problems)
    bound = sorted(key for key in changed & relaxed if key == "rollout.lanes" or key.startswith("world."))
    notes = [f"changed at resume: {key}" for key in sorted(changed)]
    if bound:
        notes.append(f"not an exact resume: all lanes begin new episodes, because of {', '.join(bound)}")
    return Reopened(config, notes, bool(bound))


def relaxed_options(names: Sequence[str], config: Config) -> frozenset[str]:
    return frozenset(key for keys in _named(names, config).values() for key in keys)


def _named(names: Sequence[str], config: Config) -> dict[str, frozenset[str]]:
    """What each name stands for: an option (`rollout.lanes`, or `lanes` for short), or a section (`world`)."""
    known = flat(config)
    found = {
        name: frozenset(key for key in known if name in (key, key.split(".", 1)[1], key.split(".", 1)[0]))
        for name in names
    }
    unknown = [name for name, keys in found.items() if not keys]
    if unknown:
        raise ConfigError([f"--relax {name}: no option or section{nearest(name, list(known))}" for name in unknown])
    return found


def keep_changed_config(run: RunFolder, config: Config, notes: list[str]) -> None:
    """Write changed options to run.json, the earlier ones beside them."""
    description = run.describe()
    history = [*description.get("earlier_configs", []), description["config"]]
    run.write_description({**description, "config": to_json(config), "earlier_configs": history, "changes": notes})


def load_learners(run: RunFolder, config: Config, which: str) -> tuple[dict[str, Learner], Saved]:
    """The policies of a checkpoint."""
    saved = load_checkpoint(run, which)
    with supervised(config) as supervisor:
        world = make_world(config.world_name, config.world, 1, seed=0, supervisor=supervisor)
        learners = fresh_learners(config, world)
        world.close()
    with restoring(saved.name):
        restore_learners(learners, saved.arrays)
    return learners, saved
