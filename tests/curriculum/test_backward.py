"""Backward starts: the end of the way first, earlier as that works, and that saving loses nothing."""

from __future__ import annotations

import json

import numpy as np

from holdfast.curriculum.backward import BACK, TRIES, WINDOW, Backward
from holdfast.curriculum.starts import StartsSettings
from tests.curriculum.test_starts import KEYS, standing

LENGTH = 40


def following(share: float = 1.0) -> Backward:
    found = Backward(StartsSettings(share=share, explore=1, backward=True), 8)
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
    assert found.frontier == LENGTH - WINDOW
    practise(found, 4 * TRIES, cleared=True)
    assert found.frontier < LENGTH - WINDOW and (found.frontier - LENGTH + WINDOW) % BACK == 0
    begun = practise(found, 40, cleared=False)
    inside = [place for place in begun if place < found.frontier + WINDOW]
    assert min(begun) >= found.frontier and len(inside) > len(begun) / 2, "most in the window, some later on the way"
    practise(found, 60 * TRIES, cleared=True)
    assert found.frontier == 0 and found.way_left == 0.0


def test_what_fails_is_practised_where_it_is() -> None:
    found = following()
    practise(found, 10 * TRIES, cleared=False)
    assert found.frontier == LENGTH - WINDOW and found.tried < TRIES


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


def test_saving_loses_nothing() -> None:
    first = following()
    practise(first, 3 * TRIES, cleared=True)
    first.draw(np.arange(8), KEYS, np.arange(8))
    again = Backward(first.settings, 8)
    again.restore(json.loads(json.dumps(first.facts())), first.arrays())
    assert again.facts() == first.facts()
    assert practise(again, 50, cleared=True) == practise(first, 50, cleared=True)
    assert again.facts() == first.facts()
