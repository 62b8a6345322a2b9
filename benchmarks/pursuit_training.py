"""Steps per CPU-second of self-play, collecting and learning together, one thread.

    python benchmarks/pursuit_training.py [ITERATIONS]

`agent steps` are decisions of a role that learns; `world steps` are those times `world.hold`. The earlier project's
figures are its steps per second with 4 environments of 512 steps, minibatches of 256 and 10 epochs; `same network and
epochs` has its network, epochs and minibatches. Writes benchmarks/results/pursuit_training.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from holdfast.config_reading import load_config
from holdfast.runs.folder import create_run
from holdfast.selfplay.duel import Duel
from holdfast.selfplay.turns import begin_turn, end_turn
from holdfast.views.terminal import Quiet

RESULT = Path(__file__).parent / "results" / "pursuit_training.json"
WARM_UP = 2  # iterations that are not counted
SAME = ["--duel.cold_start=none", "--duel.warm_start=false", "--rollout.lanes=32"]
FLAT = ["--world.obs=flat", "--world.filter=none", "--policy.network=mlp"]
CASES: dict[str, tuple[str, list[str], int, int]] = {  # preset, options, earlier steps/s, target of steps per second
    "own recipe, flat": ("pursuit-flat", [], 461, 50_000),
    "own recipe, sensors": ("pursuit", [], 146, 10_000),
    "same network and epochs, flat": ("pursuit-v", [*SAME, *FLAT], 461, 5_000),
    "same network and epochs, sensors and filter": ("pursuit-v", SAME, 146, 1_500),
}


def measure(preset: str, words: list[str], iterations: int) -> tuple[float, float]:
    """Agent steps and world steps per CPU-second."""
    with tempfile.TemporaryDirectory() as root:
        own = [f"--run.root={root}", "--rollout.threads=1", "--evaluation.every=0", "--run.tensorboard=false"]
        config, _ = load_config(preset, [*words, *own])
        duel = Duel(config, create_run(config, preset, ["benchmark"]), Quiet())
        begun = done = 0.0
        for iteration in range(iterations + WARM_UP):
            if iteration == WARM_UP:
                begun, done = time.process_time(), duel.state.counts.agent_steps
            if duel.state.book.turn is None:
                begin_turn(duel.state, duel.ladder, duel.tell)
            duel.learn()
            if duel.state.book.turn is not None and duel.state.book.turn.left <= 0:
                end_turn(duel.state, duel.tell)
        rate = (duel.state.counts.agent_steps - done) / (time.process_time() - begun)
        return rate, rate * config.world.hold


def main(iterations: int) -> None:
    table = {}
    for name, (preset, words, earlier, target) in CASES.items():
        agent, world = measure(preset, words, iterations)
        table[name] = {
            "agent_steps_per_cpu_s": agent,
            "world_steps_per_cpu_s": world,
            "earlier": earlier,
            "target": target,
        }
        told = f"{agent:,.0f} agent steps, {world:,.0f} world steps per CPU-s"
        print(f"{name:46} {told} (target {target:,}, earlier {earlier:,})", flush=True)
    RESULT.write_text(json.dumps({"iterations": iterations, "threads": 1, "cases": table}, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
