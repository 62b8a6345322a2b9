"""A run can begin with what another one learned; what does not fit is told before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from holdfast.config.reading import load_config
from holdfast.kit.errors import CheckpointError
from holdfast.learner.learner import Learner
from holdfast.runs.first_weights import begin_with
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.reopen import load_learners
from holdfast.runs.shelf import shelve
from holdfast.state import fresh_learners
from holdfast.train import train
from holdfast.views.terminal import Quiet
from holdfast.worlds.registry import make_world
from tests.conftest import SMALL, Command


def trained(root: Path, **options: str) -> RunFolder:
    words = {**SMALL, "run.root": str(root), **options}
    config = load_config("template", [f"--{name}={value}" for name, value in words.items()])[0]
    run = create_run(config, "template", "")
    train(config, run, Quiet())
    run.unlock()
    return run


def fresh(seed: int = 5, **options: str) -> dict[str, Learner]:
    words = {**SMALL, "run.seed": str(seed), **options}
    config = load_config("template", [f"--{name}={value}" for name, value in words.items()])[0]
    return fresh_learners(config, make_world("template", config.world, 1, seed=0))


def same(one: dict[str, Learner], other: dict[str, Learner]) -> bool:
    return all(torch.equal(one[role].optimizer.parameters, other[role].optimizer.parameters) for role in one)


def test_weights_and_moments_come_from_a_run_or_a_kept_policy(tmp_path: Path) -> None:
    run = trained(tmp_path, **{"run.name": "first"})
    config = load_config("template", [f"--{name}={value}" for name, value in SMALL.items()])[0]
    learned = load_learners(run, config, "best")[0]
    mine = fresh()
    assert not same(mine, learned)
    begin_with(str(run.folder), mine)
    assert same(mine, learned)
    for role, learner in mine.items():
        theirs = learned[role].observations
        assert learner.observations is not None and theirs is not None
        for name, array in theirs.arrays().items():
            assert (learner.observations.arrays()[name] == array).all()
    shelve(tmp_path / "kept.safetensors", config, learned, {})
    other = fresh()
    begin_with(str(tmp_path / "kept.safetensors"), other)
    assert not same(other, fresh())
    gaps = [(other[role].optimizer.parameters - learned[role].optimizer.parameters).abs().max() for role in other]
    assert max(gaps) < 1e-3, "kept policies are of half precision"


def test_a_run_goes_on_from_there(tmp_path: Path) -> None:
    """One iteration at a learning rate of nearly nothing leaves the weights where they began."""
    first = trained(tmp_path, **{"run.name": "first"})
    still = {"run.name": "still", "run.init": str(first.folder), "learner.lr": "1e-12", "run.iterations": "1"}
    second = trained(tmp_path, **still)
    config = load_config("template", [f"--{name}={value}" for name, value in SMALL.items()])[0]
    learned, after = load_learners(first, config, "best")[0], load_learners(second, config, "latest")[0]
    for role in learned:
        gap = (learned[role].optimizer.parameters - after[role].optimizer.parameters).abs()
        assert float((gap < 1e-6).float().mean()) > 0.9, "all but the head of values, which follows the returns' scale"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    run = trained(tmp_path, **{"run.name": "first"})
    with pytest.raises(CheckpointError, match="do not fit this configuration"):
        begin_with(str(run.folder), fresh(**{"policy.hidden": "24"}))
    with pytest.raises(CheckpointError, match="only one of the two runs normalises its observations"):
        begin_with(str(run.folder), fresh(**{"learner.normalize_observations": "false"}))
    with pytest.raises(CheckpointError, match="is no kept policy"):
        begin_with(str(tmp_path / "nothing"), fresh())


def test_a_wrong_file_is_told_before_a_run_is_made(holdfast: Command, tmp_path: Path) -> None:
    done = holdfast("train", "template", "--run.init", "nowhere.safetensors")
    assert done.returncode == 2 and "nowhere.safetensors is no kept policy" in done.stderr
    assert not (tmp_path / "runs").exists()
