"""Loaded policies act on NumPy arrays as they did in their runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.rollout.act import PolicyActor
from holdfast.runs.folder import find_run
from holdfast.runs.reopen import load_learners
from holdfast.runs.shelf import shelve
from tests import small_envs, two_roles
from tests.api.tiny import TINY


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, hf.OpenedRun]:
    """Runs of several kinds of policy."""
    root = {"run.root": str(tmp_path_factory.mktemp("runs")), **TINY}
    gru = {"policy.core": "gru", "policy.core_size": 8}
    return {
        "plain": hf.train("template", root, quiet=True),
        "recurrent": hf.train("template", {**root, **gru}, quiet=True),
        "image": hf.train(small_envs.Lamp, root, quiet=True),
        "numbers": hf.train(small_envs.Dial, root, quiet=True),
        "roles": hf.train(two_roles.Pennies, root, quiet=True),
    }


def stepped(world: hf.World, steps: int) -> Iterator[None]:
    for _ in range(steps):
        yield
        world.step(hf.random_policy(world))


@pytest.mark.parametrize("kind", ["plain", "recurrent"])
def test_it_acts_as_evaluations_do(trained: dict[str, hf.OpenedRun], kind: str) -> None:
    run = trained[kind]
    world = hf.make_world("template", lanes=6, seed=3)
    actor = PolicyActor(load_learners(find_run(str(run.folder)), run.config, "latest")[0])
    policy = run.policy()
    for _ in stepped(world, 40):
        policy.reset(world.clock.t == 0)
        np.testing.assert_array_equal(policy.act(world.roles["player"].obs), actor(world)["player"])


@pytest.mark.parametrize("kind", ["plain", "recurrent"])
def test_one_observation_and_many_give_the_same_actions(trained: dict[str, hf.OpenedRun], kind: str) -> None:
    world = hf.make_world("template", lanes=5, seed=3)
    many, single = trained[kind].policy(), [trained[kind].policy() for _ in range(5)]
    for _ in stepped(world, 10):
        seen = world.roles["player"].obs[:, 0]
        alone = [one.act(row) for one, row in zip(single, seen, strict=True)]
        assert all(action.shape == () and action.dtype == np.int64 for action in alone)
        np.testing.assert_array_equal(many.act(seen), alone)


def test_a_recurrent_policy_remembers_until_it_is_reset(trained: dict[str, hf.OpenedRun]) -> None:
    """Its memory, not only its choice, is what is compared."""
    policy = trained["recurrent"].policy()["player"]
    seen = hf.make_world("template", lanes=3, seed=3).roles["player"].obs[:, 0].copy()
    policy.act(seen)
    first = policy._hidden.clone()
    policy.act(seen)
    later = policy._hidden.clone()
    assert not np.allclose(first, later)
    policy.reset([1])
    policy.act(seen)
    assert np.allclose(policy._hidden[1], first[1]) and not np.allclose(policy._hidden[0], first[0])
    with pytest.raises(hf.ObservationError, match=r"remembers a batch of \[3\], not of \[2\]: call reset"):
        policy.act(seen[:2])
    with pytest.raises(hf.ObservationError, match=r"no such rows in a batch of \[3\]"):
        policy.reset([7])
    policy.reset()
    policy.act(seen[:2])
    assert np.allclose(policy._hidden, first[:2])


def test_drawn_actions_come_from_the_seed(trained: dict[str, hf.OpenedRun]) -> None:
    seen = np.repeat(hf.make_world("template", seed=3).roles["player"].obs, 200, 0)
    folder = trained["plain"].folder
    draws = [hf.load_policy(folder, seed=seed).act(seen, deterministic=False).tobytes() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert len(np.unique(hf.load_policy(folder).act(seen, deterministic=False))) == 3
    assert len(np.unique(hf.load_policy(folder).act(seen))) == 1


def test_images_and_numbers(trained: dict[str, hf.OpenedRun]) -> None:
    lamp, dial = small_envs.Lamp(), small_envs.Dial()
    assert trained["image"].policy().act(lamp.reset(seed=1)[0]) in range(4)
    assert trained["image"].policy().act(np.zeros((2, 3, 12, 12, 1), np.uint8)).shape == (2, 3)
    action = trained["numbers"].policy().act(dial.reset(seed=1)[0].astype(np.float64))
    assert action.shape == (2,) and action.dtype == np.float32 and dial.action_space.contains(action)
    assert trained["numbers"].policy().act(np.zeros((0, 2))).shape == (0, 2)


def test_roles_have_policies_of_their_own(trained: dict[str, hf.OpenedRun]) -> None:
    policy = trained["roles"].policy()
    assert policy.roles == ("seeker", "hider") and list(policy) == ["seeker", "hider"] and len(policy) == 2
    assert policy["hider"].act(np.zeros((4, 2, 1))).shape == (4, 2)
    with pytest.raises(hf.ObservationError, match=r"plays seeker, hider: say which, as in policy\['seeker'\]"):
        policy.act(np.zeros(1))
    with pytest.raises(hf.UnknownName, match=r"no role 'hidr' \(did you mean hider\?\); it has seeker, hider"):
        policy["hidr"]


WRONG: list[tuple[str, Any, str]] = [
    ("plain", np.zeros(15), r"shape \[16\], or a batch of them \[..., 16\]; this one has \[15\]"),
    ("plain", 3.0, r"this one has \[\]"),
    ("plain", np.full(16, np.nan), "NaN or infinity"),
    ("plain", ["a"] * 16, "holds float32; this one holds <U1"),
    ("plain", np.zeros(16, np.complex64), "holds float32; this one holds complex64"),
    ("image", np.zeros((12, 12, 1), np.float32), "holds uint8; this one holds float32"),
    ("image", np.zeros((1, 12, 12), np.uint8), r"shape \[12, 12, 1\].*this one has \[1, 12, 12\]"),
]


@pytest.mark.parametrize(("kind", "observation", "text"), WRONG, ids=[text for _, _, text in WRONG])
def test_what_a_role_cannot_have_observed_is_refused(
    trained: dict[str, hf.OpenedRun], kind: str, observation: Any, text: str
) -> None:
    with pytest.raises(hf.ObservationError, match=text):
        trained[kind].policy().act(observation)


def test_it_is_loaded_from_a_checkpoint_and_from_a_file(trained: dict[str, hf.OpenedRun], tmp_path: Path) -> None:
    run = trained["plain"]
    seen = hf.make_world("template", lanes=50, seed=3).roles["player"].obs
    first, last = (hf.load_policy(run.folder / "checkpoints" / name) for name in ("000001", "000002"))
    weights = [one["player"]._learner.optimizer.parameters.numpy() for one in (first, last, run.policy())]
    assert np.array_equal(weights[1], weights[2]) and not np.array_equal(weights[0], weights[1])
    assert np.array_equal(hf.load_policy(run.folder, checkpoint="1").act(seen), first.act(seen))
    learners = load_learners(find_run(str(run.folder)), run.config, "latest")[0]
    shelve(tmp_path / "kept.safetensors", run.config, learners, {})
    assert (hf.load_policy(tmp_path / "kept.safetensors").act(seen) == last.act(seen)).mean() > 0.9  # half precision
    with pytest.raises(hf.ConfigError, match="holds one policy and no checkpoints"):
        hf.load_policy(tmp_path / "kept.safetensors", checkpoint="best")
    with pytest.raises(hf.ConfigError, match="which is a checkpoint: give one of the two"):
        hf.load_policy(run.folder / "checkpoints" / "000001", checkpoint="best")
    with pytest.raises(hf.UnknownName, match="no run 'nowhere'"):
        hf.load_policy("nowhere")
    with pytest.raises(hf.UnknownName, match="no checkpoint '7'"):
        hf.load_policy(run.folder, checkpoint="7")
