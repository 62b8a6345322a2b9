"""Runs of a tree's own command line, by subprocess only, so that any commit can be driven."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from golden_bytes.kinds import EVERY_RUN, KINDS, PRESETS, Kind
from golden_bytes.names import Names
from golden_bytes.reading import lean, read_run

WORLDS, WARM = (Path(__file__).with_name(name) for name in ("world.py", "warm.py"))
PATIENCE_S, LOOK_S = 900.0, 0.002
PLAIN = Kind("", {})  # a command that ends well and is not interrupted
NOT_WHEN_RESUMED = {"interrupted", "resumed", "checkpoint", "started"}  # events that depend on when it was stopped


class GoldenError(Exception):
    """A run that did not go as its kind says; the text names the kind and what the command said."""


class Done(NamedTuple):
    """A command that ended."""

    status: int
    stdout: str
    stderr: str


class Server:
    """A warm process of a tree (see warm.py), which runs one command at a time."""

    def __init__(self, environment: dict[str, str]) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, str(WARM)]
        self.process = subprocess.Popen(command, env=environment, text=True, start_new_session=True, **pipes)

    def run(self, words: list[str], work: Path, out: Path, meanwhile: Callable[[int], None]) -> Done:
        requests = self.process.stdin
        assert requests is not None
        requests.write(json.dumps({"words": words, "cwd": str(work), "out": str(out)}) + "\n")
        requests.flush()
        process = self.answer()
        last = threading.Timer(PATIENCE_S, os.kill, (process, signal.SIGKILL))
        last.start()
        try:
            meanwhile(process)
            status = self.answer()
        finally:
            last.cancel()
        return Done(status, *(out.with_name(out.name + end).read_text() for end in (".out", ".err")))

    def answer(self) -> int:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise GoldenError(f"the process that runs the commands ended with status {self.process.wait()}")
        return int(line)

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate("")

    def kill(self) -> None:
        """With the command it is running."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Tree:
    """Sources under test, a folder of its own to run them in, and idle servers."""

    folder: Path
    work: Path
    names: Names
    idle: queue.Queue[Server]
    make: Callable[[], Server]
    made: list[Server] = field(default_factory=list)

    def run(self, name: str, words: list[str], meanwhile: Callable[[int], None]) -> Done:
        server = self.idle.get()
        if server.process.poll() is not None:  # it was ended from outside
            server = self.start()
        try:
            return server.run(words, self.work, self.work / "out" / name, meanwhile)
        finally:
            self.idle.put(server)

    def start(self) -> Server:
        self.made.append(self.make())
        return self.made[-1]


@contextmanager
def open_tree(folder: Path, work: Path, names: Names, jobs: int) -> Iterator[Tree]:
    """A tree with its servers, for as long as it is needed."""
    source = folder.resolve() / "src"
    if not (source / "holdfast").is_dir():
        raise GoldenError(f"{folder}: no src/holdfast there")
    for place in ("runs", "out"):
        (work / place).mkdir(parents=True)
    (work / "golden_world.py").write_text(names.world_for(source, WORLDS.read_text()))
    single = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    paths = {"PYTHONPATH": os.pathsep.join((str(source), str(work))), "PYTHONHASHSEED": "0"}
    tree = Tree(folder.resolve(), work, names, queue.Queue(), lambda: Server({**os.environ, **single, **paths}))
    for _ in range(jobs):
        tree.idle.put(tree.start())
    try:
        yield tree
    except BaseException:
        for server in tree.made:
            server.kill()
        raise
    for _ in range(jobs):
        tree.idle.get().close()


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
    return {"kind": name, "asked": kind._asdict(), **record, "elapsed_s": round(time.monotonic() - begun, 1)}


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


def call(tree: Tree, name: str, words: list[str], options: dict[str, str], kind: Kind = PLAIN) -> Done:
    """Run a command; names that the tree does not know any more are replaced by the map's, and it is run again."""
    wanted = 130 if kind.interrupt_after else kind.exit_status

    def meanwhile(process: int) -> None:
        if kind.interrupt_after:
            interrupt(process, tree.work / "runs" / name, kind.interrupt_after)

    done = tree.run(name, [*words, *as_words(options)], meanwhile)
    for everything in (False, True):
        if done.status != 2 or wanted == 2:
            break
        words, options = tree.names.modern(words, options, "" if everything else done.stderr)
        done = tree.run(name, [*words, *as_words(options)], meanwhile)
    if done.status != wanted:
        command = " ".join(["holdfast", *words, *as_words(options)])
        raise GoldenError(f"{name}: exit status {done.status}, not {wanted}\n{command}\n{done.stderr[-3000:]}")
    return done


def as_words(options: dict[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in options.items()]


def interrupt(process: int, folder: Path, rows: int) -> None:
    """Send SIGINT once the run has written so many rows of metrics; nothing if it ends before."""
    path = folder / "metrics.jsonl"
    with contextlib.suppress(ProcessLookupError):
        while not path.is_file() or path.read_bytes().count(b"\n") < rows:
            os.kill(process, 0)  # is it still there?
            time.sleep(LOOK_S)
        os.kill(process, signal.SIGINT)


def preset_outputs(tree: Tree) -> dict[str, Any]:
    """The whole configuration of every preset and what it plans, from dry runs."""
    found = {}
    for preset in PRESETS:
        rom = {"world.rom": "own"} if preset.startswith("mario") else {}
        done = call(
            tree, f"presets-{preset}", ["train", preset, "--dry-run", "--json"], {"run.allow_slow": "true", **rom}
        )
        found[preset] = lean(json.loads(done.stdout))
    return found
