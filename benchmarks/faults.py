"""Faults x moments: the system refuses, or something ends, at every moment of a run. Needs root, to mount file systems.

    python benchmarks/faults.py [--only "full disk,no inodes"] [--moments ...] [--targets template] [--minutes 30]

Each cell is a run in a small file system of its own. At the moment, the fault is made; the command must end by itself
with an error of ours on its last lines and a status of 1 (or finish all the same), never with a traceback. Then the
fault is undone and the run resumed: its end must equal that of a run without faults, byte for byte. A row per cell goes
to `results/faults.json`, with commit and machine; cells that time did not allow are not in it.
"""

from __future__ import annotations

import argparse
import errno
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from fuzz.table import about, add_rows

RESULTS = Path(__file__).parent / "results" / "faults.json"
TARGETS = {"template": "template", "gymnasium": "gym:CartPole-v1"}
OPTIONS = [
    "--rollout.lanes=4", "--rollout.steps=8", "--rollout.threads=1", "--learner.minibatch=32", "--run.iterations=6",
    "--run.stop_score=none", "--evaluation.every=2", "--evaluation.episodes=4", "--evaluation.final_episodes=4",
    "--checkpoint.every=2", "--run.name=it",
]  # fmt: skip
PATIENCE_S = 120.0
FILLER = "filler"

# moment -> (module, name of a function or Class.method, which call of it)
MOMENTS: dict[str, tuple[str, str, int]] = {
    "description": ("holdfast.runs.folder", "write_synced", 1),
    "first event": ("holdfast.runs.streams", "Stream.write", 1),
    "yardsticks": ("holdfast.curriculum.judge", "EpisodeJudge._play_yardsticks", 1),
    "first rollout": ("holdfast.rollout.seat", "Seat.collect", 1),
    "rollout": ("holdfast.rollout.seat", "Seat.collect", 4),
    "count": ("holdfast.run", "Run.count", 4),
    "metrics": ("holdfast.runs.metrics", "MetricsWriter.write", 4),
    "evaluation": ("holdfast.curriculum.judge", "EpisodeJudge.evaluate", 2),
    "evaluation's file": ("holdfast.runs.folder", "RunFolder.write_json", 3),
    "first checkpoint": ("holdfast.runs.checkpoint", "Checkpoints._write", 1),
    "checkpoint": ("holdfast.runs.checkpoint", "Checkpoints._write", 2),
    "within a checkpoint": ("holdfast.runs.checkpoint", "write_synced", 7),
    "pointer": ("holdfast.runs.checkpoint", "point", 3),
    "final evaluation": ("holdfast.curriculum.judge", "EpisodeJudge.conclude", 1),
    "closing": ("holdfast.runs.recorder", "Recorder.close", 1),
    "report": ("holdfast.runs.tables", "write_table", 1),
}


# --- faults ----------------------------------------------------------------------------------------------------------


