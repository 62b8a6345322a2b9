"""The picture shows the predator's disc, living fish and the places of the dead where they are."""

import numpy as np

from holdfast.games.fish.world.draw import SIZE, SMOOTH, scale_of
from holdfast.games.fish.world.fish import Fish, FishSettings


def pool() -> Fish:
    """Two fish and the predator at known places, far from each other."""
    world = Fish(FishSettings(fish=2), lanes=1, seed=1)
    world.reset()
    world.state.fish_pos[0] = [[-6.0, 0.0], [6.0, 0.0]]
    world.state.pred_pos[0] = [0.0, 5.0]
    return world


def around(picture: np.ndarray, x: float, y: float, radius: float = 10.0) -> np.ndarray:
    """The mean colour of a 9 x 9 pixel square around a place in the pool."""
    column, row = (int(SIZE / 2 + sign * scale_of(radius) / SMOOTH * value) for sign, value in ((1, x), (-1, y)))
    return picture[row - 4 : row + 5, column - 4 : column + 5].reshape(-1, 3).mean(axis=0)


def test_everything_is_drawn_where_it_is() -> None:
    world = pool()
    picture = world.draw(0)
    assert picture.shape == (SIZE, SIZE, 3)
    assert picture.dtype == np.uint8
    water, fish, predator = around(picture, 0.0, -5.0), around(picture, 6.0, 0.0), around(picture, 0.0, 5.0)
    assert fish.mean() > water.mean() + 20
    assert predator[0] > predator[2] > water[0]


def test_a_dead_fish_leaves_a_fainter_mark() -> None:
    world = pool()
    alive = around(world.draw(0), 6.0, 0.0)
    world.fish.alive[0, 1] = False
    dead = around(world.draw(0), 6.0, 0.0)
    water = around(world.draw(0), 0.0, -6.0)
    assert water.mean() < dead.mean() < alive.mean()


def test_a_fish_that_sees_the_predator_is_amber() -> None:
    world = pool()
    calm = around(world.draw(0), 6.0, 0.0)
    world.state.pred_pos[0] = [6.0, 2.0]
    alarmed = around(world.draw(0), 6.0, 0.0)
    assert calm[2] > calm[0]
    assert alarmed[0] > alarmed[2]


def test_a_wide_pool_is_drawn_whole() -> None:
    world = Fish(FishSettings(fish=2, pool_radius=100.0), lanes=1, seed=1)
    world.reset()
    world.state.fish_pos[0] = [[-60.0, 0.0], [99.0, 0.0]]
    world.state.pred_pos[0] = [0.0, 5.0]
    picture = world.draw(0)
    assert around(picture, -60.0, 0.0, 100.0).mean() > around(picture, -60.0, 20.0, 100.0).mean()
    assert around(picture, 99.0, 0.0, 100.0).mean() > around(picture, 99.0, 40.0, 100.0).mean()
