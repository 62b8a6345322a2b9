"""Steps worked out with the original program, to be met by the kernels within 1e-4."""

import numpy as np
import pytest

from holdfast.games.fish.world.fish import Fish, FishSettings

STEPS = [
    (
        [1, 3, 4, 0],
        [[1.08660, 0.05], [0, -1.865], [10, 0], [3.51, 3.5]],
        [[0.86603, 0.5], [0, 1.35], [-1, 0], [0.1, 0]],
        [0.48130, 0.76280, 0.5, 0.7],
    ),
    (
        [2, 0, 0, 1],
        [[1.18660, 0.05], [0, -1.72], [9.89, 0], [3.51866, 3.505]],
        [[1, 0], [0, 1.45], [-1.1, 0], [0.08660, 0.05]],
        [0.46619, 0.72822, 0.522, 0.7],
    ),
    (
        [4, 1, 3, 2],
        [[1.28660, 0.05], [-0.0725, -1.59443], [9.791, 0], [3.52866, 3.505]],
        [[1, 0], [-0.725, 1.25574], [-0.99, 0], [0.1, 0]],
        [0.45105, 0.71192, 0.5418, 0.7],
    ),
]
# fmt: off
SEEN_BY_FISH_0 = [
    0.12866, 0.005, 0.5, 0, 0.87124, 1, -0.25098, -0.006, 0.75, 0.075, 0.25105,
    0.16667, -0.45303, -0.54814, 0.71113, 0.725, 0, -0.25303,
]
# fmt: on


def pool(positions: list[list[float]], velocities: list[list[float]]) -> Fish:
    """One school where the original's example begins; the predator is at the centre, swimming to the right."""
    world = Fish(FishSettings(fish=len(positions), reward="classic", density_coef=0.05), lanes=1, seed=0)
    world.reset()
    world.state.fish_pos[0] = positions
    world.state.fish_vel[0] = velocities
    world.state.pred_pos[0] = 0.0
    world.state.pred_vel[0] = [1.5, 0.0]
    return world


def test_four_fish_follow_the_original() -> None:
    world = pool([[1, 0], [0, -2], [9.95, 0], [3.5, 3.5]], [[1, 0], [0, 1.5], [2, 0], [0, 0]])
    for actions, position, velocity, reward in STEPS:
        world.step({"fish": np.array([actions])})
        np.testing.assert_allclose(world.state.fish_pos[0], position, atol=1e-4)
        np.testing.assert_allclose(world.state.fish_vel[0], velocity, atol=1e-4)
        np.testing.assert_allclose(world.fish.reward[0], reward, atol=1e-4)
    np.testing.assert_allclose(world.fish.obs[0, 0], SEEN_BY_FISH_0, atol=1e-4)


@pytest.mark.parametrize(
    ("step", "position", "velocity", "tolerance"),
    [
        (10, (1.5, 0.275), (1.5, 0.5), 1e-4),
        (50, (7.5, 6.375), (1.5, 2.5), 1e-4),
        (51, (7.5569, 6.5493), (-2.4195, -0.8469), 1e-4),
        (100, (-4.2987, 8.5245), None, 1e-3),
    ],
)
def test_predator_alone_follows_the_original(
    step: int, position: tuple[float, float], velocity: tuple[float, float] | None, tolerance: float
) -> None:
    world = pool([[0.0, -9.0]], [[0.0, 0.0]])  # a fish far from its path
    for _ in range(step):
        world.step({"fish": np.array([[3]])})
    np.testing.assert_allclose(world.state.pred_pos[0], position, atol=tolerance)
    if velocity is not None:
        np.testing.assert_allclose(world.state.pred_vel[0], velocity, atol=tolerance)
