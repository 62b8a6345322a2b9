"""Foreign environments: their spaces, their ends, their errors, and going on after a save or a resume."""

from __future__ import annotations

import os
import threading
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils import EzPickle

from holdfast.kit.errors import MissingPackage, SituationError, SnapshotUnsupported, UnknownName, WorldError
from holdfast.worlds.api import Situation, random_policy
from holdfast.worlds.check import check_world
from holdfast.worlds.gym import GymSettings, GymWorld
from holdfast.worlds.registry import make_world
from holdfast.worlds.spaces import Continuous, Discrete, MultiDiscrete


class Counting(gymnasium.Env):
    """Counts steps from a seeded start; ends as it is told. Keeps the last action for the tests."""

    observation_space: spaces.Space[Any] = spaces.Box(-1000.0, 1000.0, (2,), np.float64)
    action_space: spaces.Space[Any] = spaces.Discrete(3)

    def __init__(self, ends: str = "terminated", after: int = 4) -> None:
        self.ends, self.after = ends, after
        self.last: Any = None

    def seen(self) -> Any:
        return np.array([self.count, self.start])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count, self.start = 0, float(self.np_random.integers(1000))
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.count += 1
        self.last = action
        over = self.count >= self.after
        return self.seen(), self.count, over and self.ends != "truncated", over and self.ends != "terminated", {}


gymnasium.register("HoldfastCounting-v0", f"{__name__}:Counting")


class Cloudy(Counting):
    """The seed does not decide everything."""

    def seen(self) -> Any:
        return np.array([self.count, float(os.urandom(1)[0]) if self.count else 0.0])


class Locked(Counting):
    """Cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Forgetful(Counting, EzPickle):
    """Copies without complaint, but the copies start anew."""

    def __init__(self) -> None:
        EzPickle.__init__(self)
        Counting.__init__(self)


class Failing(Counting):
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self.count == 2:
            raise RuntimeError("the floor is gone")
        return super().step(action)


class Misshapen(Counting):
    def seen(self) -> Any:
        return np.zeros(1)


class Painted(Counting):
    """Has pictures, and keeps something that cannot be copied once it has drawn."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__()
        self.render_mode = render_mode

    def render(self) -> Any:
        self.canvas = threading.Lock()
        return np.full((4, 6, 3), self.count, np.uint8)


def with_spaces(
    sight: spaces.Space[Any], seen: Any, action: spaces.Space[Any] = Counting.action_space
) -> type[Counting]:
    return type("Spaced", (Counting,), {"observation_space": sight, "action_space": action, "seen": lambda self: seen})


def own(environment: type | str, lanes: int = 3, seed: int = 1, **options: Any) -> GymWorld:
    name = environment if isinstance(environment, str) else f"{__name__}:{environment.__name__}"
    world = make_world(name, GymSettings(**options), lanes, seed)
    assert isinstance(world, GymWorld)
    return world


