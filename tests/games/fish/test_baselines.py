"""The scripted policies survive as they did in the original program: the averages are from 1,600 of its episodes under
the classic rules, and from 80 under the hunting ones."""

import numpy as np
import pytest

from holdfast.games.fish.world.fish import Fish, FishSettings

EPISODES = 400  # one episode's standard deviation is up to 0.07, so the average's is 0.004
HUNTS = 120


@pytest.fixture(scope="module")
def world() -> Fish:
    return Fish(FishSettings(fish=96, neighbours=False), lanes=EPISODES, seed=0)


@pytest.fixture(scope="module")
def hunted() -> Fish:
    return Fish(FishSettings(rules="hunt", fish=96, neighbours=False), lanes=HUNTS, seed=0)


def survival(world: Fish, policy: str) -> np.ndarray:
    """The share of fish alive at the end of the first episode of each lane; a school may die out before the limit."""
    world.reset(keys=np.arange(1, world.lanes + 1, dtype=np.uint64))
    act = world.yardsticks()[policy]
    result = np.full(world.lanes, np.nan)
    for _ in range(world.settings.steps):
        world.step(act(world))
        table = world.finished()
        first = np.isnan(result[table["lane"]])
        result[table["lane"][first]] = table["survival"][first]
    return result


@pytest.mark.parametrize(
    ("policy", "average", "tolerance"),
    [
        ("forward", 0.514, 0.02),
        ("turn", 0.839, 0.02),
        ("brake", 0.835, 0.02),
        ("keep", 0.751, 0.02),
        ("random", 0.739, 0.02),
        ("flee_brake", 0.910, 0.02),
        ("dodge_keep", 0.953, 0.02),
        ("dodge_shelter", 0.983, 0.006),
    ],
)
def test_policy_survives_as_in_the_original(world: Fish, policy: str, average: float, tolerance: float) -> None:
    assert survival(world, policy).mean() == pytest.approx(average, abs=tolerance)


@pytest.mark.parametrize(
    ("policy", "average"),
    [
        ("brake", 0.416),
        ("keep", 0.219),
        ("random", 0.415),
        ("forward", 0.379),
        ("turn", 0.27),
        ("flee_keep", 0.585),
        ("dodge_keep", 0.840),
        ("dodge_shelter", 0.409),
    ],
)
def test_policy_survives_a_hunter_as_in_the_original(hunted: Fish, policy: str, average: float) -> None:
    assert survival(hunted, policy).mean() == pytest.approx(average, abs=0.05)


def test_share_that_dies_in_the_first_step_is_the_original_one(world: Fish) -> None:
    survival(world, "keep")
    step_one = world.finished()["step_one"]
    assert np.array_equal(step_one, (world.state.ended_death_step == 1).sum(axis=1))
    assert step_one.sum() / (EPISODES * 96) == pytest.approx(0.0187, abs=0.003)
