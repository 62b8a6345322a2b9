"""How fast the fish world is, part by part, beside the earlier project's figures and what was asked for.

    python benchmarks/fish_speed.py

World rows use one thread; the evaluation and the training run use all cores. Contenders take turns; the median of the
rounds counts, with the lowest and the highest beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from holdfast.bench.rounds import spread, take_turns
from holdfast.bench.worlds import steps_of
from holdfast.config.reading import load_config
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.rollout.act import PolicyActor
from holdfast.rollout.evaluate import DURING_RUN, Evaluation, evaluation_keys
from holdfast.state import fresh_learners
from holdfast.worlds.registry import make_world

REPEATS = 5
CASES = {  # name: settings, lanes, steps per round, the earlier project's figure, the one asked for
    "15 fish": (FishSettings(fish=15), 256, 200, 6_100, 4e6),
    "25 fish": (FishSettings(fish=25), 256, 100, 3_990, 3e6),
    "25 fish, density on": (FishSettings(fish=25, reward="classic", density_coef=0.05), 256, 100, 2_578, 3e6),
    "96 fish": (FishSettings(fish=96), 64, 50, 1_139, 1e6),
    "25 fish that do not see each other": (FishSettings(fish=25, neighbours=False), 256, 200, None, 2e7),
}


def world_rows() -> dict[str, dict[str, float | None]]:
    work = {
        name: steps_of(Fish(settings, lanes, 1, 1), steps) for name, (settings, lanes, steps, _, _) in CASES.items()
    }
    rates = take_turns(work, REPEATS)
    return {name: {**spread(rates[name]), "earlier": CASES[name][3], "asked": CASES[name][4]} for name in CASES}


def evaluation_seconds() -> dict[str, float]:
    """Twenty episodes of 96 fish for 500 steps, by the default network."""
    config = load_config("fish")[0]
    learners = fresh_learners(config, make_world("fish", config.world, 1, 0))
    keys = evaluation_keys(1, DURING_RUN, 20)
    evaluation = Evaluation("fish", FishSettings(fish=96), keys, len(os.sched_getaffinity(0)))
    seconds = []
    for _ in range(REPEATS + 1):
        begun = time.perf_counter()
        evaluation.play(lambda world: PolicyActor(learners, None))
        seconds.append(time.perf_counter() - begun)
    return spread(seconds[1:])


def training() -> dict[str, object]:
    """A short run at 25 fish with the default network, every evaluation left out."""
    holdfast = Path(sys.executable).parent / "holdfast"
    with tempfile.TemporaryDirectory() as folder:
        preset = Path(folder) / "speed.toml"
        preset.write_text(
            '[world]\nname = "fish"\nfish = 25\nsteps = 60\n[learner]\nminibatch = 10240\n'
            "normalize_observations = false\n[evaluation]\nevery = 0\nfinal_episodes = 1\n[run]\niterations = 12\n"
        )
        done = subprocess.run(
            [holdfast, "train", preset, "--run.root", folder, "--json", "--no-report"], capture_output=True, text=True
        )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    result = json.loads(done.stdout)
    return {"fish_steps_per_s": round(result["agent_steps_per_s"]), "time": result["phases"]}


def main() -> None:
    found = {"world": world_rows(), "evaluation_s": evaluation_seconds(), "training": training()}
    for name, row in found["world"].items():
        beside = f"{row['earlier']:,}" if row["earlier"] else "-"
        print(f"{name}: {row['median'] / 1e6:.2f} M fish-steps/s ({row['low'] / 1e6:.2f} to {row['high'] / 1e6:.2f}); "
              f"earlier {beside}; asked {row['asked'] / 1e6:.0f} M")  # fmt: skip
    seconds = found["evaluation_s"]
    print(f"evaluation of 20 x 96 x 500: {seconds['median']:.2f} s ({seconds['low']:.2f} to {seconds['high']:.2f})")
    print(f"training end to end: {found['training']}")
    path = Path(__file__).parent / "results" / "fish_speed.json"
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
