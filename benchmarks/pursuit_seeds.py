"""The published pursuit experiments over seeds, in pieces: what is finished is not run again, what was cut is resumed.

    python benchmarks/pursuit_seeds.py RUNS v x z1 z2 --seeds 10
    python benchmarks/pursuit_seeds.py RUNS v --seeds 10 --set run.iterations=500

Sight is flat and masked in a 10 x 10 m arena unless --sensor is given. The table goes to
benchmarks/results/pursuit_seeds.json as it grows; the unit of its intervals is the seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.intervals import bootstrap_mean, wilson
from holdfast.runs.metrics import read_lines

RESULTS = Path(__file__).parent / "results" / "pursuit_seeds.json"
FAST = (
    "--world.obs=flat_masked", "--world.arena_w=10", "--world.arena_h=10", "--world.max_steps=600",
    "--world.spawn_max=11",
)  # fmt: skip


def live(root: Path, arm: str, seed: int, words: list[str]) -> Path:
    """Train, or go on with, one seed of an arm; its folder."""
    folder = root / f"{arm}-{seed}"
    command = [str(Path(sys.executable).parent / "holdfast")]
    result = folder / "result.json"
    if result.is_file() and json.loads(result.read_text())["outcome"] != "interrupted":
        return folder
    if folder.exists():
        command += ["resume", folder.name, "--root", str(root)]
    else:
        command += ["train", f"pursuit-{arm}", *words, f"--run.seed={seed}"]
        command += [f"--run.root={root}", f"--run.name={folder.name}"]
    done = subprocess.run([*command, "--quiet", "--no-report"], text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(done.returncode)
    return folder


def measured(folder: Path, arm: str, seed: int) -> dict[str, Any]:
    """The primary measures of one seed."""
    events, metrics = read_lines(folder / "events.jsonl"), read_lines(folder / "metrics.jsonl")
    rates = [event["rate"] for event in events if event["event"] == "evaluation"]
    changes = [abs(after - before) for before, after in pairwise(rates)]
    return {
        "arm": arm,
        "seed": seed,
        "outcome": json.loads((folder / "result.json").read_text())["outcome"],
        "rates": [round(rate, 3) for rate in rates],
        "mean_change": sum(changes) / len(changes) if changes else None,
        "outside": sum(not 0.05 <= rate <= 0.95 for rate in rates) / max(1, len(rates)),
        "advanced": any(event["event"] == "advance" for event in events),
        "level": max((int(row["duel.level"]) for row in metrics), default=0),
        "rollbacks": sum(event["event"] == "rollback" for event in events),
        "agent_steps": metrics[-1]["agent_steps"] if metrics else 0,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One line per arm, with intervals over seeds."""
    head = "| arm | seeds | mean change of c | c outside 0.05-0.95 | advanced | rollbacks |"
    lines = [head, "|---|---|---|---|---|---|"]
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = [row for row in rows if row["arm"] == arm]
        changes = np.array([row["mean_change"] for row in mine if row["mean_change"] is not None])
        low, high = bootstrap_mean(changes) if len(changes) else (float("nan"), float("nan"))
        advanced = sum(row["advanced"] for row in mine)
        least, most = wilson(advanced, len(mine))
        lines.append(
            f"| {arm} | {len(mine)} | {changes.mean() if len(changes) else float('nan'):.3f} [{low:.3f}, {high:.3f}] "
            f"| {np.mean([row['outside'] for row in mine]):.2f} | {advanced}/{len(mine)} [{least:.2f}, {most:.2f}] "
            f"| {np.mean([row['rollbacks'] for row in mine]):.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder for the runs")
    parser.add_argument("arms", nargs="+", choices=["v", "x", "z1", "z2", "w", "y"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sensor", action="store_true", help="the experiments' own sensors and arena")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="more options of `train`")
    given = parser.parse_args()
    given.root.mkdir(parents=True, exist_ok=True)
    words = [*(() if given.sensor else FAST), *(f"--{pair}" for pair in given.set)]
    rows: list[dict[str, Any]] = []
    for seed in range(1, given.seeds + 1):  # seed by seed, so that arms stay comparable when time runs out
        for arm in given.arms:
            rows.append(measured(live(given.root, arm, seed, words), arm, seed))
            RESULTS.write_text(json.dumps({"words": words, "rows": rows}, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
