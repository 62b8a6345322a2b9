"""Ten seeds of a world to a score: how many reach it, and in how many seconds of wall clock.

    python benchmarks/seeds.py template
    python benchmarks/seeds.py cartpole
    python benchmarks/seeds.py template-vtrace
    python benchmarks/seeds.py cartpole-vtrace
    python benchmarks/seeds.py mario-1-1 [--rollout.threads 1 ...]

Each seed is a `holdfast train` of its own, one after the other; further words are options for it. The table is written
to benchmarks/results/ as it grows, and a seed that is in it is not run again.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parent / "results"
SEEDS = range(1, 11)


class Case(NamedTuple):
    """What is run, and what counts as reached on the held-out episodes."""

    words: tuple[str, ...]
    score: float


REPLAYED = ("--learner", "vtrace", "--learner.replay", "true", "--rollout.overlap", "true", "--learner.epochs", "1")
CASES = {
    "template-vtrace": Case(("template", *REPLAYED), 0.965),
    "cartpole-vtrace": Case(("gym:CartPole-v1", "--run.stop_score", "475", *REPLAYED), 475.0),
    "template": Case(("template",), 0.965),
    "cartpole": Case(("gym:CartPole-v1", "--run.stop_score", "475"), 475.0),
    "mario-1-1": Case(("mario-1-1", "--evaluation.every", "0"), 0.9),
}


def one_seed(case: Case, seed: int, folder: str) -> dict[str, float]:
    words = ["holdfast", "train", *case.words, "--run.seed", str(seed), "--run.root", folder, "--json", "--no-report"]
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([Path(sys.executable).parent / words[0], *words[1:]], capture_output=True, text=True)
    wall_s, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    result = json.loads(done.stdout)
    learned = result["scores"]["learned"]
    working_s = (
        sum(result["phases"].get(phase, 0.0) for phase in ("collect", "act", "world", "learn", "wait"))
        * result["elapsed_s"]
    )
    return {
        "seed": seed,
        "mean": round(learned["mean"], 4),
        "worst": round(learned["worst"], 4),
        "iterations": result["counts"]["iteration"],
        "agent_steps": result["counts"]["agent_steps"],
        "training_s": round(working_s, 1),
        "wall_s": round(wall_s, 1),
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
    }


def main(name: str, *more: str) -> None:
    case, path = CASES[name]._replace(words=CASES[name].words + more), RESULTS / f"{name}_seeds.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            if seed in [row["seed"] for row in rows]:
                continue
            rows.append(one_seed(case, seed, folder))
            print(rows[-1], flush=True)
            RESULTS.mkdir(exist_ok=True)
            path.write_text(
                json.dumps({"command": list(case.words), "goal": case.score, "rows": rows}, indent=1) + "\n"
            )
    reached = [row for row in rows if row["mean"] >= case.score]
    slowest = max(row["wall_s"] for row in rows)
    print(f"{name}: {len(reached)} of {len(rows)} seeds reach {case.score} on held-out episodes; slowest {slowest} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
