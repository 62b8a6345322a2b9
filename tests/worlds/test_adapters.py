"""Our worlds in other libraries' hands: their own checks pass, their learners learn."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import ClipReward, DictInfoToList, RecordEpisodeStatistics
from pettingzoo.test import parallel_api_test, parallel_seed_test
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from holdfast.kit.errors import ConfigError, MissingPackage, WorldError
from holdfast.worlds.adapters import as_parallel_env, as_sb3, as_vector_env
from holdfast.worlds.api import Role, World, WorldSpec
from holdfast.worlds.registry import make_world, world_class
from holdfast.worlds.spaces import Continuous, Discrete, Observations
from holdfast.worlds.template.world import Template, TrackSettings, optimal_return


def track(lanes: int, seed: int = 3, **options: float) -> Template:
    return Template(TrackSettings(**options), lanes, seed)


SCHOOL_SPEC = WorldSpec(
    name="school",
    version=1,
    roles=(Role("fish", 3, Observations((1,), np.dtype(np.float32), 0.0, 9.0), Discrete(2)),),
    columns=("length", "return"),
    score="return",
)


class School(World):
    """A scripted lane of three fish: fish 0 dies in step 2; after step 4 the limit cuts, as fish 1 dies."""

    def __init__(self, spec: WorldSpec = SCHOOL_SPEC, lanes: int = 2) -> None:
        super().__init__(spec, lanes, seed=0, threads=1)
        self.given: dict[str, np.ndarray] = {}

    def _begin(self, lanes: np.ndarray) -> None:
        self.clock.t[lanes] = 0
        for buffers in self.roles.values():
            buffers.alive[lanes] = True
            buffers.obs[lanes] = 1.0

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        self.given = dict(actions)
        self.clock.t[:] += 1
        for buffers in self.roles.values():
            buffers.reward[...] = buffers.alive
            if self.clock.t[0] == 2:
                buffers.alive[:, 0] = False
            buffers.obs[...] = (1.0 + self.clock.t[:, None, None]) * buffers.alive[:, :, None]
        self.truncated[:] = self.clock.t == 4
        if self.truncated[0]:
            self._end()

    def _end(self) -> None:
        self.clock.ended[:, 0] = 4
        for buffers in self.roles.values():
            buffers.final_alive[...] = buffers.alive
            buffers.final_alive[:, 1] = False
            buffers.final_obs[...] = 5.0 * buffers.final_alive[:, :, None]
        self._begin(np.arange(self.lanes))

    def save(self, lanes: np.ndarray) -> Any:
        raise NotImplementedError

    def load(self, lanes: np.ndarray, situation: Any, exact: bool = False) -> None:
        raise NotImplementedError

    def arrays(self) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        raise NotImplementedError

    def draw(self, lane: int) -> np.ndarray:
        return np.full((2, 2, 3), lane, np.uint8)


def duel() -> School:
    """The same script for two roles, one of them with numbers for actions."""
    fish = SCHOOL_SPEC.roles[0]
    net = Role("net", 2, fish.observations, Continuous((-1.0, 2.0), (1.0, 3.0)))
    return School(SCHOOL_SPEC._replace(roles=(fish, net)), lanes=1)


# -- Gymnasium --


def test_vector_env_keeps_gymnasiums_spaces_and_types() -> None:
    env = as_vector_env(track(4))
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    env.action_space.seed(1)
    obs, _ = env.reset(seed=1)
    for _ in range(100):
        assert env.observation_space.contains(obs)
        obs, reward, terminated, truncated, infos = env.step(env.action_space.sample())
        assert (reward.dtype, terminated.dtype, truncated.dtype) == (np.float64, np.bool_, np.bool_)
        assert reward.shape == terminated.shape == truncated.shape == (4,)
        for row in np.flatnonzero(terminated | truncated):
            assert env.single_observation_space.contains(infos["final_obs"][row])


def test_vector_env_gives_the_same_infos_as_gymnasiums_own() -> None:
    """The same environments, seeds and actions in Gymnasium's SyncVectorEnv: every array is the same."""
    world = make_world("gym:CartPole-v1", world_class("gym:CartPole-v1").Settings(), 3, 1)
    ours = as_vector_env(world)
    theirs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    assert ours.single_action_space == theirs.single_action_space
    assert ours.action_space == theirs.action_space
    obs, _ = ours.reset(seed=4)
    seeds = [int(key) % 2**31 for key in world.clock.episode_key]
    assert data_equivalence(obs, theirs.reset(seed=seeds)[0], exact=True)
    ended = np.zeros(3, bool)
    ours.action_space.seed(2)
    while not ended.any():
        action = ours.action_space.sample()
        one, other = ours.step(action), theirs.step(action)
        ended = one[2] | one[3]
        assert data_equivalence(one[0][~ended], other[0][~ended], exact=True)
        assert data_equivalence(one[1:4], other[1:4], exact=True)
    assert {"final_obs", "_final_obs", "final_info", "_final_info"} <= one[4].keys() & other[4].keys()
    assert data_equivalence(one[4]["_final_obs"], other[4]["_final_obs"], exact=True)
    for mine, reference in zip(one[4]["final_obs"], other[4]["final_obs"], strict=True):
        assert (mine is None and reference is None) or data_equivalence(mine, reference, exact=True)


