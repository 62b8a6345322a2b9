"""Steps per second of self-play, collecting and learning together: one thread by its CPU time, two by the clock.

    python benchmarks/pursuit_training.py [ITERATIONS]

`agent steps` are decisions of a role that learns; `world steps` are those times `world.hold`. The earlier project's
figures are its steps per second with 4 environments of 512 steps, minibatches of 256 and 10 epochs; `same network and
epochs` has its network, epochs and minibatches. Two threads say something only on a quiet machine. Writes
benchmarks/results/pursuit_training.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from holdfast.config.reading import load_config
from holdfast.run import open_run
from holdfast.runs.folder import create_run
from holdfast.train import collect_and_learn
from holdfast.views.terminal import Quiet

RESULT = Path(__file__).parent / "results" / "pursuit_training.json"
WARM_UP = 2  # iterations that are not counted
SAME = ["--duel.cold_start=none", "--duel.warm_start=false", "--rollout.lanes=32"]
FLAT = ["--world.obs=flat", "--world.filter=none", "--policy.network=mlp"]
HALF = ["--learner.amp=bf16"]


class Case(NamedTuple):
    """What is measured, and what it is compared with."""

    preset: str
    words: list[str]
    earlier: int  # steps per second
    target: int
    threads: int = 1


CASES = {
    "own recipe, flat": Case("pursuit-flat", [], 461, 50_000),
    "own recipe, sensors": Case("pursuit", [], 146, 10_000),
    "same network and epochs, flat": Case("pursuit-v", [*SAME, *FLAT], 461, 5_000),
    "same network and epochs, sensors and filter": Case("pursuit-v", SAME, 146, 1_500),
    "the same on two threads": Case("pursuit-v", SAME, 146, 1_500, threads=2),
    "the same in half precision": Case("pursuit-v", [*SAME, *HALF], 146, 1_500),
    "the same in half precision on two threads": Case("pursuit-v", [*SAME, *HALF], 146, 1_500, threads=2),
}


def measure(case: Case, iterations: int) -> tuple[float, float]:
    """Agent steps and world steps per second."""
    now = time.process_time if case.threads == 1 else time.perf_counter
    with tempfile.TemporaryDirectory() as root:
        own = [f"--run.root={root}", f"--rollout.threads={case.threads}", "--evaluation.every=0"]
        config, _ = load_config(case.preset, [*case.words, *own, "--run.tensorboard=false"])
        run = open_run(config, create_run(config, case.preset, ["benchmark"]), Quiet())
        run.curriculum.begin(run, True)
        begun = done = 0.0
        for iteration in range(iterations + WARM_UP):
            if iteration == WARM_UP:
                begun, done = now(), run.state.counts.agent_steps
            plan = run.curriculum.plan(run)
            played = [collect_and_learn(run, seat, plan) for seat in plan.seats]
            run.curriculum.observe(run, played, run.count(played))
        rate = (run.state.counts.agent_steps - done) / (now() - begun)
        return rate, rate * config.world.hold


def main(iterations: int) -> None:
    table = {}
    for name, case in CASES.items():
        agent, world = measure(case, iterations)
        table[name] = {
            "threads": case.threads,
            "agent_steps_per_s": agent,
            "world_steps_per_s": world,
            "earlier": case.earlier,
            "target": case.target,
        }
        told = f"{agent:,.0f} agent steps, {world:,.0f} world steps per {'CPU-s' if case.threads == 1 else 's'}"
        print(f"{name:46} {told} (target {case.target:,}, earlier {case.earlier:,})", flush=True)
    RESULT.write_text(json.dumps({"iterations": iterations, "cases": table}, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
