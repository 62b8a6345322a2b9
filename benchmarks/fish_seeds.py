"""Ten seeds of the fish school, each a `holdfast train` of its own, judged on 80 held-out episodes.

    python benchmarks/fish_seeds.py fish          # the default preset: gate, and a deck of its own harvest
    python benchmarks/fish_seeds.py no-deck       # the same without dealing from the deck
    python benchmarks/fish_seeds.py fish-hunt     # against every scripted policy
    python benchmarks/fish_seeds.py compare       # what the deck changes, from the two tables

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

import numpy as np

from holdfast.kit.intervals import bootstrap_mean

RESULTS = Path(__file__).parent / "results"
SEEDS = range(1, 11)


CASES = {"fish": ["fish"], "no-deck": ["fish", "--deck.share", "0"], "fish-hunt": ["fish-hunt"]}


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


def table(case: str) -> Path:
    return RESULTS / f"school_{case.replace('-', '_')}.json"


def read_rows(case: str) -> list[dict[str, Any]]:
    return json.loads(table(case).read_text())["rows"] if table(case).exists() else []


def main(case: str) -> None:
    if case == "compare":
        print(comparison())
        return
    rows = read_rows(case)
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            if seed in [row["seed"] for row in rows]:
                continue
            rows.append(one_seed(CASES[case], seed, folder))
            print(rows[-1], flush=True)
            table(case).write_text(json.dumps({"command": CASES[case], "rows": rows}, indent=1) + "\n")
    print(verdict(rows))


def comparison() -> str:
    """Mean and worst survival with and without the deck: difference over seeds, with its bootstrap interval."""
    dealt, plain = ({row["seed"]: row for row in read_rows(case)} for case in ("fish", "no-deck"))
    seeds = sorted(dealt.keys() & plain.keys())
    lines = []
    for name in ("avg_final", "min_final"):
        change = np.array([dealt[seed][name] - plain[seed][name] for seed in seeds])
        low, high = bootstrap_mean(change)
        with_deck, without = (np.mean([rows[seed][name] for seed in seeds]) for rows in (dealt, plain))
        lines.append(
            f"{name}: {with_deck:.4f} with, {without:.4f} without, "
            f"change {change.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
        )
    return f"{len(seeds)} seeds in both tables\n" + "\n".join(lines)


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
