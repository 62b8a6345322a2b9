"""A saved school swims on in a world with room for more fish, or for fewer if it finds a place there."""

import numpy as np
import pytest

from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.kit.errors import SituationError
from holdfast.worlds.api import Plan, Situation


def begun(fish: int, lanes: int = 3, seed: int = 1, plan: Plan | None = None) -> Fish:
    world = Fish(FishSettings(fish=fish, steps=40), lanes=lanes, seed=seed)
    world.reset(plan=plan)
    return world


def swim(world: Fish, kept: int, steps: int) -> list[np.ndarray]:
    """What the first `kept` fish of lane 0 see and earn under actions that depend on nothing but time."""
    seen = []
    for step in range(steps):
        world.step({"fish": np.full(world.fish.alive.shape, (step * 7) % 5)})
        seen += [world.fish.obs[0, :kept].copy(), world.fish.reward[0, :kept].copy()]
        seen += [world.fish.alive[0, :kept].copy(), world.state.death_step[0, :kept].copy()]
    return seen


@pytest.mark.parametrize("room", [12, 30])
def test_a_school_goes_on_as_if_nothing_had_happened(room: int) -> None:
    small = begun(12)
    swim(small, 12, 5)
    other = begun(room, seed=2)
    other.load(np.array([2, 0]), small.save(np.array([1, 0])))
    assert not other.fish.alive[0, 12:].any()
    assert other.state.n_fish.tolist() == [12, room, 12]
    for mine, theirs in zip(swim(small, 12, 30), swim(other, 12, 30), strict=True):
        assert np.array_equal(mine, theirs)


def test_after_its_end_the_lane_is_as_full_as_before() -> None:
    large = begun(30, seed=2)
    large.load(np.array([0]), begun(12).save(np.array([0])))
    swim(large, 12, 40)
    assert large.truncated[0]
    assert large.fish.alive[0].all()


def test_a_small_school_fits_a_smaller_world_and_a_large_one_does_not() -> None:
    roomy = begun(30, plan=Plan({"fish": 8}))
    tight = begun(10, seed=2)
    tight.load(np.array([1]), roomy.save(np.array([0])))
    assert np.array_equal(tight.fish.obs[1, :8], roomy.fish.obs[0, :8])
    with pytest.raises(SituationError, match="30 fish does not fit a world with room for 10"):
        tight.load(np.array([1]), begun(30).save(np.array([0])))


def test_an_exact_load_must_have_room_for_the_next_school_too() -> None:
    roomy = begun(30, plan=Plan({"fish": 8}))
    roomy.plan(np.arange(3), Plan({"fish": 30}))
    with pytest.raises(SituationError, match="30 fish"):
        begun(10).load(np.array([0]), roomy.save(np.array([0])), exact=True)


def test_what_else_does_not_fit_is_still_refused() -> None:
    blind = Fish(FishSettings(fish=5, neighbours=False), lanes=1, seed=0)
    blind.reset()
    with pytest.raises(SituationError, match=r"fish\.obs"):
        begun(10).load(np.array([0]), blind.save(np.array([0])))
    with pytest.raises(SituationError, match="missing"):
        begun(10).load(np.array([0]), Situation("fish", blind.spec.version, {"t": np.zeros(1, np.int32)}))
