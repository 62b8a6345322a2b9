"""How the cost of a fish grows with its school, from 25 to 10,000 fish, in two ways: in a pool that grows with the
school, so that each fish keeps its few neighbours; and in the usual pool, which gets ever more crowded. Beside the
latter the plain method, which compares every fish with every other one.

    python benchmarks/fish_scaling.py

One thread. Every round of every contender starts from the same saved schools; contenders take turns. In the usual pool
schools are 60 steps old and have spread over it; in the growing one they are spread evenly. `cost` is the time of a
fish-step, in units of that at 25 fish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from holdfast.bench.rounds import ratio, spread, take_turns
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.games.fish.world.school import NEAREST, NEIGHBOUR_RADIUS, POOL_RADIUS
from holdfast.worlds.api import random_policy

SCHOOLS = (25, 96, 300, 1000, 3000, 10_000)
FISH_AT_ONCE = 10_000  # so many lanes that each contender moves about as many fish
STEPS = {"roomy": 10, "world": 10, "plain": 2}
AGE = 60
REPEATS = 7
NEVER = 1 << 30


def aged_world(fish: int) -> Fish:
    world = Fish(FishSettings(fish=fish), lanes=FISH_AT_ONCE // fish, seed=1)
    world.reset()
    for _ in range(AGE):
        world.step(random_policy(world))
    return world


def roomy_world(fish: int) -> Fish:
    """As much water for each fish as 25 have in the usual pool."""
    radius = POOL_RADIUS * math.sqrt(fish / SCHOOLS[0])
    world = Fish(FishSettings(fish=fish, pool_radius=radius), lanes=FISH_AT_ONCE // fish, seed=1)
    world.reset()
    generator = np.random.default_rng(1)
    distance = radius * np.sqrt(generator.random((world.lanes, fish)))
    bearing = 2.0 * np.pi * generator.random((world.lanes, fish))
    world.state.fish_pos[...] = np.stack([distance * np.cos(bearing), distance * np.sin(bearing)], axis=-1)
    for _ in range(3):
        world.step(random_policy(world))
    return world


def contender(world: Fish, large_school: int, steps: int) -> Callable[[], int]:
    everyone = np.arange(world.lanes)
    start = world.save(everyone)
    actions = random_policy(world)
    rules = world.rules._replace(large_school=large_school)

    def work() -> int:
        world.rules = rules
        world.load(everyone, start)
        done = 0
        for _ in range(steps):
            done += int(world.fish.alive.sum())
            world.step(actions)
        return done

    return work


def mean_neighbours(world: Fish) -> float:
    place = world.state.fish_pos[0][world.fish.alive[0]].astype(np.float64)
    sample = place[:: max(1, len(place) // 300)]
    gap = ((sample[:, None] - place[None]) ** 2).sum(axis=2)
    return float((gap <= NEIGHBOUR_RADIUS**2).sum(axis=1).mean() - 1.0)


def main() -> None:
    worlds = {fish: aged_world(fish) for fish in SCHOOLS}
    roomy = {fish: roomy_world(fish) for fish in SCHOOLS}
    contenders: dict[str, Callable[[], int]] = {}
    for fish, world in worlds.items():
        contenders[f"roomy {fish}"] = contender(roomy[fish], world.rules.large_school, STEPS["roomy"])
        contenders[f"world {fish}"] = contender(world, world.rules.large_school, STEPS["world"])
        contenders[f"plain {fish}"] = contender(world, NEVER, STEPS["plain"])
    rates = take_turns(contenders, REPEATS)
    print(f"fish-steps/s, median of {REPEATS} rounds (lowest to highest); {NEAREST} nearest and all neighbours seen")
    print("a pool that grows with the school")
    print(f"{'fish':>6} {'neighbours':>10} {'world':>28} {'cost':>6}")
    for fish in SCHOOLS:
        print(line(fish, roomy[fish], rates, "roomy"))
    print("the usual pool")
    print(f"{'fish':>6} {'neighbours':>10} {'world':>28} {'cost':>6} {'plain':>12} {'world/plain':>11}")
    for fish in SCHOOLS:
        ours, plain = rates[f"world {fish}"], rates[f"plain {fish}"]
        beside = f"{spread(plain)['median']:>12,.0f} {ratio(ours, plain):>11.1f}"
        print(line(fish, worlds[fish], rates, "world"), beside)


def line(fish: int, world: Fish, rates: Mapping[str, list[float]], kind: str) -> str:
    rate = spread(rates[f"{kind} {fish}"])
    shown = f"{rate['median']:,.0f} ({rate['low'] / 1e6:.2f}M-{rate['high'] / 1e6:.2f}M)"
    cost = ratio(rates[f"{kind} {SCHOOLS[0]}"], rates[f"{kind} {fish}"])
    return f"{fish:>6} {mean_neighbours(world):>10.1f} {shown:>28} {cost:>6.2f}"


if __name__ == "__main__":
    main()
