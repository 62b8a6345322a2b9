"""Proofs that need a way through a level: the flag, the castle, a pit and a pipe, found by search and played again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holdfast.games.mario.world import facts, play
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.doctor import Patient
from holdfast.games.mario.world.mario import Mario
from holdfast.games.mario.world.play import REASONS
from holdfast.games.mario.world.rom import OWN
from holdfast.games.mario.world.search import CANDIDATES, Found, Search, find_clear, replay
from holdfast.games.mario.world.stages import NUMBER
from holdfast.games.mario.world.starts import Game, Lane

PIPE_APPROACH = {True: (90, 126), False: (850, 908)}  # x before the first pipe that leads down, own cartridge or not
PIPE_ROUNDS = 200
PIT_LANES, PIT_STEPS = 64, 600


def flag(patient: Patient) -> str:
    world = patient.world(actions="simple")
    found = find_clear(world, NUMBER["1-1"])
    assert found is not None, "the search did not clear 1-1"
    low, high = patient.expected.flag_x
    assert found.reason == play.FLAG and low <= found.x <= high, f"{REASONS[found.reason]} at x {found.x}"
    assert replay(world, found) == (found.reason, found.x), "the press list does not replay to the same end"
    ended = _play(world, found)
    assert ended == play.FLAG, f"the world ends the same presses by {REASONS[ended]}"
    patient.reasons.add(ended)
    return f"1-1 cleared at x {found.x} in {len(found.presses)} frames; the press list replays"


def _play(world: Mario, found: Found) -> int:
    """The reason with which the world itself ends a press list (its presses are whole steps)."""
    world.reset()
    ids = [world.buttons.index(held) for held in found.presses[:: world.settings.frame_skip].tolist()]
    for action in ids:
        world.step({"player": np.full((1, 1), action, np.int64)})
        if world.terminated[0] or world.truncated[0]:
            return int(world.finished()["reason"][0])
    return play.GOES_ON


def castle(patient: Patient) -> str:
    world = patient.world(actions="simple", stages="1-4")
    found = find_clear(world, NUMBER["1-4"], star=True)
    assert found is not None, "the search did not clear 1-4"
    low, high = patient.expected.castle_x
    assert found.reason == play.CASTLE and low <= found.x <= high, f"{REASONS[found.reason]} at x {found.x}"
    assert replay(world, found, star=True) == (found.reason, found.x), "the press list does not replay"
    patient.reasons.add(found.reason)
    return f"1-4 cleared at x {found.x} with the star's timer held (for this proof only)"


def pit(patient: Patient) -> str:
    """Many lanes run and jump at random until one falls; new ground must be all the distance it was paid for."""
    world = patient.world(lanes=PIT_LANES, actions="RIGHT+B,RIGHT+A+B", noop_max=30)
    random = np.random.Generator(np.random.Philox(key=[5, 0]))
    weight = world.settings.scale_final * world.settings.distance_weight
    action = np.zeros((PIT_LANES, 1), np.int64)
    for step in range(PIT_STEPS):
        if step % 3 == 0:
            action = random.integers(0, 2, (PIT_LANES, 1))
        world.step({"player": action})
        ended = world.finished()
        for row in np.flatnonzero(ended["reason"] == play.PIT):
            ground = (ended["max_x"][row] - 40) * weight
            assert abs(ended["paid_distance"][row] - ground) < 1e-9, "distance was paid after the fall"
            patient.reasons.add(play.PIT)
            return f"a fall at x {ended['max_x'][row]:.0f} ends by pit; no distance is paid after it"
    raise AssertionError(f"{PIT_LANES} lanes fell into no pit in {PIT_STEPS} steps")


def pipe(patient: Patient) -> str:
    world = patient.world(actions="NOOP,RIGHT,RIGHT+A,RIGHT+B,RIGHT+A+B,DOWN")
    presses = _way_into_pipe(patient, world)
    assert presses is not None, "no way into the pipe was found"
    world.reset()
    ids = [world.buttons.index(held) for held in presses[:: world.settings.frame_skip].tolist()]
    largest = 0.0
    for action in ids:
        world.step({"player": np.full((1, 1), action, np.int64)})
        largest = max(largest, abs(float(world.player.reward[0, 0])))
        if world.state.track[0, play.ROOMS]:
            break
    rooms = int(world.state.track[0, play.ROOMS])
    bound = world.settings.scale_final * (5 * world.settings.frame_skip * (1 + world.settings.distance_weight)) + 0.2
    assert rooms == 1, f"{rooms} rooms were entered"
    assert largest <= bound, f"a step paid {largest:.3f}, more than walking can ({bound:.3f})"
    x = int(facts.x(world.state.console[0]))
    return f"the pipe leads to a second room at x {x}; no step paid more than {largest:.3f}"


def _way_into_pipe(patient: Patient, world: Mario) -> np.ndarray | None:
    """Get near the pipe by search, then try short random moves that end with DOWN."""
    low, high = PIPE_APPROACH[patient.rom.path == OWN]
    search = Search(world, NUMBER["1-1"], seed=2, star=False)
    for _ in range(PIPE_ROUNDS):
        reached = [place for place, (row, _, _) in enumerate(search.trail) if low <= facts.x(row) <= high]
        if reached:
            found = _press_down(search, reached[-1])
            if found is not None:
                return found
            del search.trail[max(1, reached[-1] - 1) :]
        elif facts.x(search.trail[-1][0]) > high:
            del search.trail[max(1, len(search.trail) - 3) :]
        search.round()
    return None


def _press_down(search: Search, place: int) -> np.ndarray | None:
    right, a, b, down = BITS["RIGHT"], BITS["A"], BITS["B"], BITS["DOWN"]
    moves = np.array([right, right | a, right | a | b, 0, right], np.uint8)
    for _ in range(CANDIDATES):
        tried = np.concatenate([np.repeat(search.random.choice(moves, 4), 8), np.full(24, down, np.uint8)])
        row, _, _ = search.trail[place]
        lane = Lane(Game(search.world.fixed.rom, search.world.fixed.code), row)
        for held in tried.tolist():
            lane.press(held)
            if facts.routine(lane.row) == facts.PIPE:
                return np.concatenate([*(part for _, _, part in search.trail[: place + 1]), tried])
    return None


PATH_CHECKS: dict[str, Callable[[Patient], str]] = {"flag": flag, "castle": castle, "pit": pit, "pipe": pipe}
