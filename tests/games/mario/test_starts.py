"""Start states: which moments are kept, what makes one likely, how the share fades, and that saving loses nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.curriculum.starts import Starts, StartsSettings, Tally
from holdfast.worlds.api import Situation

KEYS = np.arange(1, 9, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def standing(*places: tuple[int, int, int], y: int = 176) -> tuple[np.ndarray, Situation]:
    rows = {"console": np.arange(len(places), dtype=np.uint8)[:, None]}
    return np.array([(*place, y) for place in places], np.int64), Situation("mario", 1, rows)


def starts(lanes: int = 8, **options: float) -> Starts:
    return Starts(StartsSettings(**{"share": 1.0, **options}), lanes)  # type: ignore[arg-type]


def test_only_lanes_in_control_are_kept_each_in_the_bin_of_its_room() -> None:
    found = starts()
    found.keep(*standing((1, 0, 70), (0, 0, 900), (1, 1, 70)))
    assert [(one.room, one.x, int(one.rows["console"][0, 0])) for one in found.moments] == [(0, 70, 0), (1, 70, 2)]
    assert found.moments[0].place != found.moments[1].place


def test_another_storey_is_another_bin() -> None:
    found = starts(keep=1)
    for y in (64, 176, 40, 66):
        found.keep(*standing((1, 0, 70), y=y))
    assert len(found.moments) == 3, "64 and 66 are the same storey"


def test_who_was_sent_back_by_a_maze_has_not_succeeded_however_far_he_came() -> None:
    found = starts()
    found.keep(*standing((1, 0, 100)))
    for looped in (True, False):
        found.draw(np.array([0]), KEYS, np.arange(8))
        found.ended(0, False, 0, 900, looped)
    [tally] = found.tallies.values()
    assert (tally.tried, tally.won) == (2.0, 1.0)


def test_a_full_bin_gives_up_its_oldest_moment() -> None:
    found = starts(keep=2)
    for x in (64, 65, 66):
        found.keep(*standing((1, 0, x)))
    assert [one.x for one in found.moments] == [65, 66]


def test_what_led_on_keeps_half_of_a_full_bin() -> None:
    found = starts(keep=4)
    for x in (64, 65):
        found.seed(0, x, 0, {})
    for x in range(66, 80):
        found.keep(*standing((1, 0, x), y=0))
    assert [one.x for one in found.moments] == [64, 65, 78, 79]
    for x in (80, 81):
        found.moments[-1].won = 1
        found.keep(*standing((1, 0, x), y=0))
    assert [one.x for one in found.moments] == [78, 79, 80, 81], "of more than half, the oldest goes like any other"


@given(st.floats(0, 50), st.floats(0, 1))
def test_a_bin_where_half_succeed_weighs_most(tried: float, share: float) -> None:
    assert Tally(tried, share * tried).weight <= Tally(tried, 0.5 * tried).weight + 1e-12


def test_what_always_or_never_works_is_seldom_dealt() -> None:
    found = starts()
    found.keep(*standing((1, 0, 0), (1, 0, 640), (1, 0, 1280)))
    for place, (tried, won) in zip(sorted(found.tallies), ((98.0, 98.0), (98.0, 49.0), (98.0, 0.0)), strict=True):
        found.tallies[place] = Tally(tried, won)
    _, chances = found.chances()
    assert chances[1] > 0.9


@pytest.mark.parametrize(
    ("cleared", "room", "room_x", "won"),
    [(False, 0, 227, 0), (False, 0, 228, 1), (False, 1, 10, 1), (True, 0, 100, 1)],
    ids=["short of it", "far enough", "a new room", "cleared"],
)
def test_an_episode_succeeds_by_ground_room_or_flag(cleared: bool, room: int, room_x: int, won: int) -> None:
    found = starts(lanes=1)
    found.keep(*standing((1, 0, 100)))
    [(lane, moment)] = found.draw(np.array([0]), KEYS, np.ones(8))
    found.ended(lane, cleared, room, room_x)
    assert (moment.tried, moment.won) == (1, won)
    assert found.clear_rate == 0.0, "an episode that began elsewhere says nothing of the level's start"


def test_a_hopeless_moment_is_dropped() -> None:
    found = starts(lanes=1, hopeless=3)
    found.keep(*standing((1, 0, 100)))
    for episode in range(3):
        assert found.draw(np.array([0]), KEYS, np.full(8, episode))
        found.ended(0, False, 0, 100)
    assert not found.moments
    assert not found.draw(np.array([0]), KEYS, np.full(8, 3))


def test_the_share_fades_as_the_level_is_cleared() -> None:
    found = starts(share=0.5)
    for _ in range(300):
        found.ended(0, True, 0, 3000)
    assert found.share < 0.01
    found.keep(*standing((1, 0, 100)))
    assert len(found.draw(np.arange(8), KEYS, np.ones(8))) == 0


def test_saved_and_taken_back_it_deals_the_same() -> None:
    first = starts(hopeless=1)
    first.keep(*standing((1, 0, 10), (1, 0, 700), (1, 2, 90)))
    first.draw(np.arange(4), KEYS, np.ones(8))
    first.ended(0, False, 0, 0)  # drops a moment that other lanes may still play from
    second = starts(hopeless=1)
    second.restore(json.loads(json.dumps(first.facts())), first.arrays())
    for episode in range(2, 6):
        for some in (first, second):
            for lane in range(4):
                some.ended(lane, False, 1, 100)
        dealt = [some.draw(np.arange(4), KEYS, np.full(8, episode)) for some in (first, second)]
        one, other = ([(lane, moment.place, moment.tried) for lane, moment in some] for some in dealt)
        assert one == other
    assert first.facts() == second.facts()
    assert all(np.array_equal(array, second.arrays()[name]) for name, array in first.arrays().items())


def test_focus_sharpens_the_choice_of_bins() -> None:
    chances = {}
    for focus in (0.0, 1.0, 3.0):
        found = starts(focus=focus)
        found.keep(*standing((1, 0, 0), (1, 0, 640), (1, 0, 1280)))
        for place, (tried, won) in zip(sorted(found.tallies), ((20.0, 10.0), (20.0, 19.0), (20.0, 0.0)), strict=True):
            found.tallies[place] = Tally(tried, won)
        chances[focus] = found.chances()[1]
    assert np.allclose(chances[0.0], 1 / 3)
    assert chances[3.0][0] > chances[1.0][0] > 1 / 3
