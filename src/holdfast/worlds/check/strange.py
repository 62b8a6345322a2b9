"""Proof that no saved lane can harm: extreme numbers are refused by name, or lie where the kernels can live with them.

Tried in processes of their own, because a kernel that leaves its arrays ends the process, if one is lucky: first with
the compiled kernels, then in plain Python, which notices every index that is out of range. Run as a module, it is one
of these processes: it prints what it is about to try.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.kit.errors import SituationError
from holdfast.worlds.api import ArrayWorld, World
from holdfast.worlds.bounds import undeclared
from holdfast.worlds.check.subject import Broken, NotApplicable, Subject, advance
from holdfast.worlds.spec import Situation
from holdfast.worlds.trust import name_world

LANES, BEFORE, AFTER = 2, 3, 2  # steps before a lane is saved, and after it was loaded
PLAIN_S = 30.0  # plain Python is slow: what it does not come to in this time is left to the compiled kernels
PATIENCE_S = 600.0
REFUSED, LIVED, OVER = "refused", "lived", "over"


def strange_rows_are_refused(subject: Subject) -> str:
    world = subject.begun(lanes=LANES)
    if not isinstance(world, ArrayWorld):
        raise NotApplicable("it keeps its lanes its own way")
    missing = undeclared(dict(world.save(np.arange(LANES)).rows), world.all_bounds())
    if missing:
        raise Broken(f"bounds() does not say which values these integers may have: {', '.join(missing)}")
    counts = [_tried(subject, plain) for plain in (False, True)]
    refused, lived = counts[0]
    return f"{refused} extremes refused, {lived} lived with; {sum(counts[1])} of them tried in plain Python, too"


def _tried(subject: Subject, plain: bool) -> tuple[int, int]:
    """How many extremes were refused, and how many were loaded and lived with."""
    task = {"name": subject.name, "options": subject.options, "seed": subject.seed, "plain": plain}
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if plain:
        surroundings["NUMBA_DISABLE_JIT"] = "1"
    command = [sys.executable, "-P", "-m", "holdfast.worlds.check.strange", json.dumps(task)]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=PATIENCE_S)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    last = lines[-1]["trying"] if lines else "nothing yet"
    if done.returncode < 0:
        raise Broken(f"with {last} the process ended by {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise Broken(f"with {last}: {done.stderr.strip()[-1000:]}")
    wrong = [line for line in lines if line.get("problem")]
    if wrong:
        raise Broken("; ".join(f"{line['trying']}: {line['problem']}" for line in wrong[:5]))
    outcomes = [line.get("outcome") for line in lines]
    return outcomes.count(REFUSED), outcomes.count(LIVED)


def extremes(array: np.ndarray, bound: Any) -> Iterator[Any]:
    """The ends of the type, and what lies just beyond the declared bounds."""
    if array.dtype.kind in "iu":
        kinds = np.iinfo(array.dtype)
        beyond = [] if bound is None else [int(np.min(bound[0])) - 1, int(np.max(bound[1])) + 1]
        yield from dict.fromkeys(one for one in (kinds.min, kinds.max, *beyond) if kinds.min <= one <= kinds.max)
    elif array.dtype.kind == "f":
        largest = float(np.finfo(array.dtype).max)
        yield from (np.nan, np.inf, -np.inf, largest, -largest)


def _is_lawful(value: Any, bound: Any) -> bool:
    return bound is not None and bool(np.all(bound[0] <= value)) and bool(np.all(value <= bound[1]))


def _outcomes(world: ArrayWorld, deadline: float) -> Iterator[dict[str, str]]:
    lanes = np.arange(world.lanes)
    good, bounds = world.save(lanes), world.all_bounds()
    for name, array in good.rows.items():
        if name in world.OWN:  # never loaded from a situation, but from a checkpoint
            continue
        for value in extremes(array, bounds.get(name)):
            if time.monotonic() > deadline:
                return
            print(json.dumps({"trying": f"{name} = {value}"}), flush=True)
            rows = {**good.rows, name: np.full_like(array, value)}
            outcome = _outcome(world, lanes, replace(good, rows=rows, checked=False))
            is_integer = array.dtype.kind in "iu"
            must = is_integer and not _is_lawful(value, bounds.get(name))
            problem = "out of its bounds and loaded" if must and outcome == LIVED else ""
            yield {"trying": f"{name} = {value}", "outcome": outcome, "problem": problem}
            world.load(lanes, good)


def _outcome(world: World, lanes: np.ndarray, situation: Situation) -> str:
    try:
        world.load(lanes, situation)
    except SituationError:
        return REFUSED
    with np.errstate(all="ignore"):
        advance(world, AFTER)
    return LIVED


def main(task: str) -> None:
    given = json.loads(task)
    name_world(given["name"])  # it was admitted where the task comes from
    subject = Subject(given["name"], given["options"], LANES, BEFORE, given["seed"])
    world = subject.begun()
    advance(world, BEFORE)
    assert isinstance(world, ArrayWorld)
    deadline = time.monotonic() + (PLAIN_S if given["plain"] else PATIENCE_S)
    for line in _outcomes(world, deadline):
        print(json.dumps(line), flush=True)
    subject.close()


if __name__ == "__main__":
    main(sys.argv[1])
