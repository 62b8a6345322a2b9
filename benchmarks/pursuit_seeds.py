"""The published pursuit experiments over seeds, in pieces: what is finished is not run again, what was cut is resumed.

    python benchmarks/pursuit_seeds.py RUNS v x z1 z2 v+balance --seeds 10
    python benchmarks/pursuit_seeds.py RUNS v v+warmup v+balance z1 z1+ewc z1+rnd z2 --seeds 10
    python benchmarks/pursuit_seeds.py RUNS study study+fast-evader --seeds 10
    python benchmarks/pursuit_seeds.py SENSORS v --set world.obs=sensor --set world.belief=false --results sensors.json
    python benchmarks/pursuit_seeds.py RUNS v x --table

Arms are presets, some with one factor changed. Sight is flat and masked in a 10 x 10 m arena, actions are held for
three steps, the network is compact and batches are large, unless --sensor is given. The rows go to
benchmarks/results/pursuit_seeds.json, or what --results names, as they come; a file whose rows were made with other
options is refused before anything is run. Two processes may share the seeds (--first, --seeds). The unit of all
intervals is the seed, and arms are compared seed by seed.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.kit.disk import replace_file
from holdfast.kit.intervals import bootstrap_mean, wilson
from holdfast.runs.metrics import read_lines

RESULTS = Path(__file__).parent / "results" / "pursuit_seeds.json"
FAST = (
    "--world.obs=flat_masked", "--world.arena_w=10", "--world.arena_h=10", "--world.max_steps=600",
    "--world.spawn_max=11", "--world.heading=sincos", "--world.fixed_speed=true", "--world.hold=3", "--policy.grid=7",
    "--policy.network=mlp", "--policy.hidden=64,64", "--rollout.lanes=256", "--rollout.steps=32",
    "--learner.minibatch=1024", "--learner.epochs=4", "--checkpoint.every=100",
)  # fmt: skip
ARMS: dict[str, tuple[str, ...]] = {  # preset, then what is changed about it
    **{name: (f"pursuit-{name}",) for name in ("v", "x", "z1", "z2", "w", "y")},
    "v+warmup": ("pursuit-v", "--duel.warmup=true"),
    "v+warmup+switch": ("pursuit-v", "--duel.warmup=true", "--health.on_domination=switch"),
    "v+balance": ("pursuit-v", "--levels.advance=balance"),
    "v+ewc": ("pursuit-v", "--ewc.strength=1000"),
    "v+rnd": ("pursuit-v", "--rnd.coef=0.1"),
    "z1+ewc": ("pursuit-z1", "--ewc.strength=1000"),
    "z1+rnd": ("pursuit-z1", "--rnd.coef=0.1"),
    "study": ("pursuit-w", "--duel.max_turns=3"),  # how far seeds decide: a slower pursuer, three phases
    "study+fast-evader": ("pursuit-v", "--duel.max_turns=3", "--world.v_max_evader=1.2"),
    "z1+fast-evader": ("pursuit-z1", "--world.v_max_evader=1.2"),
}
Row = dict[str, Any]  # what one seed of an arm came to
UP_TO = 3_000_000  # agent-steps over which the oscillation is measured
MEASURES = ("change", "outside", "level", "rollbacks", "forgotten", "cells", "escape")
QUESTIONS = (  # measure, arm, arm with one factor more
    ("change", "v", "v+warmup"),
    ("change", "v", "v+warmup+switch"),
    ("change", "v", "z1"),
    ("change", "v+balance", "z1"),
    ("level", "v", "v+balance"),
    ("level", "v", "z1"),
    ("forgotten", "z1", "z1+ewc"),
    ("forgotten", "z1", "z2"),
    ("forgotten", "v", "x"),
    ("forgotten", "v", "v+ewc"),
    ("cells", "z1", "z1+rnd"),
    ("cells", "z1", "z2"),
    ("cells", "v", "x"),
    ("cells", "v", "v+rnd"),
    ("escape", "v", "x"),
    ("escape", "v", "v+ewc"),
    ("escape", "v", "v+rnd"),
    ("escape", "z1", "z2"),
)


def live(root: Path, arm: str, seed: int, words: list[str]) -> Path:
    """Train, or go on with, one seed of an arm; its folder."""
    folder = root / f"{arm}-{seed}"
    command = [sys.executable, "-m", "holdfast.cli.command"]
    result = folder / "result.json"
    if result.is_file() and json.loads(result.read_text())["outcome"] != "interrupted":
        return folder
    if folder.exists():
        command += ["resume", folder.name, "--root", str(root)]
    else:
        command += ["train", *ARMS[arm], *words, f"--run.seed={seed}"]
        command += [f"--run.root={root}", f"--run.name={folder.name}"]
    done = subprocess.run([*command, "--quiet", "--no-report"], text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(done.returncode)
    return folder


def measured(folder: Path, arm: str, seed: int) -> Row:
    """The measures of one seed; none where a run had nothing to measure."""
    events, metrics = read_lines(folder / "events.jsonl"), read_lines(folder / "metrics.jsonl")
    steps = {int(row["iteration"]): int(row["agent_steps"]) for row in metrics}
    judged = [event for event in events if event["event"] == "evaluation"]
    rates = [event["rate"] for event in judged]
    early = [event["rate"] for event in judged if steps.get(event["iteration"], 0) <= UP_TO]
    changes = [abs(after - before) for before, after in pairwise(early)]
    return {
        "arm": arm,
        "seed": seed,
        "outcome": json.loads((folder / "result.json").read_text())["outcome"],
        "rates": [round(rate, 3) for rate in rates],
        "levels": [event["level"] for event in judged],
        "change": mean(changes),
        "outside": mean([not 0.05 <= rate <= 0.95 for rate in rates]),
        "advanced": any(event["event"] == "advance" for event in events),
        "level": max((event["level"] for event in judged), default=0),
        "rollbacks": sum(event["event"] == "rollback" for event in events),
        "forgotten": mean(forgotten(judged)),
        "cells": mean([event["probes"]["evader_cells"] for event in judged]),
        "escape": mean([1.0 - rate for rate in rates]),
        "agent_steps": metrics[-1]["agent_steps"] if metrics else 0,
        "phase_s": phase_seconds(folder),
    }


def mean(values: list[Any]) -> float | None:
    return float(np.mean(values)) if values else None


def forgotten(judged: list[Row]) -> list[float]:
    """How much less often the evader escapes at the level before, one evaluation after leaving it."""
    drops = []
    for before, after in pairwise(judged):
        if after["level"] == before["level"] + 1 and "wins_before" in after:
            drops.append(after["wins_before"] / after["duels_before"] - before["rate"])
    return drops


def phase_seconds(folder: Path) -> float | None:
    rows = read_lines(folder / "timing.jsonl")
    return round(sum(value for row in rows for name, value in row.items() if name.startswith("phase.")), 1)


def table(rows: list[Row]) -> str:
    """One line per arm, means with 95 % intervals over seeds."""
    lines = [
        "| arm | seeds | advanced | mean change of c | c outside 0.05-0.95 | highest level | rollbacks | forgotten "
        "| cells | escape |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = [row for row in rows if row["arm"] == arm]
        advanced = sum(row["advanced"] for row in mine)
        least, most = wilson(advanced, len(mine))
        cells = [interval([row[name] for row in mine]) for name in MEASURES]
        lines.append(
            f"| {arm} | {len(mine)} | {advanced}/{len(mine)} [{least:.2f}, {most:.2f}] | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def spread(rows: list[Row]) -> str:
    """How far seeds differ when both roles have had their first lessons and the pursuer its first phase."""
    lines = [
        "| arm | seeds | c after the first phase | SD over seeds | lowest, highest | rollbacks |",
        "|---|---|---|---|---|---|",
    ]
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = [row for row in rows if row["arm"] == arm and len(row["rates"]) > 1]
        first = [row["rates"][1] for row in mine]  # the one before is of the cold start
        if len(first) > 1:
            facts = f"{np.std(first, ddof=1):.3f} | {min(first):.2f}, {max(first):.2f}"
            lines.append(
                f"| {arm} | {len(mine)} | {interval(first)} | {facts} | {interval([r['rollbacks'] for r in mine])} |"
            )
    return "\n".join(lines)


def interval(values: list[float | None]) -> str:
    found = np.array([value for value in values if value is not None], float)
    if len(found) == 0:
        return "-"
    if len(found) == 1:
        return f"{found[0]:.3f}"
    low, high = bootstrap_mean(found)
    return f"{found.mean():.3f} [{low:.3f}, {high:.3f}]"


def comparisons(rows: list[Row]) -> str:
    """Arms against each other, by the seeds they share; p by flipping signs, corrected after Holm."""
    found = [one for measure, a, b in QUESTIONS if (one := compared(rows, measure, a, b)) is not None]
    ranked = sorted(found, key=lambda one: one[4])
    least, corrected = 0.0, {}
    for rank, one in enumerate(ranked):
        least = max(least, min(1.0, one[4] * (len(ranked) - rank)))
        corrected[one[0]] = least
    lines = ["| comparison | seeds | mean difference | p (Holm) |", "|---|---|---|---|"]
    for name, seeds, difference, (low, high), _ in found:
        lines.append(f"| {name} | {seeds} | {difference:+.3f} [{low:+.3f}, {high:+.3f}] | {corrected[name]:.3f} |")
    return "\n".join(lines)


def compared(
    rows: list[Row], measure: str, a: str, b: str
) -> tuple[str, int, float, tuple[float, float], float] | None:
    by = {(row["arm"], row["seed"]): row[measure] for row in rows if row[measure] is not None}
    seeds = sorted(seed for arm, seed in by if arm == a and (b, seed) in by)
    if len(seeds) < 2:
        return None
    differences = np.array([by[b, seed] - by[a, seed] for seed in seeds], float)
    return (
        f"{measure}: {b} - {a}",
        len(seeds),
        float(differences.mean()),
        bootstrap_mean(differences),
        sign_flip(differences),
    )


def sign_flip(differences: np.ndarray) -> float:
    """Two-sided p of a paired sign-flip test: exact up to 14 pairs, by 20,000 random flips beyond."""
    n = len(differences)
    if n <= 14:
        signs = np.array(list(product((-1.0, 1.0), repeat=n)))  # [2^n, n]
    else:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (20_000, n))
    return float((np.abs((signs * differences).mean(1)) >= abs(differences.mean()) - 1e-12).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder for the runs")
    parser.add_argument("arms", nargs="+", choices=list(ARMS))
    parser.add_argument("--seeds", type=int, default=10, help="the last seed")
    parser.add_argument("--first", type=int, default=1, help="the first seed: two processes can share the work")
    parser.add_argument(
        "--sensor", action="store_true", help="the experiments' own sensors, arena, network and batches"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="options of `train`, before all others"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the rows")
    parser.add_argument("--table", action="store_true", help="only print what there is of these arms")
    given = parser.parse_args()
    if given.table:
        tell([row for row in read_rows(given.results)[1] if row["arm"] in given.arms])
        return
    given.root.mkdir(parents=True, exist_ok=True)
    chosen = dict(
        word.split("=", 1) for word in (*(() if given.sensor else FAST), *(f"--{pair}" for pair in given.set))
    )
    words = [f"{name}={value}" for name, value in chosen.items()]
    refuse_others(given.results, words)
    for seed in range(given.first, given.seeds + 1):  # seed by seed, so that arms stay comparable when time runs out
        for arm in given.arms:
            if any((row["arm"], row["seed"]) == (arm, seed) for row in read_rows(given.results)[1]):
                continue  # written already, wherever its run is now
            row = measured(live(given.root, arm, seed, words), arm, seed)
            print(json.dumps(row), flush=True)
            keep(given.results, words, row)
    tell(read_rows(given.results)[1])


def tell(rows: list[Row]) -> None:
    print(table(rows), spread(rows), comparisons(rows), sep="\n\n")


def read_rows(path: Path) -> tuple[list[str] | None, list[Row]]:
    """The options of the rows so far, and the rows; none where there is no file yet."""
    if not path.is_file():
        return None, []
    before = json.loads(path.read_text())
    return before["words"], before["rows"]


def refuse_others(path: Path, words: list[str]) -> None:
    """Rows of other options in the same file would be lost, or be compared with these."""
    before, _ = read_rows(path)
    if before is not None and before != words:
        differing = " ".join(sorted(set(before) ^ set(words))) or "their order"
        print(f"{path} holds rows made with other options ({differing}): give other --results", file=sys.stderr)
        raise SystemExit(2)


def keep(path: Path, words: list[str], row: Row) -> None:
    """Write a row beside those before it, one process at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = {(old["arm"], old["seed"]): old for old in read_rows(path)[1]}
        rows[row["arm"], row["seed"]] = row
        arms = list(ARMS)
        ordered = sorted(rows.values(), key=lambda one: (arms.index(one["arm"]), one["seed"]))
        replace_file(path, (json.dumps({"words": words, "rows": ordered}, indent=1) + "\n").encode())
    finally:
        os.close(lock)


if __name__ == "__main__":
    main()