def test_vector_env_seeds_through_reset() -> None:
    one, other = as_vector_env(track(4, seed=1, slip=0.5)), as_vector_env(track(4, seed=2, slip=0.5))
    other.reset()
    other.step(np.zeros(4, int))
    assert np.array_equal(one.reset(seed=9)[0], other.reset(seed=9)[0])
    for _ in range(50):
        actions = np.full(4, 2)
        assert data_equivalence(one.step(actions), other.step(actions), exact=True)
    assert not np.array_equal(one.reset(seed=9)[0], one.reset()[0])


def test_what_vector_env_returns_is_not_written_again() -> None:
    env = as_vector_env(track(4))
    first, _ = env.reset(seed=1)
    kept = first.copy()
    second = env.step(np.full(4, 2))
    copies = [array.copy() for array in second[:4]]
    env.step(np.full(4, 0))
    assert np.array_equal(first, kept)
    assert all(np.array_equal(array, copy) for array, copy in zip(second[:4], copies, strict=True))


def test_gymnasiums_wrappers_agree_with_our_episode_table() -> None:
    env = RecordEpisodeStatistics(as_vector_env(track(4)))
    env.reset(seed=1)
    env.action_space.seed(1)
    episodes = 0
    for _ in range(200):
        _, _, terminated, truncated, infos = env.step(env.action_space.sample())
        for row in np.flatnonzero(terminated | truncated):
            episodes += 1
            assert infos["final_info"]["length"][row] == infos["episode"]["l"][row]
            assert infos["final_info"]["return"][row] == pytest.approx(infos["episode"]["r"][row], abs=1e-5)
    assert episodes > 20


def test_gymnasiums_wrappers_can_be_stacked() -> None:
    env = DictInfoToList(ClipReward(as_vector_env(track(4, steps=2)), 0.0, 1.0))
    env.reset(seed=1)
    env.step(np.ones(4, int))
    _, reward, terminated, truncated, infos = env.step(np.ones(4, int))
    assert reward.tolist() == [0.0] * 4 and truncated.all() and not terminated.any()
    assert all(info["final_obs"].shape == (16,) and info["final_info"]["length"] == 2.0 for info in infos)


def test_levels_are_set_through_reset_options() -> None:
    env = as_vector_env(track(4))
    env.reset(options={"level": {"steps": 1}})
    assert (env.step(np.ones(4, int))[3]).all()
    with pytest.raises(ConfigError, match="did you mean steps"):
        env.reset(options={"level": {"step": 1}})


def test_an_agents_death_is_one_terminated_row_then_zeros() -> None:
    env = as_vector_env(School())
    assert env.num_envs == 6
    env.reset()
    rows = [env.step(np.ones(6, int)) for _ in range(5)]
    terminated, truncated = [row[2][:3].tolist() for row in rows], [row[3][:3].tolist() for row in rows]
    nobody = [False, False, False]
    # fish 0 dies in step 2; in step 4 the lane is cut: fish 1 died in that step, fish 2 lives
    assert terminated == [nobody, [True, False, False], nobody, [False, True, False], nobody]
    assert truncated == [nobody, nobody, nobody, [False, False, True], nobody]
    assert [row[4]["alive"][0] for row in rows] == [True, False, False, True, True]
    assert [row[0][0, 0] for row in rows] == [2.0, 0.0, 0.0, 1.0, 2.0]
    assert [row[1][0] for row in rows] == [1.0, 1.0, 0.0, 0.0, 1.0]
    assert rows[3][4]["final_obs"][0] is None and rows[3][4]["final_obs"][2].tolist() == [5.0]
    assert rows[3][4]["final_info"]["length"].tolist() == [0.0, 4.0, 4.0, 0.0, 4.0, 4.0]
    assert len(env.render()) == 2


def test_several_roles_are_refused_with_the_adapter_that_takes_them() -> None:
    for adapter in (as_vector_env, as_sb3):
        with pytest.raises(WorldError, match="fish, net: use as_parallel_env"):
            adapter(duel())


# -- Stable-Baselines3 --


