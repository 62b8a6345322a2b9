"""Steps per CPU-second of the pursuit world alone, one thread, beside the figures of the project it replaces.

    python benchmarks/pursuit_world.py [REPEATS]

A step is one world step of one duel with both sides' observations and rewards, restarts included, under random
actions. The earlier project's figures (one environment, one thread, a 2-core machine; sensors for one side only) and
the targets per core are from its measurements. Contenders take turns. Writes benchmarks/results/pursuit_world.json.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.bench.rounds import spread, take_turns
from holdfast.games.pursuit.world.pursuit import Pursuit
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.worlds.api import random_policy

LANES = 1024
STEPS = 200
RESULT = Path(__file__).parent / "results" / "pursuit_world.json"
FREE: dict[str, Any] = {"filter": "none"}

CASES: dict[str, tuple[dict[str, Any], int, int]] = {  # settings, the earlier project's steps/s, target per core
    "flat, no circles": ({**FREE, "obs": "flat"}, 10_128, 1_000_000),
    "flat, 3 circles": ({**FREE, "obs": "flat", "obstacles": 3}, 4_806, 500_000),
    "masked 8 m, occlusion": (
        {**FREE, "obs": "flat_masked", "sense_radius": 8.0, "fov_deg": 360.0, "obstacles": 3},
        6_869,
        500_000,
    ),
    "sensor, no circles": ({**FREE}, 2_461, 200_000),
    "sensor, 3 circles": ({**FREE, "obstacles": 3}, 1_228, 120_000),
    "sensor and filter, no circles": ({}, 681, 150_000),
    "sensor and filter, 3 circles": ({"obstacles": 3}, 483, 80_000),
}


def contender(options: dict[str, Any]) -> Callable[[], int]:
    world = Pursuit(PursuitSettings(**options), LANES, seed=1, threads=1)
    world.reset()
    actions = random_policy(world)

    def work() -> int:
        for _ in range(STEPS):
            world.step(actions)
        return LANES * STEPS

    return work


def main(repeats: int) -> None:
    rates = take_turns(
        {name: contender(options) for name, (options, _, _) in CASES.items()}, repeats, time.process_time
    )
    table = {}
    print(f"{'case':32} {'steps per CPU-s (low to high)':>36} {'target':>10} {'earlier':>8} {'ratio':>6}")
    for name, (_, earlier, target) in CASES.items():
        found = spread(rates[name])
        table[name] = {**found, "target": target, "earlier": earlier}
        told = f"{found['median']:,.0f} ({found['low']:,.0f} to {found['high']:,.0f})"
        print(f"{name:32} {told:>36} {target:>10,} {earlier:>8,} {found['median'] / earlier:>5.0f}x")
    facts = {"lanes": LANES, "threads": 1, "repeats": repeats, "cores": os.cpu_count(), "machine": platform.processor()}
    facts["load_before"] = round(os.getloadavg()[1], 1)
    RESULT.write_text(json.dumps({**facts, "steps_per_cpu_s": table}, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
