"""Backward starts: the end of the way first, earlier as that works, and that saving loses nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from holdfast.curriculum.starts import StartsSettings
from holdfast.games.mario.backward import LONGEST_STEP, PATIENCE, STRETCH, TRIES, WINDOW, Along, Backward
from tests.games.mario.test_starts import KEYS, standing

LENGTH = 200


def following(share: float = 1.0, kind: type[Backward] = Backward) -> Backward:
    found = kind(StartsSettings(share=share, explore=1, backward=True), 8)
    found.follow([(0, 10 * number, {"console": np.full((1, 1), number, np.uint8)}) for number in range(LENGTH)])
    return found


def practise(found: Backward, episodes: int, cleared: bool) -> list[int]:
    """Episodes of lane 0, one after the other; where they began."""
    begun = []
    for number in range(episodes):
        found.draw(np.array([0]), KEYS, np.full(8, number))
        moment = found.begun[0]
        assert moment is not None
        begun.append(moment.place)
        found.ended(0, cleared, 0, 5000)
    return begun


def test_episodes_begin_near_the_end_and_ever_earlier_while_they_clear() -> None:
    found = following()
    assert min(practise(found, 20, cleared=False)) >= LENGTH - WINDOW
    practise(found, 4 * TRIES, cleared=True)
    assert found.frontier < LENGTH - 2 * WINDOW and found.step > WINDOW, "by longer and longer steps"
    begun = practise(found, 20, cleared=False)
    inside = [place for place in begun if place < found.frontier + found.window]
    assert min(begun) >= found.frontier and len(inside) > len(begun) / 2, "most at the frontier, some later on the way"
    practise(found, 60 * TRIES, cleared=True)
    assert found.frontier == 0 and found.way_left == 0.0 and found.step == LONGEST_STEP


def test_what_fails_is_practised_nearer_to_the_end_by_half_steps() -> None:
    found = following()
    practise(found, 5 * TRIES, cleared=True)
    found.tried, found.won = 0, 0
    stood, step = found.frontier, found.step
    practise(found, 2 * PATIENCE * TRIES, cleared=False)
    assert stood < found.frontier <= stood + step and found.step < step
    practise(found, 40 * PATIENCE * TRIES, cleared=False)
    assert found.step == 1 and found.frontier < LENGTH


def test_episodes_from_the_start_fade_the_share() -> None:
    found = following(share=0.5)
    for _ in range(200):
        found.ended(3, True, 0, 5000)
    assert found.clear_rate > 0.9 and found.share < 0.05 and found.frontier == LENGTH - WINDOW


def test_without_a_way_places_are_chosen_as_ever() -> None:
    found = Backward(StartsSettings(share=1.0, explore=1, backward=True), 8)
    found.keep(*standing((1, 0, 70)))
    assert [one.x for one in found.moments] == [70] and found.draw(np.array([0]), KEYS, np.arange(8))
    assert found.way_left == 1.0
    led = following()
    led.keep(*standing((1, 0, 70)))
    assert len(led.moments) == LENGTH, "a way is not mixed with other moments"


def test_along_a_way_episodes_begin_most_where_it_is_open_what_comes_of_them() -> None:
    found = following(kind=Along)
    begun = np.array(practise(found, 200, cleared=False))
    assert np.bincount(begun * 4 // LENGTH, minlength=4).min() > 30 and found.way_left == 0.0, "everywhere at first"
    for stretch, tally in found.tallies.items():  # the first half always leads on, the last quarter never does
        tally.tried, tally.won = 20.0, 20.0 if stretch < 6 else 10.0 if stretch < 9 else 0.0
    begun = np.array(practise(found, 20, cleared=False))
    assert ((begun >= 6 * STRETCH) & (begun < 9 * STRETCH)).mean() > 0.5
    for _ in range(100):
        found.keep(*standing((1, 0, 70)))
    assert found.tallies[0].tried < 0.01 and len(found.moments) == LENGTH
    unled = Along(StartsSettings(share=1.0, explore=1, along=True), 8)
    unled.keep(*standing((1, 0, 70)))
    assert unled.draw(np.array([0]), KEYS, np.arange(8)), "without a way as ever"


def test_along_a_way_the_next_room_is_success() -> None:
    found = following(kind=Along)
    for room in (0, 1):
        found.draw(np.array([0]), KEYS, np.full(8, room))
        moment = found.begun[0]
        assert moment is not None
        tally = found.tallies[moment.place // STRETCH]
        before = tally.won
        found.ended(0, False, room, 5000)
        assert tally.won == before + room


@pytest.mark.parametrize("kind", [Backward, Along])
def test_saving_loses_nothing(kind: type[Backward]) -> None:
    first = following(kind=kind)
    practise(first, 3 * TRIES, cleared=True)
    first.draw(np.arange(8), KEYS, np.arange(8))
    again = kind(first.settings, 8)
    again.restore(json.loads(json.dumps(first.facts())), first.arrays())
    assert again.facts() == first.facts()
    assert practise(again, 50, cleared=True) == practise(first, 50, cleared=True)
    assert again.facts() == first.facts()
