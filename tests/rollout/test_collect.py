"""What a batch says must be what the world did: flags, masks, last sights, memory, and no NaN passes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from holdfast.kit.errors import NonFinite
from holdfast.kit.timing import Clock
from holdfast.learner.batch import as_rows
from holdfast.rollout.collect import collect
from holdfast.state import State, initial_state
from holdfast.worlds.api import Episodes
from tests.conftest import small_config

PENNIES = "tests.two_roles:Pennies"


def rolled(state: State) -> Episodes | None:
    return collect(state.world, state.learners, state.seat.batches, state.seat.memory, state.seat.actions, Clock())


class Recorder:
    """Copies a world's buffers after every step, as an independent witness."""

    def __init__(self, state: State) -> None:
        self.seen: list[dict] = []
        self.state = state
        self._step = state.world.step
        state.world.step = self  # type: ignore[method-assign]

    def __call__(self, actions: dict) -> None:
        alive = {name: buffers.alive.copy() for name, buffers in self.state.world.roles.items()}
        self._step(actions)
        world = self.state.world
        self.seen.append(
            {
                "before": alive,
                "roles": {name: [array.copy() for array in buffers] for name, buffers in world.roles.items()},
                "terminated": world.terminated.copy(),
                "truncated": world.truncated.copy(),
            }
        )


def test_a_cut_step_counts_the_value_of_the_last_sight_and_an_end_counts_nothing() -> None:
    config = small_config(**{"world.steps": "5", "rollout.steps": "16", "learner.minibatch": "256"})
    state = initial_state(config)
    witness = Recorder(state)
    episodes = rolled(state)
    batch, learner = state.seat.batches["player"], state.learners["player"]
    cuts = ends = 0
    for t, moment in enumerate(witness.seen):
        assert np.array_equal(batch.terminated[t], moment["terminated"])
        assert np.array_equal(batch.truncated[t], moment["truncated"])
        rows = np.flatnonzero(moment["truncated"])
        cuts, ends = cuts + len(rows), ends + int(moment["terminated"].sum())
        if len(rows):
            final_obs = moment["roles"]["player"][4][rows]
            expected = learner.value_in_reward(
                learner.policy(unscaled(final_obs), torch.zeros(len(rows), 0), torch.zeros(0)).value
            )
            assert torch.allclose(batch.bootstrap[t, rows], expected, atol=1e-5)
    assert cuts > 5 and ends > 5
    assert episodes is not None and len(episodes) == cuts + ends


def unscaled(final_obs: np.ndarray) -> torch.Tensor:
    """The first batch is normalised by a scale that has taken in nothing: the identity."""
    return torch.from_numpy(final_obs.reshape(len(final_obs), -1))


def test_dead_agents_are_not_learned_from() -> None:
    state = initial_state(small_config(PENNIES, **{"rollout.steps": "12", "learner.minibatch": "96"}))
    witness = Recorder(state)
    rolled(state)
    batch = state.seat.batches["hider"]
    valid = np.stack([moment["before"]["hider"].reshape(-1) for moment in witness.seen])
    assert np.array_equal(batch.valid, valid) and not valid.all()
    # the second hider leaves in round 3: that step is its end, though the lane goes on
    second = batch.terminated[:, 1].nonzero()[:, 0].tolist()
    assert second == [2, 8]
    assert batch.terminated[:, 0].nonzero()[:, 0].tolist() == [5, 11]


def test_every_role_learns_in_one_loop() -> None:
    state = initial_state(small_config(PENNIES, **{"learner.minibatch": "64"}))
    episodes = rolled(state)
    assert episodes is not None and {"return_seeker", "return_hider"} <= episodes.columns.keys()
    assert state.seat.batches["seeker"].rows == 16 and state.seat.batches["hider"].rows == 32


def test_forced_actions_are_marked() -> None:
    state = initial_state(small_config(**{"world.slip": "0.5"}))
    rolled(state)
    assert 0.3 < float(state.seat.batches["player"].forced.float().mean()) < 0.7


def test_memory_starts_empty_where_episodes_start() -> None:
    options = {"policy.core": "gru", "policy.core_size": "4", "world.steps": "3", "learner.minibatch": "64"}
    state = initial_state(small_config(**options))
    witness = Recorder(state)
    rolled(state)
    batch = state.seat.batches["player"]
    assert bool(batch.starts[0].all())
    for t in range(1, batch.steps):
        ended = witness.seen[t - 1]["terminated"] | witness.seen[t - 1]["truncated"]
        assert np.array_equal(batch.starts[t], ended)
    # the values acted with are those the learner will compute again from the whole sequence
    learner = state.learners["player"]
    again = learner.policy.sequence(batch.obs, batch.hidden, batch.starts)
    log_prob, _ = learner.policy.head.evaluate(again.actions, learner.policy.extra, batch.actions.flatten())
    assert torch.allclose(log_prob, batch.log_prob.flatten(), atol=1e-5)


def test_a_nan_from_the_world_is_named_and_not_learned_from() -> None:
    state = initial_state(small_config(PENNIES, **{"world.poison": "5"}))
    before = state.learners["seeker"].optimizer.parameters.clone()
    with pytest.raises(NonFinite, match="pennies: the reward of seeker 0 in lane 0"):
        rolled(state)
    assert torch.equal(before, state.learners["seeker"].optimizer.parameters)


def test_observations_are_scaled_by_what_was_really_seen() -> None:
    state = initial_state(small_config(**{"rollout.steps": "4"}))
    raw = []
    original = state.world.step

    def spy(actions: dict) -> None:
        raw.append(as_rows(state.world.roles["player"].obs).clone())
        original(actions)

    state.world.step = spy  # type: ignore[method-assign]
    rolled(state)
    rolled(state)
    moments = state.learners["player"].observations
    assert moments is not None
    everything = torch.cat(raw)
    assert torch.allclose(moments.mean.float(), everything.mean(0), atol=1e-5)
    assert torch.allclose(moments.variance.float(), everything.var(0, unbiased=False), atol=1e-5)
    assert state.learners["player"].normalized(everything).abs().max() < 20
