"""A new algorithm is a module with a lesson and one line of the table: shown with REINFORCE, which is not one of
ours."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import torch

import holdfast
from holdfast.config.checks import check_against_world
from holdfast.config.sections import LearnerConfig
from holdfast.kit.errors import ConfigError
from holdfast.learner.advantages import explained_variance, gae
from holdfast.learner.algorithms import ALGORITHMS, Algorithm
from holdfast.learner.batch import Batch
from holdfast.learner.engines import ENGINES, chosen_engine
from holdfast.learner.learner import Learner
from holdfast.learner.losses import Loss, normalized
from holdfast.learner.schedules import Pace
from holdfast.learner.update import lesson_of
from holdfast.state import initial_state
from holdfast.views.dry_run import spec_of
from tests.conftest import finished_run, small_config


class Reinforce:
    """Vanilla policy gradient (Williams 1992): one gradient per batch, by returns whose mean over the batch is 0."""

    def __init__(self, learner: Learner, batch: Batch) -> None:
        self.learner, self.chosen = learner, batch.learned.flatten()
        _, returns = gae(batch, learner.config.gamma, 1.0)
        self.explained_variance = explained_variance(batch.value[batch.learned], returns[batch.learned])
        self.returns = returns.flatten()[self.chosen]
        self.obs, self.actions = (field.flatten(0, 1)[self.chosen] for field in (batch.obs, batch.actions))

    def epoch(self, pace: Pace, generator: torch.Generator) -> Iterator[Loss]:
        policy = self.learner.policy
        output = self.learner.eager.forward(self.obs)
        log_prob, entropy = policy.head.evaluate(output.actions, policy.extra, self.actions)
        value = (self.learner.value_in_network(self.returns) - output.value).square().mean()
        loss = -(normalized(self.returns, self.returns) * log_prob).mean()
        self.learner.optimizer.zero()
        (loss + value).backward()
        none = torch.zeros(())
        yield Loss(loss + value, loss.detach(), value.detach(), entropy.mean().detach(), none, none)

    def close(self) -> dict[str, float]:
        return {}


@pytest.fixture
def reinforce(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(ALGORITHMS, "reinforce", Algorithm(f"{__name__}:Reinforce"))
    return "reinforce"


def test_an_algorithm_of_one_line_in_the_table_learns(tmp_path: Path, reinforce: str) -> None:
    options = {
        "learner.algorithm": reinforce,
        "learner.epochs": "1",
        "learner.lr": "1e-2",
        "rollout.lanes": "64",
        "rollout.steps": "16",
        "learner.minibatch": "1024",
        "run.iterations": "60",
        "evaluation.every": "0",
        "evaluation.final_episodes": "40",
    }
    run, result = finished_run(tmp_path, "template", **options)
    random, learned, optimal = (result.scores[name].mean for name in ("random", "learned", "optimal"))
    assert learned > random + 0.8 * (optimal - random)
    assert f'"{reinforce}"' in (run.folder / "run.json").read_text(encoding="utf-8")


def test_only_engines_that_know_its_loss_take_an_algorithm(reinforce: str) -> None:
    config = small_config(**{"learner.algorithm": reinforce})
    role = spec_of(config).roles[0]
    assert chosen_engine(role, config.policy, config.learner) == "torch"
    assert initial_state(config).learners[role.name].engine.follows
    fused = small_config(**{"learner.algorithm": reinforce, "learner.engine": "fused"})
    with pytest.raises(ConfigError, match=r"learner\.engine = fused cannot do learner\.algorithm = reinforce"):
        check_against_world(fused, frozenset(), spec_of(fused))


def test_an_algorithm_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"learner\.algorithm.*one of ppo, vtrace"):
        small_config(**{"learner.algorithm": "reinforce"})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_line_of_the_table_is_true(name: str) -> None:
    algorithm = ALGORITHMS[name]
    lesson = lesson_of(name)
    assert callable(lesson) and hasattr(lesson, "epoch") and hasattr(lesson, "close")
    assert set(algorithm.engines) <= set(ENGINES)
    guarded = {item.name for item in fields(LearnerConfig) if _acts_with(item.metadata["only"], name)}
    assert guarded == set(algorithm.options)


def _acts_with(only: tuple[str, tuple[str, ...]] | None, algorithm: str) -> bool:
    return only is not None and only[0] == "learner.algorithm" and algorithm in only[1]


def test_nothing_asks_for_the_class_of_an_engine_or_the_name_of_an_algorithm() -> None:
    found = []
    for path in Path(holdfast.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.unparse(node) if isinstance(node, ast.Compare | ast.Call) else ""
            if isinstance(node, ast.Compare) and "algorithm ==" in text.replace("!=", "=="):
                found.append(f"{path}: {text}")
            if text.startswith("isinstance(") and any(f" {name}" in text for name in ("Fused", "Wide", "Eager")):
                found.append(f"{path}: {text}")
    assert found == []
