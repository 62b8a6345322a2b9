"""Run folders as a training would have written them, made without one: many, or long, or still going on."""

from __future__ import annotations

import json
import math
import os
import random
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.config.reading import load_config
from holdfast.config.sections import to_json

ROLE = "player"


def utc(moment_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment_s)) + ".000Z"


def description(preset: str = "template", age_s: float = 3600.0, **options: str) -> dict[str, Any]:
    """What run.json holds."""
    config = load_config(preset, [f"--{name}={value}" for name, value in options.items()])[0]
    created = time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(time.time() - age_s))
    facts = {
        "format": 1,
        "id": uuid.uuid4().hex,
        "holdfast": "0.1.0",
        "preset": preset,
        "command": ["holdfast", "train", preset],
    }
    return {**facts, "created": created, "versions": {"python": "3.11.7"}, "git": "0" * 40, "config": to_json(config)}


def metrics_row(iteration: int, rows: int, score: float, draw: random.Random, every: int) -> dict[str, Any]:
    """One line of metrics.jsonl: a curve that rises to `score`, with noise."""
    share = iteration / max(1, rows)
    level = score * (1.0 - math.exp(-4.0 * share))
    row: dict[str, Any] = {"iteration": iteration, "agent_steps": 8192 * iteration, "episodes": 300 * iteration}
    for name, size in (("length", 20.0), ("return", 1.0), ("arrived", 0.9)):
        row[f"episode.{name}"] = size * (level + draw.gauss(0.0, 0.05))
    for name, size in (("policy_loss", -0.01), ("value_loss", 0.5), ("entropy", 1.1), ("approx_kl", 0.01),
                       ("clip_fraction", 0.1), ("grad_norm", 0.6), ("explained_variance", 0.8)):  # fmt: skip
        row[f"learner.{ROLE}.{name}"] = size * (1.2 - share) * (1.0 + draw.gauss(0.0, 0.1))
    row[f"learner.{ROLE}.lr"] = 3e-3 * (1.0 - share)
    row |= {f"learner.{ROLE}.entropy_coef": 0.0, f"learner.{ROLE}.epochs": 4, f"learner.{ROLE}.valid_share": 1.0}
    if iteration % every == 0:
        ends = {"score": level, "score_low": level - 0.03, "score_high": level + 0.03, "score_worst": level - 0.3}
        row |= {f"evaluation.{name}": value for name, value in ends.items()} | {"evaluation.length": 20 * level}
    return row


def timing_row(iteration: int, draw: random.Random) -> dict[str, Any]:
    phases = {"act": 0.05, "world": 0.02, "collect": 0.01, "learn": 0.06, "evaluate": 0.01, "save": 0.002}
    spent = {f"phase.{name}_s": value * (1 + 0.2 * draw.random()) for name, value in phases.items()}
    facts = {"iteration": iteration, "elapsed_s": 0.16 * iteration, "agent_steps_per_s": 50_000 + draw.gauss(0, 2000)}
    return {**facts, "memory_mb": 700.0, **spent}


def make_run(
    folder: Path, rows: int = 40, planned: int | None = None, live: bool = False, score: float = 0.9, seed: int = 1,
    preset: str = "template", every: int = 10, age_s: float = 3600.0, facts: dict[str, Any] | None = None,
    **options: str,
) -> Path:  # fmt: skip
    """A finished run of `rows` iterations, or one that this process seems to be writing."""
    folder.mkdir(parents=True)
    draw = random.Random(seed)
    options = {"run.seed": str(seed), "run.iterations": str(planned or rows), **options}
    told = facts or description(preset, age_s, **options)
    told = {**told, "config": {**told["config"], "run": {**told["config"]["run"], "seed": seed}}}
    begun_s = time.time() - age_s
    write_lines(folder / "metrics.jsonl", (metrics_row(i, rows, score, draw, every) for i in range(1, rows + 1)))
    write_lines(folder / "timing.jsonl", (timing_row(i, draw) for i in range(1, rows + 1)))
    last = {"mean": score, "low": score - 0.02, "high": score + 0.02, "worst": score - 0.3, "episodes": 200}
    scripts = {"random": {**last, "mean": 0.45, "low": 0.4, "high": 0.5}, "optimal": {**last, "mean": 0.97}}
    events = [{"event": "started", "time": utc(begun_s), "iteration": 0, "notes": []}]
    events += [{"event": "evaluation", "time": utc(begun_s + i), "iteration": i, "score": last, "best": score}
               for i in range(every, min(rows, 10 * every) + 1, every)]  # fmt: skip
    (folder / "evals").mkdir()
    judged = {"iteration": 0, "score": "return", "policies": {name: {"summary": one} for name, one in scripts.items()}}
    (folder / "evals" / "yardsticks.json").write_text(json.dumps(judged))
    if not live:
        events.append({"event": "finished", "time": utc(begun_s + rows), "iteration": rows, "scores": {}})
        (folder / "result.json").write_text(
            json.dumps({"outcome": "finished", "scores": {"learned": last}, "agent_steps_per_s": 51_234.5})
        )
    write_lines(folder / "events.jsonl", events)
    write_lines(folder / "resources.jsonl", [
        {"time": utc(begun_s + 10 * i), "process_cpu_pct": 95.0 + i % 5, "process_memory_mb": 700.0}
        for i in range(6)
    ])  # fmt: skip
    beat(folder, rows, live)
    (folder / "run.json").write_text(json.dumps(told))
    return folder


def beat(folder: Path, iteration: int, live: bool, pid: int | None = None) -> None:
    """A sign of life of this process, or the last one of a run that ended."""
    facts = {"time": utc(time.time()), "host": socket.gethostname(), "pid": pid or os.getpid()}
    phase = {"phase": "learn" if live else "ended", "iteration": iteration, "agent_steps": 8192 * iteration}
    append(folder / "heartbeat.jsonl", {**facts, **phase, "idle_s": 0.1, "every_s": 30.0})


def go_on(folder: Path, iteration: int, rows: int = 1000, score: float = 0.9) -> None:
    """One more iteration of a run that is going on."""
    draw = random.Random(iteration)
    append(folder / "timing.jsonl", timing_row(iteration, draw))
    append(folder / "metrics.jsonl", metrics_row(iteration, rows, score, draw, 10))


def write_lines(path: Path, lines: Any) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def sweep(root: Path, seeds: int = 3) -> Iterator[Path]:
    """Runs of a few learning rates and batch sizes, some seeds each."""
    draw = random.Random(7)
    for rate in ("1e-3", "3e-3", "1e-2"):
        for batch in ("1024", "2048"):
            for seed in range(1, seeds + 1):
                score = {"1e-3": 0.7, "3e-3": 0.92, "1e-2": 0.8}[rate] + draw.gauss(0.0, 0.02)
                options = {"learner.lr": rate, "learner.minibatch": batch}
                name = f"lr{rate}-b{batch}-s{seed}"
                yield make_run(root / name, score=score, seed=seed, rows=60, age_s=7200 - 60 * seed, **options)
