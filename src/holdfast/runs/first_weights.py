"""A run that begins with what another one learned: with the weights of a kept policy, or of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.config.sections import CheckpointConfig, Config
from holdfast.kit.errors import CheckpointError
from holdfast.learner.learner import Learner, make_learners
from holdfast.runs.checkpoint import BEST, Checkpoints
from holdfast.runs.folder import RUN_FILE, RunFolder
from holdfast.runs.reopen import config_of, load_learners
from holdfast.runs.shelf import MOMENTS, take_down
from holdfast.state import torch_generator
from holdfast.worlds.api import WorldSpec


def begin_with(init: str, learners: Mapping[str, Learner]) -> None:
    """Give learners the weights, and the moments of observations and returns, of a kept policy (a file) or of a run
    (its folder: the best checkpoint, or while there is none the latest). The optimiser begins anew."""
    found = _learned(Path(init))
    for role, mine in learners.items():
        theirs = found.get(role)
        if theirs is None:
            raise CheckpointError(f"run.init = {init}: it has learned {', '.join(found)}, not {role}")
        if theirs.optimizer.parameters.shape != mine.optimizer.parameters.shape:
            raise CheckpointError(f"run.init = {init}: its weights of {role} do not fit this configuration")
        mine.optimizer.parameters.copy_(theirs.optimizer.parameters)
        for part in MOMENTS:
            ours, known = getattr(mine, part), getattr(theirs, part)
            if (ours is None) != (known is None):
                raise CheckpointError(f"run.init = {init}: only one of the two runs normalises its {part}")
            if ours is not None:
                ours.restore(known.arrays())


def check_first_weights(config: Config, spec: WorldSpec) -> None:
    """CheckpointError if the run could not begin with the weights it is told to."""
    if config.run.init:
        begin_with(config.run.init, make_learners(config, spec.roles, torch_generator(config.run.seed, 0)))


def _learned(path: Path) -> dict[str, Learner]:
    if not (path / RUN_FILE).is_file():
        return take_down(path).learners
    run = RunFolder(path)
    judged = Checkpoints(path / "checkpoints", CheckpointConfig()).pointed(BEST) is not None
    return load_learners(run, config_of(run), BEST if judged else "latest")[0]
