"""Networks: the recurrent core forgets at episode starts and nowhere else, images and vectors both pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.learner import Learner
from holdfast.learner.policy import Policy
from holdfast.state import initial_state
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Discrete, Observations
from tests.conftest import small_config

VECTOR = Role("player", 1, Observations((3,), np.dtype(np.float32), -1, 1), Discrete(2))
IMAGE = Role("player", 1, Observations((20, 24, 3), np.dtype(np.uint8), 0, 255), Discrete(2))


def policy(role: Role = VECTOR, **options: object) -> Policy:
    return Policy(role, PolicyConfig(**options), torch.Generator().manual_seed(0))


def recurrent(core: str = "gru") -> Policy:
    return policy(core=core, core_size=5, hidden=(8,))


@pytest.mark.parametrize("core", ["gru", "lstm"])
def test_a_sequence_is_its_steps_with_memory_emptied_at_starts(core: str) -> None:
    net, steps, rows = recurrent(core), 6, 4
    obs = torch.randn(steps, rows, 3)
    starts = torch.rand(steps, rows) < 0.4
    hidden = torch.randn(rows, net.core_size)
    assert net.core_size == (5 if core == "gru" else 10)
    whole = net.sequence(obs, hidden, starts)
    memory, values = hidden, []
    for t in range(steps):
        out = net(obs[t], memory, starts[t])
        memory = out.hidden
        values.append(out.value)
    assert torch.allclose(whole.value, torch.cat(values), atol=1e-6)
    assert torch.allclose(whole.hidden, memory, atol=1e-6)


@pytest.mark.parametrize("core", ["gru", "lstm"])
def test_what_was_seen_before_a_start_has_no_influence(core: str) -> None:
    net = recurrent(core)
    starts = torch.tensor([[False], [True], [False]])
    one, other = torch.randn(3, 1, 3), torch.randn(3, 1, 3)
    other[1:] = one[1:]
    first, second = (net.sequence(obs, torch.zeros(1, net.core_size), starts).value for obs in (one, other))
    assert first[0] != second[0]
    assert torch.equal(first[1:], second[1:])


def test_gradients_do_not_flow_across_a_start() -> None:
    net = recurrent()
    obs = torch.randn(3, 1, 3, requires_grad=True)
    starts = torch.tensor([[True], [False], [True]])
    net.sequence(obs, torch.zeros(1, 5), starts).value[2].backward()
    assert obs.grad is not None
    assert obs.grad[:2].abs().sum() == 0.0 and obs.grad[2].abs().sum() > 0.0


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize(("role", "network"), [(VECTOR, "auto"), (VECTOR, "mlp"), (IMAGE, "auto"), (IMAGE, "mlp")])
def test_shapes(role: Role, network: str, separate: bool) -> None:
    net = policy(role, separate=separate, network=network)
    assert (net.body.convolutions is not None) == (role is IMAGE and network == "auto")
    obs = torch.zeros(7, *role.observations.shape, dtype=torch.uint8 if role is IMAGE else torch.float32)
    out = net(obs, torch.zeros(7, 0), torch.zeros(7, dtype=torch.bool))
    assert out.actions.shape == (7, 2) and out.value.shape == (7,)


def test_the_same_seed_gives_the_same_weights_whatever_was_drawn_before() -> None:
    first = policy().state_dict()
    torch.rand(5)
    second = policy().state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_numbers_beyond_the_horizon_look_like_the_horizon() -> None:
    net = Policy(VECTOR, PolicyConfig(), torch.Generator().manual_seed(0), horizon=10.0)
    none = torch.zeros(1, 0)
    far, edge = (net(torch.full((1, 3), size), none, none).value for size in (1e6, 10.0))
    assert torch.equal(far, edge)


PIXELS = Role("player", 1, Observations((84, 84, 4), np.dtype(np.uint8), 0, 255), Discrete(7))
MACS = {"pixels-small": 3.0e6, "conv4": 8.1e6, "impala": 54e6}  # with the linear layer behind


def multiplications(net: Policy) -> float:
    """Of one picture through the policy's body, counted layer by layer as it runs."""
    total = 0.0

    def count(layer: torch.nn.Module, seen: tuple[torch.Tensor], out: torch.Tensor) -> None:
        nonlocal total
        places = out.shape[2] * out.shape[3] if out.dim() == 4 else 1
        total += layer.weight.numel() * places

    for layer in net.body.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
            layer.register_forward_hook(count)
    with torch.no_grad():
        net.body(torch.zeros(1, 84, 84, 4, dtype=torch.uint8))
    return total


@pytest.mark.parametrize(("network", "hidden"), [("pixels-small", 256), ("conv4", 512), ("impala", 256)])
@pytest.mark.parametrize("norm", ["none", "group", "layer"])
def test_picture_networks_begin_undecided_and_cost_what_they_should(network: str, hidden: int, norm: str) -> None:
    net = policy(PIXELS, network=network, hidden=(hidden,), norm=norm, separate=False, activation="relu")
    pictures = torch.randint(0, 256, (3, 84, 84, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        out = net(pictures, torch.zeros(3, 0), torch.zeros(3, dtype=torch.bool))
    entropy = torch.distributions.Categorical(logits=out.actions).entropy()
    assert float(entropy.min()) >= 0.98 * np.log(7)
    assert multiplications(net) == pytest.approx(MACS[network], rel=0.25)
    assert not any(isinstance(layer, torch.nn.modules.batchnorm._BatchNorm) for layer in net.modules())
    assert any(isinstance(layer, torch.nn.GroupNorm) for layer in net.modules()) == (norm == "group")
    assert any(isinstance(layer, torch.nn.LayerNorm) for layer in net.modules()) == (norm == "layer")


@pytest.mark.parametrize("engine", ["torch", "fused", "wide"])
def test_choices_do_not_depend_on_what_only_values_see(engine: str) -> None:
    role = Role("player", 1, Observations((5,), np.dtype(np.float32), -1, 1, judging=2), Discrete(3))
    config = LearnerConfig(engine=engine)  # type: ignore[arg-type]
    one = Learner(role, PolicyConfig(hidden=(8,)), config, torch.Generator().manual_seed(0))
    assert one.policy.body.inputs == 3 and one.policy.value_body is not None and one.policy.value_body.inputs == 5
    obs = torch.randn(70, 5, generator=torch.Generator().manual_seed(1))
    other = torch.cat([obs[:, :3], -obs[:, 3:]], 1)
    none = obs[:0]
    with torch.no_grad():
        here, there = one.ask(obs, none, none), one.ask(other, none, none)
    assert torch.equal(here.actions, there.actions)
    assert (here.value != there.value).all()


@pytest.mark.parametrize(
    ("options", "threads"),
    [
        ({"policy.core": "lstm", "policy.core_size": "16"}, 1),
        ({"policy.core": "gru", "rollout.lanes": "64", "learner.minibatch": "512"}, 1),
        ({"learner.engine": "torch"}, 1),
        ({"learner.engine": "torch", "policy.hidden": "1024,1024"}, 2),
        ({"policy.core": "gru", "policy.core_size": "1024"}, 2),
        ({"learner.engine": "fused"}, 2),
    ],
)
def test_layers_too_small_to_share_are_computed_on_one_thread(options: dict[str, str], threads: int) -> None:
    """A small recurrent network on two threads was 27 times slower on a busy machine."""
    before = torch.get_num_threads()
    try:
        initial_state(small_config(**{"rollout.threads": "2", **options}))
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