def full_disk() -> None:
    with open(FILLER, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def no_inodes() -> None:
    os.mkdir(f"{FILLER}s")
    try:
        for number in range(10**6):
            os.close(os.open(f"{FILLER}s/{number}", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pass


def read_only() -> None:
    subprocess.run(["mount", "-o", "remount,ro", "."], check=False, capture_output=True)
    if os.access(".", os.W_OK):  # busy: files are open for writing
        patch_refusing(errno.EROFS)


def limit(what: int, size: int) -> None:
    resource.setrlimit(what, (size, resource.getrlimit(what)[1]))


def small_files() -> None:
    limit(resource.RLIMIT_FSIZE, 20_000)


def no_more_files() -> None:
    limit(resource.RLIMIT_NOFILE, len(os.listdir("/proc/self/fd")) - 1)


def no_more_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit(resource.RLIMIT_AS, pages * 4096 + (1 << 20))


def patch_refusing(number: int) -> None:
    """Whatever writes is refused with this error, as a failing device or a quota does."""
    real = os.open

    def refuse(*given: Any, **more: Any) -> Any:
        raise OSError(number, os.strerror(number))

    def opening(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        return refuse() if flags & (os.O_WRONLY | os.O_RDWR) else real(path, flags, *rest, **more)

    os.write = os.fsync = os.replace = os.rename = refuse  # type: ignore[assignment]
    os.open = opening  # type: ignore[assignment]


def raising(error: BaseException) -> Callable[[], None]:
    def fault() -> None:
        raise error

    return fault


def signalled(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def no_reader() -> None:
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)


FAULTS: dict[str, Callable[[], None]] = {
    "full disk": full_disk,
    "no inodes": no_inodes,
    "read-only": read_only,
    "limit of file size": small_files,
    "limit of open files": no_more_files,
    "limit of memory": no_more_memory,
    "failing device": lambda: patch_refusing(errno.EIO),
    "quota": lambda: patch_refusing(errno.EDQUOT),
    "permission": lambda: patch_refusing(errno.EACCES),
    "MemoryError": raising(MemoryError()),
    "torch out of memory": raising(RuntimeError("DefaultCPUAllocator: can't allocate memory")),
    "sys.exit(0)": raising(SystemExit(0)),
    "SIGKILL": signalled(signal.SIGKILL),
    "SIGTERM": signalled(signal.SIGTERM),
    "SIGINT": signalled(signal.SIGINT),
    "no reader": no_reader,
}
ENDED_BY = {"SIGKILL": (-signal.SIGKILL,), "SIGTERM": (143, -signal.SIGTERM), "SIGINT": (130,)}


# --- cells -----------------------------------------------------------------------------------------------------------


def arm(moment: str, fault: Callable[[], None]) -> None:
    """Make the fault before the n-th call of the moment's function."""
    import importlib

    module_name, path, wanted = MOMENTS[moment]
    place: Any = importlib.import_module(module_name)
    *outer, name = path.split(".")
    for one in outer:
        place = getattr(place, one)
    real, calls = getattr(place, name), [0]

    def wrapped(*given: Any, **more: Any) -> Any:
        calls[0] += 1
        if calls[0] == wanted:
            fault()
        return real(*given, **more)

    setattr(place, name, wrapped)


def forked(place: Path, words: list[str], log: Path, before: Callable[[], None] = lambda: None) -> int | None:
    """The command in a process of its own; its status, negative for a signal, None if it did not end."""
    pid = os.fork()
    if pid == 0:
        handle = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.chdir(place)
        status = 70
        try:
            from holdfast.cli.command import main

            before()
            main(words)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
        except BaseException:
            import traceback

            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(status)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def undo(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=False, capture_output=True)
    (place / FILLER).unlink(missing_ok=True)
    subprocess.run(["rm", "-rf", str(place / f"{FILLER}s")], check=False)


def ending(run: Path) -> tuple[bytes, ...]:
    files = ("checkpoints/000006/state.safetensors", "metrics.jsonl", "evals/final.json")
    return tuple((run / file).read_bytes() if (run / file).exists() else b"" for file in files)


def mounted(place: Path) -> Path:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,nr_inodes=300", "none", str(place)], check=True)
    return place


def cell(place: Path, target: str, moment: str, fault: str, whole: tuple[bytes, ...]) -> dict[str, Any]:
    log = place.with_name(f"{place.name}.log")
    mounted(place)
    train = ["train", TARGETS[target], *OPTIONS]
    status = forked(place, train, log, lambda: arm(moment, FAULTS[fault]))
    text = log.read_text(errors="replace")
    undo(place)
    started = (place / "runs/it/run.json").exists()
    again = forked(place, ["resume", "it"] if started else train, log)
    equal = ending(place / "runs/it") == whole
    subprocess.run(["umount", "-l", str(place)], check=False)
    told = [line for line in text.splitlines() if line.startswith("holdfast: error:")]
    named = "Traceback" not in text and (
        status == 0 or status in ENDED_BY.get(fault, ()) or (status == 1 and bool(told))
    )
    row = {"fault": fault, "moment": moment, "target": target, "status": status, "named": named, "resumed": again}
    row |= {"equal": equal, "error": told[-1][17:217] if told else ""}
    if not named or again != 0 or not equal:
        row["output"] = [text[-600:], log.read_text(errors="replace")[-600:]]
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FAULTS))
    parser.add_argument("--moments", default=",".join(MOMENTS))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--minutes", type=float, default=1e9)
    given = parser.parse_args()
    if os.environ.get("HOLDFAST_FAULTS") != "inside":  # mounts are this process's own
        inside = {**os.environ, "HOLDFAST_FAULTS": "inside"}
        return subprocess.run(["unshare", "-m", sys.executable, __file__, *sys.argv[1:]], env=inside).returncode
    import torch  # noqa: F401 - once, for all cells

    import holdfast.train
    import holdfast.views.report
    import holdfast.views.terminal  # noqa: F401

    deadline, bad, count, origin = time.monotonic() + 60.0 * given.minutes, 0, 0, about()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        for target in given.targets.split(","):
            first = mounted(Path(root) / f"whole-{target}")
            if forked(first, ["train", TARGETS[target], *OPTIONS], Path(root) / "whole.log") != 0:
                raise SystemExit((Path(root) / "whole.log").read_text())
            whole = ending(first / "runs/it")
            subprocess.run(["umount", "-l", str(first)], check=False)
            for moment in given.moments.split(","):
                rows = []
                for fault in given.only.split(","):
                    if time.monotonic() > deadline:
                        break
                    count += 1
                    row = cell(Path(root) / f"cell-{count}", target, moment, fault, whole)
                    is_bad = not row["named"] or row["resumed"] != 0 or not row["equal"]
                    bad += is_bad
                    verdict = "BAD" if is_bad else "ok "
                    print(f"{verdict} {target}, {moment}, {fault}: {row['status']} {row['error'][:90]}", flush=True)
                    rows.append({**row, **origin})
                if rows:
                    add_rows(RESULTS, rows, ("target", "moment", "fault"))
    print(f"{count} cells, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
