"""Speed of the Mario world: steps per second alone, by lanes, threads and sight, with a policy, and in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.bench.rounds import as_table, take_turns
from holdfast.config.reading import load_config
from holdfast.config.sections import Config
from holdfast.games.mario.world.mario import Mario
from holdfast.games.mario.world.rom import find_rom
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.kit.timing import Clock
from holdfast.learner.schedules import pace
from holdfast.learner.update import update
from holdfast.rollout.collect import collect
from holdfast.state import State, initial_state
from holdfast.worlds.api import World, random_policy

LANES, THREADS = (1, 8, 32, 64, 256), (1, 2)
STEPS = 2048  # of all lanes together, per round


def bench_mario(rom: str, repeats: int, blocks: bool) -> dict[str, Any]:
    """Median rates with their spread; a step is four frames of the console. `blocks`: also with the game's hot paths
    compiled."""
    where = find_rom(rom)
    contenders: dict[str, Callable[[], int]] = {}
    for lanes in LANES:
        for threads in THREADS:
            contenders[f"world_{lanes}_lanes_{threads}_threads"] = _world_work(where, lanes, threads, "compact")
    for obs in ("tiles", "pixels"):
        contenders[f"world_{obs}_64_lanes_2_threads"] = _world_work(where, 64, 2, obs)
    for with_blocks in (False, True) if blocks else (False,):
        also = "_with_blocks" if with_blocks else ""
        words = ["--world.rom", where, "--rollout.threads", "2", "--world.blocks", str(with_blocks).lower()]
        config, _ = load_config("mario-1-1", words)
        if with_blocks:
            contenders["world_64_lanes_2_threads_with_blocks"] = _world_work(where, 64, 2, "compact", blocks=True)
        contenders[f"world_and_policy_64_lanes{also}"] = _collecting(initial_state(config))
        contenders[f"training_64_lanes{also}"] = _training(config, initial_state(config))
    words = ["--world.rom", where, "--rollout.threads", "2", "--rollout.steps", "32"]
    config, _ = load_config("mario-pixels", words)
    contenders["training_pixels_32_lanes"] = _training(config, initial_state(config))
    return {"rom": where, **as_table(take_turns(contenders, repeats), "steps_per_s")}


def _world_work(rom: str, lanes: int, threads: int, obs: Any, blocks: bool = False) -> Callable[[], int]:
    world = Mario(MarioSettings(rom=rom, obs=obs, blocks=blocks), lanes, seed=1, threads=threads)
    world.reset()
    return lambda: _play(world, max(1, STEPS // lanes))


def _play(world: World, steps: int) -> int:
    for _ in range(steps):
        world.step(random_policy(world))
    return steps * world.lanes


def _collecting(state: State) -> Callable[[], int]:
    def work() -> int:
        collect(state.world, state.learners, state.seat.batches, state.seat.memory, state.seat.actions, Clock())
        return sum(batch.steps * batch.rows for batch in state.seat.batches.values())

    return work


def _training(config: Config, state: State) -> Callable[[], int]:
    collecting = _collecting(state)

    def work() -> int:
        done = collecting()
        for role, learner in state.learners.items():
            update(learner, state.seat.batches[role], pace(learner.config, 0, 1), state.shuffle)
        return done

    return work
