"""Ten seeds of the fish school, each a `holdfast train` of its own, judged on 80 held-out episodes.

    python benchmarks/fish_seeds.py fish                 # the default preset, through all levels of its gate
    python benchmarks/fish_seeds.py fish-hunt            # against every scripted policy
    python benchmarks/fish_seeds.py deck worst.npz       # the default preset with a quarter of its episodes from a deck

The table is written to benchmarks/results/ as it grows; a seed that is in it is not run again.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
SEEDS = range(1, 11)


def command(case: str, deck: str | None) -> list[str]:
    if case != "deck":
        return [case]
    return ["fish", "--deck.stages", f"100000:{deck}|label=harvested", "--deck.share", "0.25"]


def one_seed(words: list[str], seed: int, folder: str) -> dict[str, Any]:
    holdfast = Path(sys.executable).parent / "holdfast"
    call = [holdfast, "train", *words, "--run.seed", str(seed), "--run.root", folder, "--json", "--no-report"]
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(done.stdout)
    learned, final, gate = result["scores"]["learned"], result["curriculum"]["final"], result["curriculum"]["gate"]
    rivals = {name: score for name, score in result["scores"].items() if name != "learned"}
    best = max(rivals, key=lambda name: rivals[name]["mean"])
    return {
        "seed": seed,
        "level": f"{gate['level']} of {gate['max_level']}" if gate else "no gate",
        **{name: round(final[name], 4) for name in ("avg_final", "min_final", "ceiling_avg", "ceiling_min")},
        "low": round(learned["low"], 4),
        "high": round(learned["high"], 4),
        "best_script": best,
        "script_mean": round(rivals[best]["mean"], 4),
        "script_high": round(rivals[best]["high"], 4),
        "agent_steps": result["counts"]["agent_steps"],
        "steps_per_s": round(result["agent_steps_per_s"]),
        "wall_s": round(time.perf_counter() - begun, 1),
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
    }


def main(case: str, deck: str | None = None) -> None:
    words, path = command(case, deck), RESULTS / f"{case.replace('-', '_')}_school_seeds.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            if seed in [row["seed"] for row in rows]:
                continue
            rows.append(one_seed(words, seed, folder))
            print(rows[-1], flush=True)
            path.write_text(json.dumps({"command": words, "rows": rows}, indent=1) + "\n")
    print(verdict(rows))


def verdict(rows: list[dict[str, Any]]) -> str:
    good = [row for row in rows if row["avg_final"] >= 0.97 and row["min_final"] >= row["ceiling_min"] - 0.06]
    opened = [row for row in good if row["level"].split(" of ")[0] == row["level"].split(" of ")[-1]]
    ahead = [row for row in rows if row["low"] > row["script_high"]]
    return (
        f"{len(rows)} seeds: {len(good)} with mean >= 0.97 and worst within 0.06 of the ceiling, {len(opened)} of them "
        f"through every level of the gate; {len(ahead)} above the best script with intervals apart; "
        f"slowest {max(row['wall_s'] for row in rows)} s"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
