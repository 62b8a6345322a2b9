"""What a large study takes on a cluster, by arithmetic and by playing the scheduler with recorded run times.

    python benchmarks/study_plan.py [STUDY] [--trials 1000] [--nodes 100] [--cores 8] [--losses 0.05]

Run times, bytes and files are those of the finished trials of STUDY, which are kept in results/study_plan_runs.json and
taken from there where no STUDY is named. Losses: nodes lost per node and hour; each comes back after ten minutes.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "results/study_plan_runs.json"
RESULTS = Path(__file__).parent / "results/study_plan.json"
BACK_S = 600.0
START_S = 3.5  # of a task's worker: Python, torch and kernels from the cache; measured here
LINK = 1e9 / 8  # bytes a second of the driver's network


def recorded(study: str | None) -> dict[str, Any]:
    """Seconds of every finished run, and what its folder holds."""
    if study is None:
        return dict(json.loads(RECORDED.read_text()))
    from holdfast.studies.study import Study

    found = Study(study)
    done = [trial for trial in found.table().trials if trial.state == "done"]
    folders = [found.folder.runs / trial.run for trial in done]
    files = [[path for path in folder.rglob("*") if path.is_file()] for folder in folders]
    latest = [folder / "checkpoints" / (folder / "checkpoints/latest").read_text().strip() for folder in folders]
    row = {
        "study": study,
        "seconds": [round(trial.elapsed_s, 2) for trial in done],
        "bytes": max(sum(path.stat().st_size for path in some) for some in files),
        "files": max(map(len, files)),
        "checkpoint_bytes": max(sum(path.stat().st_size for path in place.iterdir()) for place in latest),
        "checkpoints": max(len(list((folder / "checkpoints").glob("[0-9]*"))) for folder in folders),
        "pieces": max(_pieces(folder) for folder in folders),
    }
    RECORDED.write_text(json.dumps(row) + "\n")
    return row


def _pieces(folder: Path) -> int:
    """Tasks it is cut into on a cluster: one per interval of checkpoints."""
    described = json.loads((folder / "run.json").read_text())["config"]
    iterations = json.loads((folder / "result.json").read_text())["counts"]["iteration"]
    return math.ceil(iterations / described["checkpoint"]["every"])


def play(seconds: list[float], trials: int, slots: int, pieces: int, losses: float) -> dict[str, float]:
    """List scheduling of trials cut into pieces. With a lost node the present piece of a slot is lost; the trial goes
    on in the next free slot, and the slot comes back later."""
    chance = random.Random(5)
    free = [(0.0, slot) for slot in range(slots)]
    lost_pieces, end, busy = 0, 0.0, 0.0
    for _ in range(trials):
        now, slot = heapq.heappop(free)
        piece = chance.choice(seconds) / pieces + START_S
        for _ in range(pieces):
            while chance.random() < 1.0 - math.exp(-losses / 3600.0 * piece):
                lost_at, lost_pieces = now + chance.random() * piece, lost_pieces + 1
                heapq.heappush(free, (lost_at + BACK_S, slot))
                free_at, slot = heapq.heappop(free)
                now = max(lost_at, free_at)
            now, busy = now + piece, busy + piece
        end = max(end, now)
        heapq.heappush(free, (now, slot))
    return {"makespan_s": round(end, 1), "lost_pieces": lost_pieces, "busy_share": round(busy / (end * slots), 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="?")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--losses", type=float, default=0.05)
    given = parser.parse_args()
    runs, slots = recorded(given.study), given.nodes * given.cores
    seconds, pieces = runs["seconds"], runs["pieces"]
    mean_s = sum(seconds) / len(seconds)
    shipped = given.trials * pieces * 2 * (runs["checkpoint_bytes"] * runs["checkpoints"])
    row = {
        "trials": given.trials,
        "nodes": given.nodes,
        "slots": slots,
        "recorded": runs,
        "arithmetic": {
            "cpu_hours": round(given.trials * (mean_s + pieces * START_S) / 3600, 2),
            "makespan_s": round(math.ceil(given.trials / slots) * (mean_s + pieces * START_S), 1),
            "gigabytes_kept": round(given.trials * runs["bytes"] / 1e9, 2),
            "files_kept": given.trials * runs["files"],
            "gigabytes_shipped_at_most": round(shipped / 1e9, 2),
            "seconds_of_the_drivers_link": round(shipped / LINK, 1),
        },
        "simulated": play(seconds, given.trials, slots, pieces, given.losses),
        "losses_per_node_and_hour": given.losses,
    }
    print(json.dumps(row, indent=1))
    RESULTS.write_text(json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()
