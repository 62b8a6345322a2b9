"""Proof that the compiler changes nothing: the same short run in a process without it, compared by digests.

Run as a module, it is that other process: it prints one line of JSON per step.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from holdfast.worlds.api import World
from holdfast.worlds.check.subject import Broken, NotApplicable, Subject, advance, everything
from holdfast.worlds.registry import world_class
from holdfast.worlds.trust import name_world

LANES = 2
STEPS = 50
SECONDS = 30.0  # a rich world may need seconds per step without a compiler: then fewer steps are compared
PATIENCE_S = 600.0

Digests = dict[str, str]


def digests(world: World) -> Iterator[Digests]:
    """One table per step, the first before any step."""
    for step in range(STEPS + 1):
        if step:
            advance(world)
        yield {name: hashlib.sha256(array.tobytes()).hexdigest()[:16] for name, array in everything(world).items()}


def plain_python_agrees(subject: Subject) -> str:
    from holdfast.worlds.gym import GymWorld

    if issubclass(world_class(subject.name), GymWorld):
        raise NotApplicable(f"{subject.name} is not compiled by Holdfast")
    plain = _plain_digests(subject)
    compiled = digests(subject.begun(lanes=LANES))
    for step, (one, other) in enumerate(zip(plain, compiled, strict=False)):
        different = [name for name in one if one[name] != other.get(name)]
        if different:
            raise Broken(f"after {step} steps plain Python differs from the compiled kernels in {', '.join(different)}")
    return f"equal over {len(plain) - 1} steps of {LANES} lanes"


def _plain_digests(subject: Subject) -> list[Digests]:
    task = json.dumps({"name": subject.name, "options": subject.options, "seed": subject.seed})
    surroundings = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", "holdfast.worlds.check.plain", task]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode:
        raise Broken(f"plain Python failed:\n{done.stderr.strip()[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main(task: str) -> None:
    given = json.loads(task)
    name_world(given["name"])  # it was admitted where the task comes from
    world = Subject(given["name"], given["options"], LANES, STEPS, given["seed"]).begun()
    deadline = time.monotonic() + SECONDS
    for table in digests(world):
        print(json.dumps(table), flush=True)
        if time.monotonic() > deadline:
            break


if __name__ == "__main__":
    main(sys.argv[1])
