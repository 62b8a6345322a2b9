"""Half precision and torch.compile: the same learning within rounding, checkpoints that load either way."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.engines import chosen_precision
from holdfast.learner.learner import Learner
from holdfast.learner.schedules import Pace
from holdfast.learner.update import update
from tests.learner.test_advantages import ROLE
from tests.learner.test_vtrace import acted_batch


@pytest.mark.parametrize(
    ("flags", "network", "engine", "expected"),
    [
        ("fma avx2 amx_bf16", "impala", "auto", "bf16"),
        ("fma avx2 amx_bf16", "impala", "fused", "off"),
        ("fma avx2 amx_bf16", "mlp", "auto", "off"),
        ("fma avx2", "impala", "auto", "off"),
    ],
)
def test_half_precision_is_chosen_by_hardware_network_and_engine(
    tmp_path: Path, flags: str, network: str, engine: str, expected: str
) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags\t: {flags}\n")
    policy = PolicyConfig(network=network)  # type: ignore[arg-type]
    assert chosen_precision(policy, engine, tmp_path / "cpuinfo") == expected


def moved(**options: object) -> Learner:
    config = LearnerConfig(engine="torch", minibatch=30, epochs=1, **options)  # type: ignore[arg-type]
    one = Learner(ROLE, PolicyConfig(hidden=(8,)), config, torch.Generator().manual_seed(2))
    update(one, acted_batch(one), Pace(1e-3, 0.01, 0.0), torch.Generator().manual_seed(0))
    return one


def test_half_precision_learns_the_same_within_its_rounding_and_keeps_weights_whole() -> None:
    whole, half = moved(), moved(amp="bf16")
    assert half.optimizer.parameters.dtype == torch.float32
    assert torch.allclose(whole.optimizer.parameters, half.optimizer.parameters, atol=4e-3)
    assert not torch.equal(whole.optimizer.parameters, half.optimizer.parameters)


def test_a_compiled_learner_is_the_plain_one_and_its_checkpoint_loads_either_way() -> None:
    plain, compiled = moved(), moved(compile=True)
    assert torch.allclose(plain.optimizer.parameters, compiled.optimizer.parameters, atol=1e-5)
    saved = {name: array.copy() for name, array in compiled.optimizer.arrays().items()}
    assert saved.keys() == plain.optimizer.arrays().keys()
    plain.optimizer.restore(saved)
    assert plain.policy.state_dict().keys() == compiled.policy.state_dict().keys()
    for name, weights in plain.policy.state_dict().items():
        assert torch.equal(weights, compiled.policy.state_dict()[name])
    compiled.optimizer.restore(plain.optimizer.arrays())
    assert torch.equal(plain.optimizer.parameters, compiled.optimizer.parameters)
