"""Runs of a tree's own command line, by subprocess only, so that any commit can be driven."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from golden_bytes.kinds import EVERY_RUN, KINDS, PRESETS, Kind
from golden_bytes.names import Names
from golden_bytes.reading import lean, read_run

WORLDS = Path(__file__).with_name("world.py")
PATIENCE_S, LOOK_S = 900.0, 0.002
PLAIN = Kind("", {})  # a command that ends well and is not interrupted
NOT_WHEN_RESUMED = {"interrupted", "resumed", "checkpoint", "started"}  # events that depend on when it was stopped


class GoldenError(Exception):
    """A run that did not go as its kind says; the text names the kind and what the command said."""


class Tree(NamedTuple):
    """Sources under test and a folder of its own to run them in."""

    folder: Path
    work: Path
    names: Names

    def environment(self) -> dict[str, str]:
        """The tree's package and golden worlds first; one thread in everything that reads the environment."""
        places = os.pathsep.join(str(place) for place in (self.folder / "src", self.work))
        single = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        return {**os.environ, **single, "PYTHONPATH": places, "PYTHONHASHSEED": "0"}


def open_tree(folder: Path, work: Path, names: Names) -> Tree:
    if not (folder / "src" / "holdfast").is_dir():
        raise GoldenError(f"{folder}: no src/holdfast there")
    (work / "runs").mkdir(parents=True)
    text = WORLDS.read_text()
    for old, new in names.modules.items():
        if not (folder / "src" / Path(*old.split("."))).with_suffix(".py").exists():
            text = text.replace(f"from {old} import", f"from {new} import")
    (work / "golden_world.py").write_text(text)
    return Tree(folder.resolve(), work, names)


def run_kind(tree: Tree, name: str) -> dict[str, Any]:
    """The whole record of one kind."""
    begun, kind = time.monotonic(), KINDS[name]
    if kind.verb == "presets":
        record: dict[str, Any] = {"outputs": preset_outputs(tree)}
    elif kind.verb == "train":
        record = train_kind(tree, name, kind)
    else:
        words = [kind.verb, kind.target, "--json"]
        done = call(tree, name, words, {**EVERY_RUN, **kind.options})
        record = {"outputs": {kind.verb: lean(json.loads(done.stdout))}}
    return {"kind": name, **record, "elapsed_s": round(time.monotonic() - begun, 1)}


def train_kind(tree: Tree, name: str, kind: Kind) -> dict[str, Any]:
    folder = tree.work / "runs" / name
    options = {**EVERY_RUN, **kind.options, "run.root": "runs", "run.name": name}
    words = ["train", kind.target, "--quiet", "--no-report"]
    call(tree, name, words, options, kind)
    if kind.interrupt_after:
        call(tree, name, ["resume", name, "--quiet", "--no-report"], {}, kind._replace(interrupt_after=0))
    record = read_run(folder)
    if kind.interrupt_after:
        record["events"] = [event for event in record["events"] if event["event"] not in NOT_WHEN_RESUMED]
        record["evals"].get("yardsticks", {}).pop("iteration", None)  # judged again where the run was resumed
    record["outputs"] = {line: after(tree, name, line) for line in kind.after}
    shutil.rmtree(folder)
    return record


def after(tree: Tree, name: str, line: str) -> Any:
    done = call(tree, name, line.format(run=name).split(), {})
    return lean(json.loads(done.stdout))


class Done(NamedTuple):
    """A command that ended as it should."""

    stdout: str
    stderr: str


def call(tree: Tree, name: str, words: list[str], options: dict[str, str], kind: Kind = PLAIN) -> Done:
    """Run a command; names that the tree does not know any more are replaced by the map's, and it is run again."""
    wanted = 130 if kind.interrupt_after else kind.exit_status
    status, done = attempt(tree, name, words, options, kind)
    for everything in (False, True):
        if status != 2 or wanted == 2:
            break
        words, options = tree.names.modern(words, options, "" if everything else done.stderr)
        status, done = attempt(tree, name, words, options, kind)
    if status != wanted:
        command = " ".join(["holdfast", *words, *as_words(options)])
        raise GoldenError(f"{name}: exit status {status}, not {wanted}\n{command}\n{done.stderr[-3000:]}")
    return done


def attempt(tree: Tree, name: str, words: list[str], options: dict[str, str], kind: Kind) -> tuple[int, Done]:
    command = [sys.executable, "-m", "holdfast", *words, *as_words(options)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=tree.work, env=tree.environment(), text=True, **pipes)
    if kind.interrupt_after:
        interrupt(process, tree.work / "runs" / name, kind.interrupt_after)
    try:
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise GoldenError(f"{name}: still running after {PATIENCE_S:g} s: {' '.join(command)}") from None
    return process.returncode, Done(stdout, stderr)


def as_words(options: dict[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in options.items()]


def interrupt(process: subprocess.Popen[str], folder: Path, rows: int) -> None:
    """Send SIGINT once the run has written so many rows of metrics."""
    path = folder / "metrics.jsonl"
    while process.poll() is None:
        if path.is_file() and path.read_bytes().count(b"\n") >= rows:
            process.send_signal(signal.SIGINT)
            return
        time.sleep(LOOK_S)


def preset_outputs(tree: Tree) -> dict[str, Any]:
    """The whole configuration of every preset and what it plans, from dry runs."""
    found = {}
    for preset in PRESETS:
        rom = {"world.rom": "own"} if preset.startswith("mario") else {}
        done = call(tree, preset, ["train", preset, "--dry-run", "--json"], {"run.allow_slow": "true", **rom})
        found[preset] = lean(json.loads(done.stdout))
    return found
