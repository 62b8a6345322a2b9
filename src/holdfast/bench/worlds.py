"""Steps per second of each world's kernels on one thread and on all, with random actions and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from holdfast.bench.rounds import as_table, ratio, take_turns
from holdfast.worlds.api import World, random_policy
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import make_world, own_game, world_class
from holdfast.worlds.template.world import TrackSettings

Case = tuple[str, Any, int, int]  # world, settings, lanes, steps per round


def cases() -> dict[str, Case]:
    """The template, and what each game measures itself by."""
    found: dict[str, Case] = {"template": ("template", TrackSettings(), 65536, 100)}
    for name in OURS:
        for label, (settings, lanes, steps) in own_game(name).speeds.items():
            found[f"{name}_{label}"] = (name, world_class(name).Settings(**settings), lanes, steps)
    return found


def bench_worlds(repeats: int) -> dict[str, Any]:
    """Agent-steps per second (for fish: of living fish)."""
    threads = len(os.sched_getaffinity(0))
    measured = cases()
    contenders: dict[str, Callable[[], int]] = {}
    for name, (world, settings, lanes, steps) in measured.items():
        for count in (1, threads):
            contenders[f"{name}_threads_{count}"] = steps_of(make_world(world, settings, lanes, 1, count), steps)
    rates = take_turns(contenders, repeats)
    ratios = {
        f"ratio_{name}_threads_{threads}": ratio(rates[f"{name}_threads_{threads}"], rates[f"{name}_threads_1"])
        for name in measured
    }
    return {**as_table(rates, "agent_steps_per_s"), **ratios, "repeats": repeats}


def steps_of(world: World, count: int) -> Callable[[], int]:
    world.reset()
    actions = random_policy(world)
    alive = next(iter(world.roles.values())).alive

    def work() -> int:
        done = 0
        for _ in range(count):
            done += int(alive.sum())
            world.step(actions)
        return done

    return work
