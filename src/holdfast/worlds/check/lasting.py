"""Proofs that nothing is kept outside the arrays: saved, moved and restored lanes all go on as if nothing happened."""

from __future__ import annotations

import numpy as np

from holdfast.worlds.api import ArrayWorld, World
from holdfast.worlds.check.subject import (
    Arrays,
    Broken,
    Subject,
    advance,
    by_lane,
    ended_lanes,
    first_difference,
    rows,
)

# What a lane that has just ended still says of the episode it lost.
OF_THE_END = ("terminated", "truncated", "ended", "ended_key", "reward", "forced", "final_obs", "final_alive")


def _before(subject: Subject) -> int:
    """Steps before the save, so that lanes are in the middle of episodes of different age."""
    return min(5, subject.steps)


def _elsewhere(subject: Subject) -> World:
    """A world of another seed that has already been used."""
    world = subject.begun(seed=subject.seed + 1)
    advance(world, 2)
    return world


def _kept(arrays: Arrays, names: tuple[str, ...]) -> Arrays:
    return {name: array for name, array in arrays.items() if name.split(".")[-1] in names}


def _without_own(arrays: Arrays, world: World) -> Arrays:
    own = world.OWN if isinstance(world, ArrayWorld) else ArrayWorld.OWN
    return {name: array for name, array in arrays.items() if name not in own}


def lanes_load(subject: Subject) -> str:
    world, other = subject.begun(), _elsewhere(subject)
    advance(world, _before(subject))
    backwards = np.arange(subject.lanes)[::-1].copy()  # lane n goes to lane N - 1 - n
    other.load(backwards, world.save(np.arange(subject.lanes)))
    running = np.ones(subject.lanes, bool)
    for step in range(1, subject.steps_past_an_end + 1):
        advance(world)
        advance(other)
        ended = ended_lanes(world)
        mine, theirs = by_lane(world), rows(by_lane(other), backwards)
        _compare(_without_own(mine, world), _without_own(theirs, world), running & ~ended, step)
        _compare(_kept(mine, OF_THE_END), _kept(theirs, OF_THE_END), running & ended, step)
        running &= ~ended
        if not running.any():
            break
    return f"equal for all lanes, {subject.lanes - running.sum()} of {subject.lanes} to the end of the episode"


def _compare(mine: Arrays, theirs: Arrays, lanes: np.ndarray, step: int) -> None:
    chosen = np.flatnonzero(lanes)
    difference = first_difference(rows(mine, chosen), rows(theirs, chosen))
    if difference:
        raise Broken(f"{step} steps after the save, lanes {chosen.tolist()} and their copies differ in {difference}")


def lanes_load_exactly(subject: Subject) -> str:
    world, other = subject.begun(), _elsewhere(subject)
    advance(world, _before(subject))
    backwards = np.arange(subject.lanes)[::-1].copy()
    other.load(backwards, world.save(np.arange(subject.lanes)), exact=True)
    ends = 0
    for step in range(1, subject.steps_past_an_end + 1):
        advance(world)
        advance(other)
        _compare(by_lane(world), rows(by_lane(other), backwards), np.ones(subject.lanes, bool), step)
        ends += int(ended_lanes(world).sum())
    return f"equal over {subject.steps_past_an_end} steps and {ends} ends of episodes"


def world_is_restored(subject: Subject) -> str:
    world, fresh = subject.begun(), subject.make(seed=subject.seed + 1)
    advance(world, _before(subject))
    notes = fresh.restore({name: array.copy() for name, array in world.arrays().items()})
    if notes:
        raise Broken("restored, but not exactly: " + "; ".join(notes))
    _compare_states(world, fresh, 0)
    for step in range(1, subject.steps_past_an_end + 1):
        advance(world)
        advance(fresh)
        _compare_states(world, fresh, step)
    return f"equal over {subject.steps_past_an_end} steps"


def _compare_states(world: World, fresh: World, step: int) -> None:
    """Before the first step the buffers of the last step are not part of a checkpoint; state always is."""
    difference = first_difference(world.arrays(), fresh.arrays())
    if not difference and step:
        difference = first_difference(by_lane(world), by_lane(fresh))
    if difference:
        raise Broken(f"{step} steps after the restore the two worlds differ in {difference}")


def lanes_are_independent(subject: Subject) -> str:
    """Single lanes get the key of their place in the batch, so this holds for worlds that cannot be saved too."""
    batch = subject.begun()
    singles = [subject.make(lanes=1) for _ in range(subject.lanes)]
    for lane, single in enumerate(singles):
        single.clock.lane_key[0] = batch.clock.lane_key[lane]
        single.reset()
    for step in range(subject.steps + 1):
        if step:
            advance(batch)
        whole = by_lane(batch)
        for lane, single in enumerate(singles):
            if step:
                advance(single)
            difference = first_difference(rows(whole, np.array([lane])), by_lane(single))
            if difference:
                raise Broken(f"after {step} steps lane {lane} and the same lane alone differ in {difference}")
    return f"equal over {subject.steps} steps"
