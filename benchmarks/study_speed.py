"""A study of template runs side by side against the same runs as commands, one after the other.

    python benchmarks/study_speed.py [runs, default 20] [jobs, default 2] [--ray]

Both do the same runs with the same seeds; their scores are compared. Every run is started as a process of its own in
both. Bookkeeping: the CPU time of the study's driver as a share of all CPU time. With --ray also the same study on a
Ray that is started here, timed from when Ray is up.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from holdfast.studies.study import Study

RESULTS = Path(__file__).parent / "results/study_speed.json"


def cpu_s() -> tuple[float, float]:
    """Of this process, and of its children that are gone."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime


def one_by_one(folder: str, runs: int) -> tuple[float, list[float]]:
    begun, scores = time.perf_counter(), []
    for seed in range(1, runs + 1):
        words = ["template", "--run.seed", str(seed), "--run.root", folder, "--run.name", str(seed)]
        command = [sys.executable, "-m", "holdfast", "train", *words, "--quiet", "--no-report"]
        subprocess.run(command, check=True)
        result = json.loads((Path(folder) / str(seed) / "result.json").read_text())
        scores.append(result["scores"]["learned"]["mean"])
    return time.perf_counter() - begun, scores


def as_study(folder: str, runs: int, jobs: int, **how: str) -> tuple[float, float, list[float | None]]:
    study = Study("speed", target="template", seeds=range(1, runs + 1), root=folder)
    own, children = cpu_s()
    begun = time.perf_counter()
    table = study.run(jobs=jobs, **how)
    took = time.perf_counter() - begun
    own, children = (after - before for after, before in zip(cpu_s(), (own, children), strict=True))
    return took, own / (own + children), [trial.score for trial in table.trials]


def main(runs: int, jobs: int, with_ray: bool) -> None:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        apart_s, apart = one_by_one(f"{folder}/apart", runs)
        study_s, driver_share, together = as_study(f"{folder}/local", runs, jobs)
        row = {
            "runs": runs,
            "jobs": jobs,
            "one_by_one_s": round(apart_s, 1),
            "study_s": round(study_s, 1),
            "times_faster": round(apart_s / study_s, 3),
            "driver_share_of_cpu": round(driver_share, 4),
            "same_scores": apart == together,
        }
        if with_ray:
            from holdfast.studies.cluster import HERE, connect, import_ray

            connect(import_ray(HERE), HERE)
            ray_s, _, on_ray = as_study(f"{folder}/ray", runs, jobs, on=HERE)
            row |= {"ray_s": round(ray_s, 1), "ray_of_local": round(study_s / ray_s, 3), "ray_same": on_ray == together}
    row |= {"goals": {"times_faster": 1.85, "driver_share_of_cpu": 0.02, "ray_of_local": 0.9}}
    row |= {"load_before": round(load, 2), "date": time.strftime("%Y-%m-%d"), "machine": platform.platform()}
    print(json.dumps(row))
    RESULTS.write_text(json.dumps(row) + "\n")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    main(*(numbers + [20, 2][len(numbers) :]), with_ray="--ray" in sys.argv)  # type: ignore[misc]
