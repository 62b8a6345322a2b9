"""Kill a study with SIGKILL at random moments: its driver, one of its workers, or a node of a Ray cluster, and go on.

    python benchmarks/study_kills.py driver|worker|node [kills, default 10]

The study must end with the same table and the same bytes of every run as one that nothing happened to.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.runs.folder import is_locked
from holdfast.studies.options import words_of
from holdfast.studies.piece import saved_iteration
from holdfast.studies.study import Study

RESULTS = Path(__file__).parent / "results"
OPTIONS = {
    "run.iterations": 120, "run.stop_score": "none", "checkpoint.every": 5, "evaluation.every": 20,
    "evaluation.final_episodes": 50, "run.tensorboard": False, "metrics.parquet": False,
}  # fmt: skip
SEEDS = range(1, 5)
chance = random.Random(11)


def study(root: Path) -> Study:
    return Study("kills", target="template", seeds=SEEDS, options=OPTIONS, root=root)


def ending(root: Path) -> list[Any]:
    """The table, and what every run learned and wrote."""
    found = []
    for trial in study(root).table().trials:
        run = root / "kills/runs" / trial.run
        latest = (run / "checkpoints/latest").read_text().strip()
        files = (f"checkpoints/{latest}/state.safetensors", "metrics.jsonl", "episodes.jsonl", "evals/final.json")
        content = [(run / file).read_bytes() for file in files]
        found.append((trial.trial, trial.seed, trial.options, trial.state, trial.score, content))
    return found


def driver(root: Path) -> subprocess.Popen[bytes]:
    words = ["study", "template", "--name", "kills", "--root", str(root), "--seeds", "1-4", "--jobs", "2", "--quiet"]
    return subprocess.Popen([sys.executable, "-m", "holdfast", *words, *words_of(OPTIONS)], stdout=subprocess.DEVNULL)


def busy(root: Path) -> list[int]:
    """Processes that have a run of the study open."""
    found = []
    for lock in (root / "kills/runs").glob("*/lock"):
        if is_locked(lock.parent):
            found.append(int(lock.read_text() or 0))
    return [pid for pid in found if pid]


def kill_some(root: Path, kills: int, victim: Callable[[subprocess.Popen[bytes], list[int]], int]) -> int:
    """Drivers one after the other, until the study is over; how often something was killed."""
    done = 0
    while True:
        process = driver(root)
        while process.poll() is None:
            wait_s = 1.0 + 4.0 * chance.random()
            try:
                process.wait(wait_s)
            except subprocess.TimeoutExpired:
                pids = busy(root)
                if done < kills and pids:
                    os.kill(victim(process, pids), signal.SIGKILL)
                    done += 1
        if process.returncode == 0:
            return done


def kill_nodes(root: Path, kills: int) -> int:
    """Nodes of a cluster on this machine, each replaced by a new one."""
    import threading

    from holdfast.studies.cluster import HERE, import_ray

    ray = import_ray(HERE)
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    over, done = threading.Event(), [0]

    def go_on_killing() -> None:
        while done[0] < kills and not over.is_set():
            node = cluster.add_node(num_cpus=1)
            over.wait(4.0 + 6.0 * chance.random())
            if not over.is_set():
                cluster.remove_node(node, allow_graceful=False)
                done[0] += 1

    killer = threading.Thread(target=go_on_killing)
    killer.start()
    status = study(root).run(on="auto", jobs=2).exit_status
    over.set()
    killer.join()
    ray.shutdown()
    cluster.shutdown()
    if status:
        raise SystemExit(f"the study ended with status {status}")
    return done[0]


def main(what: str, kills: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        whole, broken = Path(place) / "whole", Path(place) / "broken"
        study(whole).run(jobs=2)
        begun = time.perf_counter()
        if what == "node":
            done = kill_nodes(broken, kills)
        else:
            done = kill_some(
                broken, kills, lambda process, pids: process.pid if what == "driver" else chance.choice(pids)
            )
        progress = [saved_iteration(broken / "kills/runs" / trial.run) for trial in study(broken).table().trials]
        equal = ending(whole) == ending(broken)
    row = {
        "killed": what,
        "kills": done,
        "same_table_and_bytes": equal,
        "took_s": round(time.perf_counter() - begun, 1),
    }
    print(json.dumps({**row, "iterations": progress}))
    path = RESULTS / "study_kills.json"
    rows = {**(json.loads(path.read_text()) if path.exists() else {}), what: row}
    path.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
