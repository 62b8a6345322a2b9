"""The game on nes_py: the same facts, rewards and ends as on our console, in real processes that may be lost."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from holdfast.config.reading import load_config
from holdfast.games.mario.world import facts
from holdfast.games.mario.world.actions import BITS
from holdfast.games.mario.world.emulated import EmulatedMario, refuse
from holdfast.games.mario.world.play import DEATH, WORKER
from holdfast.games.mario.world.rom import open_rom
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.games.mario.world.starts import Lane, make_game, start_row, title_lane
from holdfast.kit.errors import ConfigError, SnapshotUnsupported
from holdfast.worlds.registry import make_world
from holdfast.worlds.workers.supervisor import Supervisor
from tests.worlds.workers.places import supervisor

WALK, RUN = 1, 3
SETTINGS = MarioSettings(backend="nes_py", noop_max=0)


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory, real_rom: str) -> Iterator[Supervisor]:
    """One supervisor for all: a world leaves its workers, booted, to the next."""
    if importlib.util.find_spec("nes_py") is None:
        pytest.skip("nes-py is not installed")
    with supervisor(tmp_path_factory.mktemp("workers")) as made:
        yield made


@pytest.fixture
def world(boss: Supervisor) -> Iterator[EmulatedMario]:
    made = make_world("mario", SETTINGS, 2, seed=3, supervisor=boss)
    assert isinstance(made, EmulatedMario)
    yield made
    made.close()


def step(made: EmulatedMario, *actions: int) -> None:
    made.step({"player": np.array(actions)[:, None]})


def walk_to_the_end(made: EmulatedMario) -> dict[str, float]:
    """Lane 0 walks into the first enemy; its numbers then."""
    while not made.terminated[0]:
        step(made, WALK, 0)
    table = made.finished()
    return {name: float(values[0]) for name, values in table.columns.items()}


def test_walking_into_the_first_enemy_is_the_same_episode_as_on_our_console(world: EmulatedMario) -> None:
    """nes_py ends its frames inside the game's interrupt handler: what it shows is up to a frame apart."""
    world.reset()
    assert (facts.x(world.state.console[0]), facts.clock(world.state.console[0])) == (40, 400)
    there = walk_to_the_end(world)
    rom = open_rom()
    game = make_game(rom)
    lane, furthest = Lane(game, start_row(title_lane(rom, game), 0)), 40
    while not facts.dying(lane.row):
        furthest = max(furthest, int(facts.x(lane.row)))
        lane.press(BITS["RIGHT"])
    assert there["reason"] == DEATH and there["length"] == -(-lane.frames // 4)
    assert abs(there["max_x"] - furthest) <= 2 and there["clock_left"] == facts.clock(lane.row)
    assert there["raw_return"] == there["max_x"] - 40 - (400 - there["clock_left"]) - 15  # pixels, ticks, the death
    assert world.draw(0).shape == (240, 384, 3) and world.draw(0).std() > 30
    assert "nes_py" not in sys.modules  # nothing of it in this process


def test_a_restored_world_goes_on_as_the_saved_one(world: EmulatedMario, boss: Supervisor) -> None:
    world.reset()
    for _ in range(12):
        step(world, RUN, WALK)
    other = make_world("mario", SETTINGS, 2, seed=4, supervisor=boss)
    assert isinstance(other, EmulatedMario)
    try:
        assert other.restore({name: array.copy() for name, array in world.arrays().items()}) == []
        for _ in range(4):
            step(world, RUN, RUN)
            step(other, RUN, RUN)
            assert (world.player.obs == other.player.obs).all() and (world.player.reward == other.player.reward).all()
        assert (world.state.console == other.state.console).all()
        broken = {name: array.copy() for name, array in world.arrays().items()}
        broken["history"][3] = BITS["LEFT"]
        assert "lanes [0] begin new episodes" in other.restore(broken)[0]
        assert other.clock.t.tolist() == [0, world.clock.t[1]]
    finally:
        other.close()


def test_a_lost_worker_cuts_its_episode_and_nothing_else(world: EmulatedMario) -> None:
    world.reset()
    for _ in range(3):
        step(world, WALK, WALK)
    before, x = world.player.obs[0].copy(), facts.x(world.state.console[1])
    os.kill(world.consoles.crew.workers[0].pid, signal.SIGKILL)
    step(world, WALK, WALK)
    assert world.lost.tolist() == world.truncated.tolist() == [True, False] and not world.terminated.any()
    assert (world.player.final_obs[0] == before).all() and world.player.reward[0, 0] == 0.0
    table = world.finished()
    assert (table["end_worker"].tolist(), table["reason"].tolist(), table["length"].tolist()) == (
        [1.0],
        [WORKER],
        [4.0],
    )
    assert facts.x(world.state.console[1]) > x and facts.x(world.state.console[0]) == 40
    step(world, WALK, WALK)
    assert not world.lost.any() and world.clock.t.tolist() == [1, 5]


def test_what_only_our_console_can_do_is_refused(world: EmulatedMario, tmp_path: Path) -> None:
    with pytest.raises(SnapshotUnsupported, match="console can"):
        world.save(np.array([0]))
    with pytest.raises(ConfigError) as told:
        refuse(MarioSettings(backend="nes_py", obs="pixels", auto_start=False, rom="own"))
    assert len(told.value.problems) == 3


def test_a_preset_made_for_the_console_gets_as_many_lanes_as_workers_should_have() -> None:
    assert load_config("mario-1-1", [])[0].rollout.lanes == 64
    assert load_config("mario-1-1", ["--backend", "nes_py"])[0].rollout.lanes == 8
    assert load_config("mario-1-1", ["--backend", "nes_py", "--rollout.lanes", "4"])[0].rollout.lanes == 4
