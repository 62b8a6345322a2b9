"""A training run in workers under fire: `python benchmarks/worker_faults.py [faults]`.

While `holdfast train` runs, workers are killed and stopped from outside, and made to hang, exit, raise, and return NaN
and wrong shapes. The run must end by itself with status 0, every lost worker must be replaced in its time-out and 3 s,
and every episode that an environment finished must be among those the run counted.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from holdfast.worlds.workers.drill import draw_tickets

HERE = Path(__file__).resolve().parent
STEP_S = 4.0
KINDS = ("SIGKILL", "step-hang", "step-raise", "SIGSTOP", "step-exit", "step-nan", "step-shape", "reset-exit")


def markers(run: Path) -> list[dict[str, Any]]:
    try:
        lines = (run / "workers.jsonl").read_text().splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("}")]


def count(run: Path, marker: str) -> int:
    return sum(line["marker"] == marker for line in markers(run))


def training_pids(run: Path) -> list[int]:
    """Workers 1 to 8 play for training; 0 went ahead, later ones evaluate."""
    newest = {line["worker"]: line["pid"] for line in markers(run) if 1 <= line["worker"] <= 8}
    return list(newest.values())


def inject(kind: str, number: int, tickets: Path, run: Path) -> None:
    if kind.startswith("SIG"):
        pids = training_pids(run)
        os.kill(pids[number % len(pids)], getattr(signal, kind))
    else:
        draw_tickets(tickets / kind, 1)


def start(folder: Path, iterations: int) -> subprocess.Popen[bytes]:
    options = {
        "backend": "workers",
        "world.kwargs": json.dumps({"folder": str(folder / "tickets")}),
        "run.root": str(folder),
        "run.name": "run",
        "run.iterations": iterations,
        "evaluation.every": 0,
        "evaluation.final_episodes": 8,
        "workers.step_s": STEP_S,
        "workers.respawns": 100,
        "run.tensorboard": "false",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    command = [
        sys.executable,
        "-m",
        "holdfast.cli",
        "train",
        "faulty_cartpole:FaultyCartPole",
        "--quiet",
        "--no-report",
    ]
    return subprocess.Popen([*command, *words], env=environment)


def main() -> None:
    faults = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as name:
        result = under_fire(Path(name), faults)
    print(json.dumps(result, indent=1))
    (HERE / "results" / "worker_faults.json").write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if result["survived"] else 1)


def under_fire(folder: Path, faults: int) -> dict[str, Any]:
    run, tickets = folder / "run", folder / "tickets"
    tickets.mkdir()
    process = start(folder, iterations=10 * faults)
    while not (run / "metrics.jsonl").exists() or not (run / "metrics.jsonl").stat().st_size:
        time.sleep(0.1)
        assert process.poll() is None, "the run ended before the first fault"
    injected = []
    for number in range(faults):
        kind, before = KINDS[number % len(KINDS)], count(run, "respawned")
        inject(kind, number, tickets, run)
        injected.append(kind)
        while count(run, "respawned") == before and process.poll() is None:
            time.sleep(0.05)
        if process.poll() is not None:
            break
        time.sleep(0.3)
    played = _seen(run)
    process.send_signal(signal.SIGINT)  # enough: end as a user would
    status = process.wait()
    return {
        "faults": len(injected),
        "survived": status == 130 and len(injected) == faults and played["uncounted_finished_episodes"] <= 0,
        "exit_status": status,
        **_seen(run),
        **_delays(run),
    }


def _seen(run: Path) -> dict[str, Any]:
    """Episodes the environments of training finished, and those the run counted."""
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    training = {line["pid"] for line in markers(run) if 1 <= line["worker"] <= 8}
    finished = 0
    for path in (run.parent / "tickets").glob("finished-*"):
        if int(path.name.partition("-")[2]) in training:
            finished += len(path.read_text().splitlines())
    lost = [line for line in markers(run) if line["marker"] == "killed" and 1 <= line["worker"] <= 8]
    cut = sum(line["phase"] == "step" for line in lost)
    return {
        "iterations": last["iteration"],
        "episodes_counted": last["episodes"],
        "episodes_finished_by_environments": finished,
        "episodes_cut_with_their_worker": cut,
        "uncounted_finished_episodes": finished + cut - last["episodes"],
    }


def _delays(run: Path) -> dict[str, Any]:
    """Seconds from a worker's loss to the readiness of its replacement; `killed` comes after the time-out."""
    lost: dict[int, float] = {}
    delays = []
    for line in markers(run):
        if line["marker"] == "killed" and "reason" in line and "given up" not in line["reason"]:
            lost[line["worker"]] = line["time"]
        elif line["marker"] == "ready" and line["worker"] in lost:
            delays.append(line["time"] - lost.pop(line["worker"]))
    delays.sort()
    return {"replaced": len(delays), "replace_s_median": delays[len(delays) // 2], "replace_s_worst": delays[-1]}


if __name__ == "__main__":
    main()
