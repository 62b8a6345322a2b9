"""How the cost of a fish grows with its school: fish-steps per second from 25 to 10,000 fish, and beside it the plain
method, which compares every fish with every other one.

    python benchmarks/fish_scaling.py

One thread. Every round of every contender starts from the same saved schools, 60 steps after their start, when they
have spread over the pool; contenders take turns. `cost` is the time of a fish-step, in units of that at 25 fish.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holdfast.bench.rounds import ratio, spread, take_turns
from holdfast.worlds.api import random_policy
from holdfast.worlds.fish.school import NEAREST, NEIGHBOUR_RADIUS
from holdfast.worlds.fish.world import Fish, FishSettings

SCHOOLS = (25, 96, 300, 1000, 3000, 10_000)
FISH_AT_ONCE = 10_000  # so many lanes that each contender moves about as many fish
STEPS = {"world": 10, "plain": 2}
AGE = 60
REPEATS = 7
NEVER = 1 << 30


def aged_world(fish: int) -> Fish:
    world = Fish(FishSettings(fish=fish), lanes=FISH_AT_ONCE // fish, seed=1)
    world.reset()
    for _ in range(AGE):
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
    contenders: dict[str, Callable[[], int]] = {}
    for fish, world in worlds.items():
        contenders[f"world {fish}"] = contender(world, world.rules.large_school, STEPS["world"])
        contenders[f"plain {fish}"] = contender(world, NEVER, STEPS["plain"])
    rates = take_turns(contenders, REPEATS)
    print(f"fish-steps/s, median of {REPEATS} rounds (lowest to highest); {NEAREST} nearest and all neighbours seen")
    print(f"{'fish':>6} {'neighbours':>10} {'world':>28} {'cost':>6} {'plain':>12} {'world/plain':>11}")
    for fish, world in worlds.items():
        ours, plain = rates[f"world {fish}"], rates[f"plain {fish}"]
        rate = spread(ours)
        shown = f"{rate['median']:,.0f} ({rate['low'] / 1e6:.2f}M-{rate['high'] / 1e6:.2f}M)"
        cost = ratio(rates[f"world {SCHOOLS[0]}"], ours)
        print(
            f"{fish:>6} {mean_neighbours(world):>10.1f} {shown:>28} {cost:>6.2f} "
            f"{spread(plain)['median']:>12,.0f} {ratio(ours, plain):>11.1f}"
        )


if __name__ == "__main__":
    main()