def test_sb3_gets_last_observations_and_truncations() -> None:
    env = as_sb3(School())
    env.reset()
    for _ in range(3):
        env.step(np.ones(6, int))
    obs, reward, done, infos = env.step(np.ones(6, int))
    assert done.tolist() == [False, True, True] * 2
    assert [info["TimeLimit.truncated"] for info in infos] == [False, False, True] * 2
    assert "terminal_observation" not in infos[0]
    assert infos[2]["terminal_observation"].tolist() == [5.0]
    assert obs[:, 0].tolist() == [1.0] * 6
    assert reward.tolist() == [0.0, 1.0, 1.0] * 2
    assert env.env_is_wrapped(gymnasium.Wrapper) == [False] * 6
    assert env.render("rgb_array").shape[2] == 3


def test_sb3_seeds_its_resets() -> None:
    one, other = as_sb3(track(4, seed=1)), as_sb3(track(4, seed=2))
    one.seed(7)
    other.seed(7)
    assert np.array_equal(one.reset(), other.reset())


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """Layers this small are slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_sb3_ppo_learns_the_track(one_torch_thread: None) -> None:
    optimal = optimal_return(TrackSettings())
    env = VecMonitor(as_sb3(track(32, seed=1)))
    model = PPO("MlpPolicy", env, 3e-3, n_steps=32, batch_size=256, n_epochs=4, gamma=0.95, seed=1, device="cpu")
    assert greedy_return(model) < optimal - 0.3
    model.learn(32 * 32 * 20)
    assert greedy_return(model) > optimal - 0.05


def greedy_return(model: PPO) -> float:
    env = as_sb3(track(64, seed=99))
    obs, returns = env.reset(), []
    for _ in range(64):
        obs, _, _, _ = env.step(model.predict(obs, deterministic=True)[0])
        returns += env.rows.world.finished()["return"].tolist()
    return float(np.mean(returns))


# -- PettingZoo --


def multi_agent_world(name: str, seed: int = 1) -> World:
    return make_world(name, world_class(name).Settings(), 1, seed)


@pytest.mark.parametrize("name", ["template", "fish"])
def test_parallel_env_passes_pettingzoos_own_tests(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(as_parallel_env(multi_agent_world(name)), num_cycles=200)
        parallel_seed_test(lambda: as_parallel_env(multi_agent_world(name, seed=next(SEEDS))), num_cycles=50)


SEEDS = iter(range(1, 1000))  # worlds of different seeds: the seed of reset() must decide


def test_parallel_env_names_agents_by_role_and_removes_the_dead() -> None:
    env = as_parallel_env(duel())
    env.reset(seed=1)
    everyone = ["fish_0", "fish_1", "fish_2", "net_0", "net_1"]
    assert env.agents == env.possible_agents == everyone
    actions = {name: env.action_space(name).sample() for name in everyone}
    env.step(actions)
    _, reward, terminated, truncated, _ = env.step(actions)
    assert [name for name in everyone if terminated[name]] == ["fish_0", "net_0"]
    assert reward["fish_0"] == 1.0
    assert env.agents == ["fish_1", "fish_2", "net_1"]
    env.step({name: actions[name] for name in env.agents})
    obs, _, terminated, truncated, infos = env.step({name: actions[name] for name in env.agents})
    assert terminated == {"fish_1": True, "fish_2": False, "net_1": True}
    assert truncated == {"fish_1": False, "fish_2": True, "net_1": False}
    assert obs["fish_2"].tolist() == [5.0]
    assert infos["fish_2"]["length"] == 4.0
    assert env.agents == []


def test_parallel_env_gives_each_role_its_actions() -> None:
    world = duel()
    env = as_parallel_env(world)
    env.reset()
    actions = {"fish_0": 1, "fish_1": 0, "fish_2": 1, "net_0": np.array([0.5, 2.5]), "net_1": np.array([-7.0, 9.0])}
    env.step(actions)
    assert world.given["fish"].tolist() == [[1, 0, 1]]
    assert world.given["net"].tolist() == [[[0.5, 2.5], [-1.0, 3.0]]]  # clipped to their bounds
    with pytest.raises(WorldError, match="no action for fish_2"):
        env.step({name: action for name, action in actions.items() if name != "fish_2"})


def test_parallel_env_takes_one_lane() -> None:
    with pytest.raises(WorldError, match="one lane; this template has 2"):
        as_parallel_env(track(2))


# -- packages that are not there --


@pytest.mark.parametrize(
    ("adapter", "module", "package"),
    [(as_sb3, "sb3", "stable-baselines3"), (as_parallel_env, "parallel", "pettingzoo")],
)
def test_a_missing_library_is_told_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, adapter: Any, module: str, package: str
) -> None:
    original = builtins.__import__

    def absent(name: str, *rest: Any, **options: Any) -> Any:
        if name.endswith(f"adapters.{module}"):
            raise ModuleNotFoundError(f"No module named {package!r}")
        return original(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingPackage, match=f"pip install {package}"):
        adapter(track(1))
