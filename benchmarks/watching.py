"""What all the watching costs: one run whose watching is switched on and off, block of iterations by block, compared
pair by pair. CPU seconds count what the monitor's and TensorBoard's threads take, too, and depend less on what else the
machine does than the clock on the wall; both are told, as the mean over pairs with its interval. The machine's speed
wanders by several per cent within seconds, so blocks are short and pairs are many. The watching itself is added up as
well (`own`): CPU time of writing an iteration's lines, per CPU second of the loop, and of the threads beside it, which
go by the clock, per second on the wall; both beyond what they take without it.

    python benchmarks/watching.py [pairs, default 300]

On: all that is on by default (heartbeat, resources, slow steps, hints, episodes, Parquet, TensorBoard). The monitor
goes by the clock, so with every second block off it does up to twice its share in the others. Off: nothing but
metrics.jsonl, timing.jsonl and events.jsonl. One thread for kernels and torch: none waits busily for another.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.config.reading import load_config
from holdfast.kit.intervals import bootstrap_mean
from holdfast.run import Run, open_run
from holdfast.runs.folder import create_run
from holdfast.runs.monitor import STEP
from holdfast.runs.recorder import Recorder
from holdfast.runs.watch import Progress
from holdfast.train import loop
from holdfast.views.terminal import Quiet

ALWAYS = {
    "rollout.threads": "1",
    "run.iterations": "1000000",
    "checkpoint.every": "1000000",
    "evaluation.every": "0",
    "run.stop_score": "none",
}
OFF = {
    "metrics.heartbeat_s": "0",
    "metrics.monitor_s": "0",
    "metrics.episodes": "0",
    "metrics.parquet": "false",
    "metrics.hints": "false",
    "run.tensorboard": "false",
}
FISH = """
[world]
name = "fish"
fish = 25
steps = 120
[learner]
minibatch = 10240
normalize_observations = false
"""
LIMIT = 0.02
BLOCKS = {"template": 2, "fish": 1}  # iterations: under a second


def other_threads_s() -> float:
    """CPU seconds of the living threads beside this one, to the nanosecond."""
    spent = 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it may end while we look
            spent += int((task / "schedstat").read_text().split()[0]) * (int(task.name) != threading.get_native_id())
    return spent / 1e9


class Meter:
    """A recorder whose writing is timed."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.real, self.spent_s = recorder, recorder.write, 0.0
        recorder.write = self.write  # type: ignore[method-assign]

    def write(self, *rest: Any) -> Any:
        begun = time.thread_time()
        try:
            return self.real(*rest)
        finally:
            self.spent_s += time.thread_time() - begun


def rest(now_s: float) -> None:
    """A monitor that looks at nothing."""


class Enough(Exception):
    """All pairs are measured."""


@dataclass
class Switch(Quiet):
    """Ends a block after so many iterations, and begins the next with watching on or off (on, off, off, on, ...)."""

    block: int
    pairs: int
    left: int = 0
    is_on: bool = True
    taken: list[tuple[bool, float, float]] = field(default_factory=list)  # on?, CPU seconds, wall seconds

    def open(self, training: Run, off: Recorder) -> None:
        self.training, self.on_recorder, self.off_recorder = training, training.recorder, off
        self.monitor, self.look = training.recorder.monitor, training.recorder.monitor.look
        self.meters = {True: Meter(self.on_recorder), False: Meter(off)}
        self.writing_s = {True: 0.0, False: 0.0}  # in all blocks but the first pair
        self.threads_s = {True: 0.0, False: 0.0}

    def iteration(self, progress: Progress) -> None:
        self.left -= 1
        if self.left > 0:
            return
        now = time.process_time(), time.perf_counter()
        if self.left == 0:
            self.taken.append((self.is_on, now[0] - self.begun[0], now[1] - self.begun[1]))
            if len(self.taken) > 2:
                self.writing_s[self.is_on] += self.meters[self.is_on].spent_s
                self.threads_s[self.is_on] += other_threads_s() - self.begun[2]
        if len(self.taken) == 2 * self.pairs + 2:  # the first pair warms up
            raise Enough
        self.is_on = len(self.taken) % 4 in (0, 3)
        self.training.recorder = self.on_recorder if self.is_on else self.off_recorder
        self.monitor.look = self.look if self.is_on else rest  # type: ignore[method-assign]
        observers = self.training.clock.observers
        observers |= {STEP: self.monitor.step_took}
        if not self.is_on:
            del observers[STEP]
        self.left, self.meters[self.is_on].spent_s = self.block, 0.0
        self.begun = time.process_time(), time.perf_counter(), other_threads_s()


def measure(root: Path, target: str, block: int, pairs: int) -> dict[str, Any]:
    options = {**ALWAYS, "run.root": str(root)}
    on, _ = load_config(target, [f"--{name}={value}" for name, value in options.items()])
    off, _ = load_config(target, [f"--{name}={value}" for name, value in {**options, **OFF}.items()])
    switch = Switch(block, pairs)
    training = open_run(on, create_run(on, target, ["benchmark"]), switch)
    beside = Recorder(create_run(off, target, ["benchmark"]).folder, off, training.clock)
    beside.open(training.state.world.spec, 0, 0, {})
    switch.open(training, beside)
    with suppress(Enough):
        training.start(loop)
    pairs_taken = [switch.taken[i : i + 2] for i in range(2, len(switch.taken), 2)]
    own = share(switch.writing_s, pairs_taken, 1) + share(switch.threads_s, pairs_taken, 2)
    cpu, wall = overhead(pairs_taken, 1), overhead(pairs_taken, 2)
    return {"pairs": pairs, "own": round(own, 4), "cpu_overhead": cpu, "wall_overhead": wall}


def share(spent_s: dict[bool, float], pairs: list[list[tuple[bool, float, float]]], index: int) -> float:
    """Seconds spent with watching over those of its blocks, less the same without."""
    blocks = [block for pair in pairs for block in pair]
    whole = {is_on: sum(float(block[index]) for block in blocks if block[0] == is_on) for is_on in (True, False)}
    return spent_s[True] / whole[True] - spent_s[False] / whole[False]


def overhead(pairs: list[list[tuple[bool, float, float]]], index: int) -> dict[str, float]:
    """Of seconds with watching over those without: the mean over pairs with its interval, and the median pair."""
    on = np.array([next(block[index] for block in pair if block[0]) for pair in pairs])
    off = np.array([next(block[index] for block in pair if not block[0]) for pair in pairs])
    more = np.log(on / off)  # a pair the wrong way round must count as much as one the right way
    low, high = bootstrap_mean(more)
    found = {"mean": more.mean(), "low": low, "high": high, "median": float(np.median(more))}
    return {name: round(float(np.expm1(value)), 4) for name, value in found.items()}


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    found = {}
    for name, block in BLOCKS.items():
        with tempfile.TemporaryDirectory() as folder:
            target = name
            if name == "fish":  # the preset's settings without its schedule and gate, which need evaluations
                target = f"{folder}/fish.toml"
                Path(target).write_text(FISH)
            found[name] = measure(Path(folder), target, block, pairs)
        print(f"{name}: {json.dumps(found[name])}", flush=True)
    path = Path(__file__).parent / "results" / "watching.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    worst = max(row["cpu_overhead"]["mean"] for row in found.values())
    print(f"watching costs at most {worst:.2%} of CPU time (mean over pairs); the limit is {LIMIT:.0%}")
    sys.exit(0 if worst < LIMIT else 1)


if __name__ == "__main__":
    main()
