"""Exploring finds ways through a stage that random play from its start does not, the same ones for the same seed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from holdfast.games.mario.exploring import NO_PRESS, Cell, Explored, Explorer, Place, lineage, press_chances
from holdfast.games.mario.world.mario import CLEARED, Mario
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.kit.rng import numpy_generator
from holdfast.worlds.api import Situation, random_policy


def world(seed: int = 1) -> Mario:
    return Mario(MarioSettings(rom="own", stages="1-1", stagnation_terminal=True), lanes=16, seed=seed)


def explorer(seed: int) -> Explorer:
    return Explorer(world(), numpy_generator(seed, "explore"), reach_px=128)


def explored(seed: int, steps: int = 12_000) -> Explored:
    return explorer(seed).go(steps)


def test_it_comes_further_than_random_play_with_as_many_steps() -> None:
    one = explorer(1)
    found = one.go(12_000)
    plain, furthest = world(), 0.0
    plain.reset()
    for _ in range(found.steps // 16):
        plain.step(random_policy(plain))
        furthest = max(furthest, float(plain.standing()[:, 2].max()))
    assert max(cell.place.x for cell in found.cells) > furthest
    assert one.on_the_way()


def test_the_same_seed_finds_the_same_ways() -> None:
    first, again, other = ([cell.place[:3] for cell in explored(seed, 3000).cells] for seed in (1, 1, 2))
    assert first == again != other


def test_cells_of_cleared_ways_are_chosen_and_others_only_while_there_is_none() -> None:
    start = Cell(Place(0, 0, 176, {}), None, leads_on=True)
    right, wrong = Cell(Place(0, 300, 176, {}), start), Cell(Place(0, 310, 64, {}), start, leads_on=True)
    end = Cell(Place(0, 600, 176, {}), right)
    one = explorer(1)
    one.found = Explored([start, right, wrong, end])
    assert [place.x for place in one.on_the_way()] == [0, 310]
    one.found.ends.append(end)
    assert sorted(place.x for place in one.on_the_way()) == [0, 300, 600]
    assert lineage(end) == [end, right, start] and one.found.shortest() == [start, right, end]


def test_a_way_is_retraced_step_by_step() -> None:
    """Whoever presses at each moment what was pressed there stands at the next one."""
    one = explorer(2)
    found = one.go(6000)
    late = max(found.cells, key=lambda cell: len(lineage(cell)))
    found.ends = [late]
    way = one.way()
    assert way[-1] == (late.place, NO_PRESS)
    assert len(way) == 1 + sum(len(cell.presses) for cell in lineage(late)[:-1])
    for before, after in pairwise(way):
        one.world.begin_from(np.array([0]), Situation(one.world.spec.name, one.world.spec.version, before.place.rows))
        one.world.step({"player": np.full((one.world.lanes, 1), before.press)})
        assert one.world.standing()[0, 1:].tolist() == list(after.place[:3])


def test_presses_lead_to_the_right() -> None:
    chances = press_chances((0x00, 0x80, 0x40, 0x01))
    assert chances.sum() == pytest.approx(1.0)
    assert int(np.argmax(chances)) == 1 and chances[2] == chances[0] < chances[3]


def test_a_found_moment_can_be_played_from() -> None:
    found, again = explored(1, 3000), world(2)
    again.reset()
    place = found.cells[-1].place
    again.begin_from(np.array([0]), Situation(again.spec.name, again.spec.version, place.rows))
    assert again.standing()[0, 1:].tolist() == list(place[:3])
    assert again.clock.ended[0, CLEARED] == 0.0
