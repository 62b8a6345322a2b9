"""How long `holdfast compare` takes over a thousand runs, from the command to its table and page.

    python benchmarks/compare_speed.py [runs, default 1000]

The runs are one small run of the template, written again under other seeds, learning rates and scores: what is read is
what a run leaves behind (run.json, result.json, metrics, the final evaluation's 1000 episodes).
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HOLDFAST = [sys.executable, "-m", "holdfast"]
KEPT = ("metrics.jsonl", "timing.jsonl", "evals/final.json")
GOAL_S = 5.0


def copy_run(model: Path, place: Path, number: int, chance: np.random.Generator) -> None:
    (place / "evals").mkdir(parents=True)
    for file in KEPT:
        shutil.copyfile(model / file, place / file)
    described = json.loads((model / "run.json").read_text())
    described["config"]["run"]["seed"] = number // 4
    described["config"]["learner"]["lr"] = (1e-3, 2e-3, 3e-3, 4e-3)[number % 4]
    (place / "run.json").write_text(json.dumps(described))
    result = json.loads((model / "result.json").read_text())
    result["scores"]["learned"]["mean"] = float(chance.normal(0.9 + 0.005 * (number % 4), 0.02))
    (place / "result.json").write_text(json.dumps(result))


def main(runs: int) -> None:
    chance = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", "template", "--run.root", f"{folder}/model", "--run.name", "model", "--quiet", "--no-report"]
        subprocess.run([*HOLDFAST, *words], check=True)
        for number in range(runs):
            copy_run(Path(folder) / "model/model", Path(folder) / f"runs/{number:04d}", number, chance)
        took, cpu = [], []
        for _ in range(3):
            begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            words = ["compare", f"{folder}/runs", "--threshold", "0.9", "--page", f"{folder}/page.html"]
            subprocess.run([*HOLDFAST, *words], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.append(round(time.perf_counter() - begun, 2))
            cpu.append(round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2))
    row = {"runs": runs, "seconds": took, "cpu_seconds": cpu, "goal_s": GOAL_S, "load": round(os.getloadavg()[0], 1)}
    row |= {"date": time.strftime("%Y-%m-%d"), "machine": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps(row))
    (Path(__file__).parent / "results/compare_speed.json").write_text(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
