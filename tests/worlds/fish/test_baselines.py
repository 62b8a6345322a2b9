"""The scripted policies survive as they did in the original program: the averages are from 1,600 of its episodes."""

import numpy as np
import pytest

from holdfast.worlds.fish.world import Fish, FishSettings

EPISODES = 400  # one episode's standard deviation is up to 0.07, so the average's is 0.004


@pytest.fixture(scope="module")
def world() -> Fish:
    return Fish(FishSettings(fish=96, neighbours=False), lanes=EPISODES, seed=0)


def survival(world: Fish, policy: str) -> np.ndarray:
    """The share of fish alive at the end, one number per lane; no school dies out, so all lanes end together."""
    world.reset(keys=np.arange(1, EPISODES + 1, dtype=np.uint64))
    act = world.yardsticks()[policy]
    for _ in range(world.settings.steps):
        assert not world.terminated.any()
        world.step(act(world))
    assert world.truncated.all()
    return world.finished()["survival"]


@pytest.mark.parametrize(
    ("policy", "average", "tolerance"),
    [
        ("forward", 0.514, 0.02),
        ("turn", 0.839, 0.02),
        ("brake", 0.835, 0.02),
        ("keep", 0.751, 0.02),
        ("random", 0.739, 0.02),
        ("flee", 0.910, 0.02),
        ("dodge", 0.953, 0.02),
        ("dodge_shelter", 0.983, 0.006),
    ],
)
def test_policy_survives_as_in_the_original(world: Fish, policy: str, average: float, tolerance: float) -> None:
    assert survival(world, policy).mean() == pytest.approx(average, abs=tolerance)


def test_share_that_dies_in_the_first_step_is_the_original_one(world: Fish) -> None:
    survival(world, "keep")
    step_one = world.finished()["step_one"]
    assert np.array_equal(step_one, (world.state.ended_death_step == 1).sum(axis=1))
    assert step_one.sum() / (EPISODES * 96) == pytest.approx(0.0187, abs=0.003)
