"""Observations encoded by their parts: a closed ring, a history in its order, and beliefs that come to be true."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributions

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.kit.errors import ConfigError
from holdfast.learner.batch import make_batch
from holdfast.learner.learner import Learner
from holdfast.learner.parts_encoder import (
    COMPONENTS,
    RINGS,
    SECTORS,
    PartsEncoder,
    RingEncoder,
    mixture_of,
    mixture_outputs,
)
from holdfast.learner.schedules import Pace
from holdfast.learner.update import update
from holdfast.runs.folder import create_run
from holdfast.train import resume, train
from holdfast.views.dry_run import spec_of
from holdfast.views.terminal import Quiet
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Observations
from tests.conftest import small_config
from tests.test_resume import StopAfter, end_of

STATE, RAYS, STEPS, NUMBERS = 5, 8, 3, 4
ENCODERS = ("mlp", "lstm", "belief")
SIGHT = ["--policy.network=parts", "--policy.encoder=belief", "--world.belief=true"]


def sight(judging: int = 0, believed: int = 2) -> Observations:
    parts = [("state", (STATE,)), ("lidar", (RAYS,)), ("history", (STEPS, NUMBERS))]
    parts += [("critic", (judging,))] if judging else []
    parts += [("belief", (believed,))] if believed else []
    size = sum(int(np.prod(shape)) for _, shape in parts)
    return Observations((size,), np.dtype(np.float32), -9, 9, tuple(parts), judging, believed)


def learner(encoder: str, judging: int = 0, **options: float) -> Learner:
    seen = sight(judging, 2 if encoder == "belief" else 0)
    role = Role("player", 1, seen, Continuous((-1.0, -1.0), (1.0, 1.0)))
    policy = PolicyConfig(network="parts", encoder=encoder, hidden=(16, 16))  # type: ignore[arg-type]
    config = dataclasses.replace(LearnerConfig(), minibatch=64, **options)
    return Learner(role, policy, config, torch.Generator().manual_seed(1))


def asked(one: Learner, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        output = one.policy(obs, obs[:0], obs[:0])
    return output.actions, output.value


def test_the_network_for_sensors_has_the_weights_it_had() -> None:
    """The earlier project counted 498,430 with its belief encoder, 140,037 for flat sights."""
    flat = ["--world.obs=flat", "--world.circles.observed=0", "--policy.network=mlp"]
    for words, wanted in (([], 498_430), (flat, 140_037)):
        config, _ = load_config("pursuit-v", words)
        made = Learner(spec_of(config).roles[0], config.policy, config.learner, torch.Generator())
        count = sum(weight.numel() for weight in made.policy.parameters())
        assert count == wanted


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_part_and_every_moment_is_looked_at(encoder: str) -> None:
    one = learner(encoder)
    obs = torch.randn(4, one.role.observations.size, generator=torch.Generator().manual_seed(2), requires_grad=True)
    output = one.policy(obs, obs[:0], obs[:0])
    (slope,) = torch.autograd.grad(output.actions.sum() + output.value.sum(), obs)
    shown = one.role.observations.acting
    assert (slope[:, :shown].abs().sum(0) > 0).all()
    assert (slope[:, shown:] == 0).all()


def test_what_nobody_is_shown_changes_neither_choice_nor_value() -> None:
    one = learner("belief", judging=3)
    obs = torch.randn(6, one.role.observations.size, generator=torch.Generator().manual_seed(2))
    changed, judged = obs.clone(), obs.clone()
    changed[:, -2:] += 1.0
    judged[:, -5:-2] += 1.0
    assert all(torch.equal(a, b) for a, b in zip(asked(one, obs), asked(one, changed), strict=True))
    before, after = asked(one, obs), asked(one, judged)
    assert torch.equal(before[0], after[0]) and not torch.equal(before[1], after[1])


def test_a_ring_is_closed() -> None:
    """Turned by a sector, it looks the same one sector further."""
    look, ring = RingEncoder(), torch.rand(3, 36, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        here, there = (look(x).view(3, RINGS[-1], SECTORS) for x in (ring, ring.roll(36 // SECTORS, 1)))
    torch.testing.assert_close(here.roll(1, 2), there)
    assert not torch.allclose(here, there)


@pytest.mark.parametrize("rays", [1, 2, 3, 5, 37])
def test_a_ring_may_have_any_number_of_rays(rays: int) -> None:
    assert RingEncoder()(torch.rand(2, rays)).shape == (2, RingEncoder.size)


def test_a_history_is_read_in_its_order() -> None:
    seen = sight()
    for encoder in ENCODERS:
        looker = PartsEncoder(seen, encoder, torch.Generator().manual_seed(1))
        obs = torch.randn(2, seen.acting, generator=torch.Generator().manual_seed(3))
        turned = obs.clone()
        start = STATE + RAYS
        turned[:, start:] = obs[:, start:].view(2, STEPS, NUMBERS).flip(1).flatten(1)
        with torch.no_grad():
            assert not torch.allclose(looker(obs).features, looker(turned).features)


def test_a_belief_is_a_mixture_of_normal_distributions() -> None:
    generator = torch.Generator().manual_seed(4)
    said, truth = torch.randn(50, mixture_outputs(2), generator=generator), torch.randn(50, 2, generator=generator)
    mixture = mixture_of(said)
    normal = distributions.Independent(distributions.Normal(mixture.mean, mixture.log_sigma.exp()), 1)
    whole = distributions.MixtureSameFamily(distributions.Categorical(logits=said[:, :COMPONENTS]), normal)
    torch.testing.assert_close(mixture.error(truth), -whole.log_prob(truth))
    torch.testing.assert_close(mixture.centre(), whole.mean)


def lesson(one: Learner, rows: int, seed: int):  # type: ignore[no-untyped-def]
    """A batch whose hidden truth is told by the oldest and the newest vector together."""
    batch, generator = make_batch(one.role, rows, 4, 0), torch.Generator().manual_seed(seed)
    batch.obs.normal_(generator=generator)
    past = batch.obs[:, :, STATE + RAYS : STATE + RAYS + STEPS * NUMBERS].unflatten(2, (STEPS, NUMBERS))
    batch.obs[:, :, -2], batch.obs[:, :, -1] = past[:, :, 0, 0], past[:, :, -1, 1]
    batch.valid[:] = True
    with torch.no_grad():
        flat = batch.obs.flatten(0, 1)
        output = one.policy(flat, flat[:0], flat[:0])
        actions, log_prob = one.policy.head.sample(output.actions, one.policy.extra, generator)
    batch.actions[:], batch.log_prob[:] = actions.view_as(batch.actions), log_prob.view_as(batch.log_prob)
    return batch


def test_beliefs_come_to_be_true() -> None:
    one = learner("belief", belief_coef=1.0, normalize_returns=False, normalize_advantages=False)
    found = []
    for seed in range(30):
        own = update(one, lesson(one, 64, seed), Pace(2e-3, 0.0, 0.0), torch.Generator().manual_seed(seed)).own
        found.append((own["belief_loss"], own["belief_distance"]))
    assert found[-1][0] < found[0][0] - 0.8
    assert found[-1][1] < 0.6 * found[0][1]


def test_without_its_weight_in_the_loss_a_belief_learns_nothing() -> None:
    one = learner("belief", belief_coef=0.0, normalize_returns=False, normalize_advantages=False)
    assert one.policy.parts is not None
    mixture = one.policy.parts.encoders["history"].mixture.weight
    before = mixture.detach().clone()
    update(one, lesson(one, 64, 1), Pace(2e-3, 0.0, 0.0), torch.Generator().manual_seed(1))
    assert torch.equal(before, mixture)


def duel_words(folder: Path) -> dict[str, str]:
    words = dict(word[2:].split("=") for word in SIGHT)
    words |= {"policy.hidden": "8", "world.max_steps": "40", "world.history": "3", "run.iterations": "6"}
    return words | {"run.root": str(folder), "duel.mode": "turns", "duel.turn_steps": "128", "run.allow_slow": "true"}


def test_self_play_by_parts_is_resumed_exactly(tmp_path: Path) -> None:
    ends = []
    for stop in (None, 3):
        config = small_config("pursuit", **duel_words(tmp_path))
        run = create_run(config, "pursuit", ["test"])
        if stop is not None:
            assert train(config, run, StopAfter(stop)).outcome == "interrupted"
            run.unlock()
        done = train(config, run, Quiet()) if stop is None else resume(config, run, Quiet())
        assert done.outcome == "finished"
        ends.append(end_of(run))
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--policy.network=parts", "--world.obs=flat"], "needs a lidar or a history"),
        (["--policy.network=parts", "--policy.encoder=belief"], "need each other"),
        (["--policy.network=parts", "--world.belief=true"], "need each other"),
        (["--world.belief=true"], "has no effect without policy.network = parts"),
        (["--policy.network=parts", "--policy.encoder=lstm", "--world.history=0"], "sums up a history"),
        (["--policy.network=parts", "--learner.engine=fused"], "cannot do .*policy.network = parts"),
        (["--policy.encoder=lstm"], "only with parts"),
        (["--policy.network=parts", "--learner.belief_coef=0.2"], "only with belief"),
        ([*SIGHT, "--learner=vtrace", "--learner.minibatch=64", "--run.allow_slow=true"], "learns with ppo"),
    ],
)
def test_networks_that_could_not_look_are_refused(words: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        config, explicit = load_config("pursuit", words)
        check_against_world(config, explicit, spec_of(config))
