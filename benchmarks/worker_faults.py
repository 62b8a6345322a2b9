"""A training run in workers under fire: `python benchmarks/worker_faults.py [faults, default 50]`.

While `holdfast train` runs, workers are killed and stopped from outside, and made to hang in import, build, reset and
step, to exit, to raise, to flood their output, and to return NaN and wrong shapes; as the run is told to end, some hang
or stop in close. Every lost worker must be ready again within its time-out and 3 s, the run must go on and end as a
user ends one (status 130), every episode that an environment finished must be among those the run counted, and no
process may be left.
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
from statistics import median
from typing import Any, NamedTuple

from holdfast.worlds.workers.drill import draw_tickets
from holdfast.worlds.workers.markers import LONGEST_LOG

HERE = Path(__file__).resolve().parent
LIMIT_S = 4.0  # of import, build, reset, step and close
ALLOWED_S = 3.0  # beyond the limit, until the replacement is ready
KINDS = (
    *("SIGKILL", "step-hang", "import-hang", "step-raise", "SIGSTOP", "step-exit", "build-hang", "step-nan"),
    *("step-shape", "reset-hang", "step-flood", "reset-exit", "step-stop", "import-exit", "build-kill", "step-values"),
)
AT_CLOSE = ("close-hang", "close-stop", "close-exit")
NOT_FATAL = ("step-flood",)
HANGS = ("hang", "stop", "SIGSTOP")  # found by a time-out; everything else at once


class Fault(NamedTuple):
    """A fault that happened to a worker of the run."""

    kind: str
    pid: int
    time: float

    @property
    def limit_s(self) -> float:
        return LIMIT_S if self.kind.rpartition("-")[2] in HANGS else 0.0


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that is being written."""
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    except OSError:
        return []


def markers(run: Path) -> list[dict[str, Any]]:
    return lines_of(run / "workers.jsonl")


def training_workers(run: Path) -> dict[int, int]:
    """Pids by number. Workers 1 to 8 play for training; 0 went ahead, later ones evaluate."""
    return {line["worker"]: line["pid"] for line in markers(run) if 1 <= line["worker"] <= 8}


def inject(kind: str, number: int, tickets: Path, run: Path) -> None:
    """A ticket for whoever comes to that place first, or a signal; a worker is killed to let its replacement import
    or build."""
    pids = list(training_workers(run).values())
    victim = pids[number % len(pids)]
    if kind.startswith("SIG"):
        with (tickets / "happened.jsonl").open("a") as file:
            file.write(json.dumps({"time": time.time(), "pid": victim, "kind": kind}) + "\n")
        os.kill(victim, getattr(signal, kind))
        return
    draw_tickets(tickets / kind, 1)
    if kind.startswith(("import", "build")):
        os.kill(victim, signal.SIGKILL)


def start(folder: Path) -> subprocess.Popen[bytes]:
    options = {
        "backend": "workers",
        "run.root": str(folder),
        "run.name": "run",
        "run.iterations": 1_000_000,
        "evaluation.every": 0,
        "evaluation.final_episodes": 8,
        "workers.respawns": 100,
        "run.tensorboard": "false",
        **{f"workers.{phase}_s": LIMIT_S for phase in ("import", "build", "reset", "step", "close")},
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "FAULTS": str(folder / "tickets")}
    world = "faulty_cartpole:FaultyCartPole"
    command = [sys.executable, "-m", "holdfast.cli.command", "train", world, "--quiet", "--no-report"]
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
    process = start(folder)
    while not lines_of(run / "metrics.jsonl"):
        time.sleep(0.1)
        assert process.poll() is None, "the run ended before the first fault"
    for number in range(faults - len(AT_CLOSE)):
        inject(KINDS[number % len(KINDS)], number, tickets, run)
        if not settled(process, run, tickets, number + 1):
            break
    for kind in AT_CLOSE:
        draw_tickets(tickets / kind, 1)
    process.send_signal(signal.SIGINT)  # enough: end as a user would
    return judged(run, tickets, faults, process.wait())


def settled(process: subprocess.Popen[bytes], run: Path, tickets: Path, happened: int) -> bool:
    """Wait until so many faults have happened, every lost worker is ready, and the run has gone on since."""
    wanted = 0
    while process.poll() is None:
        time.sleep(0.05)
        found = faults_of(tickets)
        if len(found) < happened:
            continue
        pids = set(training_workers(run).values())
        ready = {line["pid"] for line in markers(run) if line["marker"] == "baton_back"}
        lost = {fault.pid for fault in found if fault.kind not in NOT_FATAL}
        iteration = lines_of(run / "metrics.jsonl")[-1]["iteration"]
        if pids & lost or not pids <= ready:
            wanted = iteration + 1
        elif (wanted and iteration >= wanted) or found[-1].kind in NOT_FATAL:
            return True
    return False


def faults_of(tickets: Path) -> list[Fault]:
    return [Fault(**line) for line in lines_of(tickets / "happened.jsonl")]


def judged(run: Path, tickets: Path, faults: int, status: int) -> dict[str, Any]:
    found = faults_of(tickets)
    late = delays(run, found)
    kinds = [fault.kind for fault in found]
    episodes = episodes_of(run, tickets)
    logs = max(path.stat().st_size for path in (run / "workers").iterdir())
    left = [pid for pid in {line["pid"] for line in markers(run)} if Path(f"/proc/{pid}").exists()]
    good = status == 130 and len(found) == faults and not left and logs < 2 * LONGEST_LOG
    return {
        "faults": len(found),
        "survived": bool(good and episodes["lost_finished_episodes"] == 0 and max(late) < ALLOWED_S),
        "kinds": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "exit_status": status,
        "processes_left": len(left),
        **episodes,
        "replaced": len(late),
        "replaced_s_beyond_time_out": {"median": median(late), "worst": max(late)},
    }


def episodes_of(run: Path, tickets: Path) -> dict[str, Any]:
    """Episodes the environments of training finished, and those the run counted."""
    last = lines_of(run / "metrics.jsonl")[-1]
    training = {line["pid"] for line in markers(run) if 1 <= line["worker"] <= 8}
    files = [path for path in tickets.glob("finished-*") if int(path.name.partition("-")[2]) in training]
    finished = sum(len(path.read_text().splitlines()) for path in files)
    lost = [line for line in markers(run) if line["marker"] == "killed" and 1 <= line["worker"] <= 8]
    cut = sum(line["phase"] == "step" for line in lost)
    return {
        "iterations": last["iteration"],
        "episodes_counted": last["episodes"],
        "episodes_finished_by_environments": finished,
        "episodes_cut_with_their_worker": cut,
        "lost_finished_episodes": finished + cut - last["episodes"],
    }


def delays(run: Path, found: list[Fault]) -> list[float]:
    """Seconds from each fault to the readiness of the next worker in that place, without the time-out."""
    told = markers(run)
    number = {line["pid"]: line["worker"] for line in told}
    late = []
    for fault in found:
        ready = [
            line["time"]
            for line in told
            if line["marker"] == "ready"
            and line["worker"] == number[fault.pid]
            and line["pid"] != fault.pid
            and line["time"] > fault.time
        ]
        if fault.kind not in (*NOT_FATAL, *AT_CLOSE):
            late.append(min(ready, default=float("inf")) - fault.time - fault.limit_s)
    return late


if __name__ == "__main__":
    main()
