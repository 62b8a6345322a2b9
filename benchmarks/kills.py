"""Kill a run with SIGKILL at random moments, also inside checkpoint writes, resume it each time, and compare its end
with a run that was never stopped: weights, optimiser, world, generators and metrics, byte for byte.

    python benchmarks/kills.py [kills, default 20]
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOLDFAST = Path(sys.executable).parent / "holdfast"
OPTIONS = [
    "fish", "--run.root", "runs", "--run.iterations", "60", "--checkpoint.every", "1", "--evaluation.every", "7",
    "--evaluation.world", '{"fish": 20, "steps": 60}', "--evaluation.final_episodes", "10", "--rollout.lanes", "16",
    "--learner.minibatch", "2560", "--quiet", "--no-report",
]  # fmt: skip


def ending(folder: Path) -> tuple[bytes, ...]:
    latest = (folder / "checkpoints/latest").read_text().strip()
    files = (f"checkpoints/{latest}/state.safetensors", "metrics.jsonl", "evals/final.json")
    return tuple((folder / file).read_bytes() for file in files)


def begun_to_write(folder: Path, process: subprocess.Popen[bytes]) -> None:
    events = folder / "events.jsonl"
    before = events.stat().st_size if events.exists() else 0
    while process.poll() is None and not (events.exists() and events.stat().st_size > before):
        time.sleep(0.01)


def inside_a_write(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait for the moment a checkpoint is half written."""
    while process.poll() is None and not list((folder / "checkpoints").glob(".writing-*")):
        pass


def main(kills: int) -> None:
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([HOLDFAST, "train", *OPTIONS, "--run.name", "whole"], cwd=place, check=True)
        victim = Path(place) / "runs/victim"
        done, in_writes = 0, 0
        while True:
            first = not (victim / "run.json").exists()
            words = (
                ["train", *OPTIONS, "--run.name", "victim"] if first else ["resume", "victim", "--quiet", "--no-report"]
            )
            process = subprocess.Popen([HOLDFAST, *words], cwd=place)
            if done == kills:
                if process.wait() != 0:
                    raise SystemExit("the resumed run failed")
                break
            begun_to_write(victim, process)
            if done % 2:
                inside_a_write(victim, process)
                in_writes += 1
            else:
                time.sleep(chance.random() * 0.5)
            process.kill()
            process.wait()
            done += 1
        equal = ending(victim) == ending(Path(place) / "runs/whole")
    found = {"kills": done, "of_them_inside_a_checkpoint_write": in_writes, "same_bytes_at_the_end": equal}
    print(json.dumps(found))
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "kills.json").write_text(json.dumps(found) + "\n")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
