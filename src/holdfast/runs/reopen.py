"""Open a run that exists: its configuration under allowed overrides, and its policy for evaluations and videos."""

from __future__ import annotations

from holdfast.config import CheckpointConfig, Config, changes_learning, to_json
from holdfast.config_reading import from_json
from holdfast.errors import CheckpointError, ConfigError, UnknownName, nearest
from holdfast.learner.ppo import Learner
from holdfast.runs.checkpoint import Checkpoints, Saved
from holdfast.runs.folder import Run
from holdfast.runs.supervised import supervised
from holdfast.state import fresh_learners, restore_learners
from holdfast.worlds.registry import make_world


def config_of(run: Run) -> Config:
    return from_json(run.describe()["config"], str(run.folder / "run.json"))[0]


def config_to_resume(run: Run, arguments: list[str], allow_change: bool) -> tuple[Config, list[str]]:
    """The saved configuration with overrides, and what to tell the user. Refuses what would change what is learned."""
    config, changed = from_json(run.describe()["config"], str(run.folder / "run.json"), arguments)
    fixed = sorted(changed & {"run.name", "run.root"})
    if fixed:
        raise ConfigError([f"{key} cannot change in a run that exists" for key in fixed])
    learning = changes_learning(config, changed)
    if learning and not allow_change:
        raise ConfigError(
            [
                f"{key} would change what is learned; add --allow-change to go on with it all the same"
                for key in learning
            ]
        )
    return config, [f"changed at resume: {key}" for key in sorted(changed)]


def keep_changed_config(run: Run, config: Config, notes: list[str]) -> None:
    """Write changed options to run.json, the earlier ones beside them."""
    description = run.describe()
    history = [*description.get("earlier_configs", []), description["config"]]
    run.write_description({**description, "config": to_json(config), "earlier_configs": history, "changes": notes})


def load_checkpoint(run: Run, which: str) -> Saved:
    """`latest`, `best`, or an iteration's number."""
    checkpoints = Checkpoints(run.folder / "checkpoints", CheckpointConfig())
    if which == "latest":
        return checkpoints.load_latest()[0]
    name = checkpoints.pointed("best") if which == "best" else which.zfill(6)
    if name is None:
        raise CheckpointError(f"run {run.name} has no best checkpoint yet: it was never evaluated")
    if name not in checkpoints.names():
        known = checkpoints.names()
        raise UnknownName(
            f"run {run.name} has no checkpoint {which!r}{nearest(name, known)}; there are {', '.join(known)}"
        )
    return checkpoints.load(name)


def load_learners(run: Run, config: Config, which: str) -> tuple[dict[str, Learner], Saved]:
    """The policies of a checkpoint."""
    saved = load_checkpoint(run, which)
    with supervised(config) as supervisor:
        world = make_world(config.world_name, config.world, 1, seed=0, supervisor=supervisor)
        learners = fresh_learners(config, world)
        world.close()
    restore_learners(learners, saved.arrays)
    return learners, saved
