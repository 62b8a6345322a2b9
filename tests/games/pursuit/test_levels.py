"""The levels of both curricula, in arenas of two sizes."""

from holdfast.games.pursuit.world.levels import Level, Widening, discrete_levels, smooth_levels
from holdfast.games.pursuit.world.settings import PursuitSettings

LARGE, SMALL = PursuitSettings(), PursuitSettings(arena_w=10.0, arena_h=10.0)


def test_discrete_levels_are_the_table_in_a_large_arena() -> None:
    assert discrete_levels(LARGE) == [
        (2.0, 5.0, 0),
        (5.0, 15.0, 0),
        (2.0, 5.0, 3),
        (5.0, 8.0, 3),
        (5.0, 12.0, 3),
        (2.0, 15.0, 3),
    ]


def test_a_small_arena_cuts_both_distances() -> None:
    second = discrete_levels(SMALL)[1]
    assert (round(second.spawn_min, 2), round(second.spawn_max, 2)) == (4.53, 11.31)


def test_smooth_levels_widen_to_the_top_and_get_circles_on_the_way() -> None:
    levels = smooth_levels(LARGE)
    assert len(levels) == 21 and levels[0] == (2.0, 5.0, 0) and levels[-1] == (2.0, 15.0, 3)
    assert [level.obstacles for level in levels[5:7]] == [0, 3] and levels[6].spawn_max == 8.0
    assert len(smooth_levels(SMALL)) == 14


def test_the_widening_can_be_chosen() -> None:
    levels = smooth_levels(LARGE, Widening(increment=2.0, final_max=8.0, obstacles_before=2))
    assert levels == [(2.0, 5.0, 2), (2.0, 7.0, 2), (2.0, 8.0, 3)]


def test_a_level_is_a_plan() -> None:
    assert Level(2.0, 5.0, 3).plan().level == {"spawn_min": 2.0, "spawn_max": 5.0, "obstacles": 3.0}