@pytest.fixture
def spaced(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a world of an environment with these spaces."""

    def make(sight: spaces.Space[Any], seen: Any, action: spaces.Space[Any] = Counting.action_space) -> GymWorld:
        monkeypatch.setitem(globals(), "Spaced", with_spaces(sight, seen, action))
        world = own(f"{__name__}:Spaced", lanes=1)
        world.reset()
        return world

    return make


def run(world: GymWorld, steps: int) -> None:
    for _ in range(steps):
        world.step(random_policy(world))


# -- spaces --


def test_numbers_become_a_vector_of_float32(spaced: Any) -> None:
    world = spaced(spaces.Box(-2.0, 3.0, (2, 2), np.float64), np.array([[1.0, 2.0], [-1.0, 0.5]]))
    space = world.spec.roles[0].observations
    assert (space.shape, space.dtype, space.low, space.high) == ((4,), np.float32, -2.0, 3.0)
    assert world.player.obs[0, 0].tolist() == [1.0, 2.0, -1.0, 0.5]


def test_missing_bounds_are_infinite() -> None:
    space = own("gym:CartPole-v1").spec.roles[0].observations
    assert (space.low, space.high) == (-np.inf, np.inf)


def test_images_stay_bytes_with_channels_last(spaced: Any) -> None:
    picture = np.arange(4 * 10 * 12, dtype=np.uint8).reshape(4, 10, 12)
    first = spaced(spaces.Box(0, 255, (4, 10, 12), np.uint8), picture)
    assert first.spec.roles[0].observations.is_image
    assert np.array_equal(first.player.obs[0, 0], np.moveaxis(picture, 0, -1))
    last = spaced(spaces.Box(0, 255, (10, 12, 3), np.uint8), np.ones((10, 12, 3), np.uint8))
    assert last.player.obs.shape == (1, 1, 10, 12, 3)
    assert last.draw(0).shape == (10, 12, 3)


def test_choices_are_seen_as_one_hot_and_composites_are_flattened(spaced: Any) -> None:
    assert spaced(spaces.Discrete(4, start=2), 3).player.obs[0, 0].tolist() == [0.0, 1.0, 0.0, 0.0]
    both = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0.0, 9.0, (2,))})
    assert spaced(both, {"a": 1, "b": np.array([4.0, 5.0], np.float32)}).player.obs[0, 0].tolist() == [0, 1, 4, 5]
    pair = spaces.Tuple((spaces.MultiBinary(2), spaces.Discrete(2)))
    assert spaced(pair, (np.array([1, 0], np.int8), 0)).player.obs[0, 0].tolist() == [1, 0, 1, 0]


def test_a_space_that_cannot_be_an_array_is_named(spaced: Any) -> None:
    with pytest.raises(WorldError, match="observation space Sequence"):
        spaced(spaces.Sequence(spaces.Discrete(2)), ())
    with pytest.raises(WorldError, match="action space Text"):
        spaced(Counting.observation_space, np.zeros(2), spaces.Text(4))
    with pytest.raises(WorldError, match="has no bounds"):
        spaced(Counting.observation_space, np.zeros(2), spaces.Box(-np.inf, np.inf, (1,)))


@pytest.mark.parametrize(
    ("space", "ours", "row", "theirs"),
    [
        (spaces.Discrete(3, start=5), Discrete(3), np.array([[2]]), 7),
        (spaces.MultiDiscrete([2, 3]), MultiDiscrete((2, 3)), np.array([[[1, 2]]]), [1, 2]),
        (spaces.MultiDiscrete([[2, 3]], start=[[1, 1]]), MultiDiscrete((2, 3)), np.array([[[1, 2]]]), [[2, 3]]),
        (spaces.MultiBinary(3), MultiDiscrete((2, 2, 2)), np.array([[[1, 0, 1]]]), [1, 0, 1]),
        (
            spaces.Box(np.array([[-1.0], [0.0]]), np.array([[1.0], [0.1]]), dtype=np.float64),
            Continuous((-1.0, 0.0), (1.0, 0.1)),
            np.array([[[0.5, 0.1]]], np.float32),
            [[0.5], [0.1]],
        ),
    ],
    ids=["Discrete", "MultiDiscrete", "MultiDiscrete2", "MultiBinary", "Box"],
)
def test_actions_reach_the_environment_in_its_own_space(
    spaced: Any, space: spaces.Space[Any], ours: Any, row: np.ndarray, theirs: Any
) -> None:
    world = spaced(Counting.observation_space, np.zeros(2), space)
    assert world.spec.roles[0].actions == ours
    world.step({"player": row})
    given = world.environments[0].last
    assert space.contains(given)
    assert np.asarray(given).tolist() == theirs


# -- episodes --


@pytest.mark.parametrize(
    ("ends", "terminated", "truncated"), [("terminated", 1, 0), ("truncated", 0, 1), ("both", 1, 0)]
)
def test_ends_keep_the_last_sight_and_begin_anew(ends: str, terminated: int, truncated: int) -> None:
    world = own(Counting, kwargs={"ends": ends})
    world.reset()
    start, keys = world.player.obs[:, 0, 1].copy(), world.clock.episode_key.copy()
    run(world, 4)
    assert world.terminated.tolist() == [bool(terminated)] * 3
    assert world.truncated.tolist() == [bool(truncated)] * 3
    assert world.player.final_obs[:, 0].tolist() == [[4.0, first] for first in start]
    assert world.player.obs[:, 0, 0].tolist() == [0.0] * 3
    assert (world.player.obs[:, 0, 1] != start).any()
    table = world.finished()
    assert (table["length"].tolist(), table["return"].tolist()) == ([4.0] * 3, [10.0] * 3)
    assert table["key"].tolist() == keys.tolist()


def test_episodes_are_seeded_by_their_key() -> None:
    world = own("gym:CartPole-v1", lanes=2)
    world.reset(keys=np.array([123, 123 + 2**31], np.uint64))
    expected, _ = gymnasium.make("CartPole-v1").reset(seed=123)
    assert np.array_equal(world.player.obs[0, 0], expected)
    assert np.array_equal(world.player.obs[1, 0], expected)


def test_an_environment_is_registered_by_importing_its_module() -> None:
    world = own(f"gym:{__name__}:HoldfastCounting-v0")
    world.reset()
    assert isinstance(world.environments[0].unwrapped, Counting)


@pytest.mark.parametrize("environment", ["gym:Pendulum-v1", Counting])
def test_max_steps_cuts_episodes(environment: Any) -> None:
    world = own(environment, max_steps=3)
    world.reset()
    run(world, 3)
    assert world.truncated.all()
    assert world.finished()["length"].tolist() == [3.0] * 3


@pytest.mark.parametrize("name", ["gym:CartPole-v1", "gym:Pendulum-v1", "gym:FrozenLake-v1"])
@pytest.mark.filterwarnings("ignore:.*is drawn as bars")
def test_foreign_environments_keep_every_promise(name: str) -> None:
    proofs = check_world(name, {"max_steps": 40}, lanes=3, steps=90)
    assert [proof for proof in proofs if not proof.passed] == []
    assert [proof.name for proof in proofs if proof.detail.startswith("not applicable")] == ["compiled is plain Python"]


# -- situations and checkpoints --


def test_resumed_cartpole_goes_on_bit_for_bit() -> None:
    world, resumed = own("gym:CartPole-v1", lanes=4), own("gym:CartPole-v1", lanes=4, seed=9)
    world.reset()
    run(world, 37)
    assert resumed.restore({name: array.copy() for name, array in world.arrays().items()}) == []
    for _ in range(100):
        run(world, 1)
        run(resumed, 1)
        theirs = resumed.arrays()
        assert all(array.tobytes() == theirs[name].tobytes() for name, array in world.arrays().items())


def test_a_lane_loaded_from_a_situation_can_still_be_resumed() -> None:
    world, resumed = own("gym:CartPole-v1"), own("gym:CartPole-v1", seed=2)
    world.reset()
    run(world, 5)
    situation = world.save(np.array([0]))
    run(world, 3)
    world.load(np.array([1, 2]), situation)
    assert world.clock.t.tolist() == [8, 5, 5]
    assert resumed.restore(world.arrays()) == []
    run(world, 1)
    run(resumed, 1)
    assert resumed.player.obs.tobytes() == world.player.obs.tobytes()


def test_a_situation_can_be_loaded_again_and_again() -> None:
    world = own("gym:CartPole-v1", lanes=1)
    world.reset()
    run(world, 4)
    situation = world.save(np.array([0]))
    futures = []
    for _ in range(2):
        world.load(np.array([0]), situation)
        run(world, 3)
        futures.append(world.player.obs.tobytes())
    assert futures[0] == futures[1]


def test_where_repeating_the_actions_leads_elsewhere_a_new_episode_begins_and_is_told() -> None:
    world, resumed = own(Cloudy, lanes=40), own(Cloudy, lanes=40, seed=2)
    world.reset()
    run(world, 3)
    notes = resumed.restore(world.arrays())
    assert len(notes) == 1 and "the seed does not decide everything" in notes[0] and "lanes 0, 1" in notes[0]
    anew = resumed.clock.t == 0
    assert anew.sum() > 30
    assert (resumed.clock.episode_index[anew] == 2).all()
    assert (resumed.player.obs[anew, 0, 0] == 0.0).all()


def test_episodes_beyond_the_replay_limit_begin_anew_and_are_told() -> None:
    world, resumed = (own(Counting, kwargs={"after": 100}, replay_limit=5, seed=seed) for seed in (1, 2))
    world.reset()
    run(world, 4)
    world.reset(np.array([1]))
    run(world, 2)
    notes = resumed.restore(world.arrays())
    assert len(notes) == 1 and "lanes 0, 2 begin new episodes" in notes[0] and "replay_limit = 5" in notes[0]
    assert resumed.clock.t.tolist() == [0, 2, 0]


def test_a_world_saved_before_its_first_episode_is_restored() -> None:
    resumed = own(Counting, seed=2)
    assert resumed.restore(own(Counting).arrays()) == []
    assert resumed.clock.episode_index.tolist() == [0, 0, 0]


def test_arrays_of_another_size_are_refused() -> None:
    with pytest.raises(SituationError, match="with 3 lanes"):
        own(Counting).restore(own(Counting, lanes=2).arrays())


@pytest.mark.parametrize(("environment", "reason"), [(Locked, "pickle.*lock"), (Forgetful, "EzPickle")])
def test_what_cannot_be_copied_says_so_but_can_be_resumed(environment: type, reason: str) -> None:
    world, resumed = own(environment), own(environment, seed=2)
    world.reset()
    run(world, 2)
    for _ in range(2):
        with pytest.raises(SnapshotUnsupported, match=f"{environment.__name__} cannot be saved: .*{reason}"):
            world.save(np.array([0]))
    assert resumed.restore(world.arrays()) == []
    proofs = {proof.name: proof for proof in check_world(f"{__name__}:{environment.__name__}", lanes=2, steps=10)}
    assert all(proof.passed for proof in proofs.values())
    assert "cannot be saved" in proofs["a saved lane has the same future in another lane"].detail


def test_situations_that_do_not_fit_are_refused() -> None:
    world, other = own(Counting), own("gym:CartPole-v1")
    world.reset()
    situation = world.save(np.array([0, 1]))
    with pytest.raises(SituationError, match="cannot be loaded into gym:CartPole-v1"):
        other.load(np.array([0, 1]), situation)
    with pytest.raises(SituationError, match="2 saved lanes for 3 lanes"):
        world.load(np.array([0, 1, 2]), situation)
    from_disk = Situation(situation.world, situation.version, situation.rows)
    with pytest.raises(SituationError, match="lives in memory only"):
        world.load(np.array([0, 1]), from_disk)


# -- pictures --


def test_drawing_leaves_the_environment_as_it_was() -> None:
    world = own(Painted, lanes=1)
    world.reset()
    run(world, 2)
    assert np.array_equal(world.draw(0), np.full((4, 6, 3), 2))
    assert len(world.save(np.array([0]))) == 1


def test_without_pictures_the_observation_is_drawn_as_bars(spaced: Any) -> None:
    world = spaced(spaces.Box(-9.0, 9.0, (2,), np.float32), np.array([4.0, -2.0], np.float32))
    picture = world.draw(0)
    assert picture.dtype == np.uint8 and picture.shape == (120, 36, 3)
    blue = (picture == (90, 160, 250)).all(axis=2)
    assert (blue[:60, 4:16].sum(), blue[60:, 4:16].sum()) == (56 * 12, 0)  # up, all of the 56 rows there are
    assert (blue[:60, 20:32].sum(), blue[60:, 20:32].sum()) == (0, 28 * 12)  # down, half as long


# -- errors --


def test_unknown_and_missing_environments_are_told_with_the_way_out() -> None:
    with pytest.raises(UnknownName, match="Did you mean: `CartPole`"):
        own("gym:CartPol-v1")
    with pytest.raises(UnknownName, match=r"v7.*`v1`"):
        own("gym:CartPole-v7")
    with pytest.raises(UnknownName, match="did you mean CartPole-v"):
        own("gym:CartPole")
    with pytest.raises(UnknownName, match="Malformed"):
        own("gym:no such thing")
    with pytest.raises(UnknownName, match="no module 'nowhere_at_all'"):
        own("nowhere_at_all:Env")
    with pytest.raises(WorldError, match="neither"):
        own("math:pi")


def test_a_missing_package_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "Box2D", None)  # as if it were not installed, where it is
    monkeypatch.delitem(sys.modules, "gymnasium.envs.box2d", raising=False)
    with pytest.raises(MissingPackage, match=r"pip install .*gymnasium\[box2d\]"):
        own("gym:LunarLander-v3")


def test_errors_inside_the_environment_name_it_the_lane_and_the_call() -> None:
    world = own(Failing)
    world.reset()
    with pytest.raises(WorldError, match=r"Failing: step\(\) raised RuntimeError in lane 0, step 3: the floor is gone"):
        run(world, 3)
    with pytest.raises(WorldError, match=r"Misshapen: reset\(\) .* lane 0.*shape \(1,\), the space says \(2,\)"):
        own(Misshapen).reset()
    with pytest.raises(WorldError, match=r"making it raised TypeError.*unexpected keyword argument 'nonsense'"):
        own(Counting, kwargs={"nonsense": 1})
