"""Ray as the executor: one task per piece of a trial, scheduled and retried by Ray on whatever nodes there are.

Without storage that all nodes see, every piece ships the run folder there and what changed of it back; what a lost node
had not sent is computed again elsewhere, with the same bytes. Ray's core only; its dashboard and usage statistics stay
off, and a Ray that is started here listens on loopback alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

from holdfast.kit.errors import ConfigError, HoldfastError, MissingPackage, RunFolderError
from holdfast.studies.executor import Ended, How, cores
from holdfast.studies.folder import StudyFolder
from holdfast.studies.local import LOGS
from holdfast.studies.piece import REACHED, Piece, exists, saved_iteration, standing
from holdfast.studies.plan import Plan
from holdfast.studies.shipping import Parcel, pack, unpack
from holdfast.studies.versions import skew, versions

LONGEST_CONNECT_S = 8.0
LONGEST_CHECK_S = 60.0
RETRIES = 3  # of a task whose node or process was lost; after that the engine begins the piece anew
HERE = "ray"
ONLY_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # 0: nodes have the address 127.0.0.1, on Linux too


class ClusterError(HoldfastError):
    """Ray does not answer, or its nodes cannot run a study."""


@dataclasses.dataclass
class Task:
    """A piece at work, and the part of it that a node has."""

    piece: Piece
    begun_s: float
    ref: Any
    notes: tuple[str, ...] = ()  # of earlier parts


class Cluster:
    """The nodes of a Ray cluster, or a Ray of this machine's own."""

    compiles_here = False

    def __init__(self, folder: StudyFolder, plan: Plan, how: How) -> None:
        if how.storage and how.piece:
            raise ConfigError(["--piece has no effect with --storage: a run there needs no shipping"])
        if how.piece < 0:
            raise ConfigError([f"--piece {how.piece}: must be 1 or more"])
        self.ray = import_ray(how.on)
        self.folder, self.plan, self.how = folder, plan, how
        self.storage = _shared(folder, how.storage) if how.storage else None
        self.tasks: dict[int, Task] = {}
        self.waiting_notes: list[str] = []
        self.interruptions = 0
        self.told: set[str] = set()
        self.was_connected = self.ray.is_initialized()
        if not self.was_connected:
            connect(self.ray, how.on)
        try:
            self._check_nodes()
            self.slots = how.jobs or max(1, int(self.ray.cluster_resources().get("CPU", 1)) // plan.threads)
            from holdfast.studies import node

            self.board = self._board(node.Board)
            self.work = self.ray.remote(max_retries=RETRIES)(node.work)
        except BaseException:
            self.close()
            raise
        self.node = node

    def _board(self, kind: type) -> Any:
        """On the driver's own node: it must not be lost with another."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self.ray.get_runtime_context().get_node_id(), soft=False)
        return self.ray.remote(num_cpus=0)(kind).options(scheduling_strategy=here).remote()

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _check_nodes(self) -> None:
        """Every node must have Holdfast; what else is not as here is told, or refused if strict."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        def look() -> Any:  # sent by value: the node may have no Holdfast to import it from
            try:
                from holdfast.studies.versions import versions

                return versions()
            except ImportError as error:
                return str(error)

        task, asked = self.ray.remote(num_cpus=0)(look), {}
        for one in self.ray.nodes():
            if one["Alive"]:
                pinned = NodeAffinitySchedulingStrategy(one["NodeID"], soft=False)
                asked[one["NodeManagerAddress"] + ":" + one["NodeID"][:8]] = task.options(
                    scheduling_strategy=pinned
                ).remote()
        problems, unreachable = [], []
        for name, ref in asked.items():
            try:
                found = self.ray.get(ref, timeout=LONGEST_CHECK_S)
            except self.ray.exceptions.RayError as error:
                unreachable.append(f"node {name} cannot run a task: {type(error).__name__}")
                continue
            if isinstance(found, str):
                problems.append(f"node {name} has no Holdfast like this one ({found}): install the same on all nodes")
            elif other := skew(versions(), found):
                text = f"node {name} differs: {', '.join(other)}; bytes may differ too"
                if self.how.strict:
                    problems.append(text)
                else:
                    self.waiting_notes.append(text)
        if len(unreachable) == len(asked):
            problems += unreachable
        else:  # a node that was lost a moment ago; Ray gives its tasks to others
            self.waiting_notes += unreachable
        if problems:
            raise ClusterError("; ".join(problems))

    # --- pieces ------------------------------------------------------------------------------------------------------

    def start(self, piece: Piece) -> str:
        self.tasks[piece.trial] = Task(piece, time.monotonic(), self._submit(piece))
        notes, self.waiting_notes = self.waiting_notes, []
        return "; ".join(notes)

    def _submit(self, piece: Piece) -> Any:
        """The next part of the piece that one task does."""
        if self.storage is not None:
            order = self.node.Order(piece.moved(self.storage), None, versions(), self.how.strict)
        else:
            parcel = pack(piece.folder) if exists(piece.folder) else Parcel(b"", [])
            part = dataclasses.replace(piece, until=self._part_until(piece))
            order = self.node.Order(part, parcel, versions(), self.how.strict)
        return self.work.options(num_cpus=piece.threads).remote(self.ray.put(order), self.board)

    def _part_until(self, piece: Piece) -> int | None:
        """Where a task ends: after so many iterations from the last checkpoint, if the run is longer than that."""
        known = {**self.folder.began().get(piece.target, {}), **piece.options}
        length = int(known.get("run.iterations", 0))
        size = self.how.piece or int(known.get("checkpoint.every", 1))
        until = (saved_iteration(piece.folder) // size + 1) * size
        if piece.until is not None:
            return min(until, piece.until)
        return until if until < length else None

    def ended(self) -> list[Ended]:
        if not self.tasks:
            return []
        refs = {task.ref: trial for trial, task in self.tasks.items()}
        ready, _ = self.ray.wait(list(refs), num_returns=len(refs), timeout=0)
        found = [self._answered(refs[ref]) for ref in ready]
        return [ended for ended in found if ended is not None]

    def _answered(self, trial: int) -> Ended | None:
        """What came of a task; None if the piece goes on in another one."""
        task = self.tasks.pop(trial)
        elapsed_s, errors = time.monotonic() - task.begun_s, self.ray.exceptions
        try:
            answer = self.ray.get(task.ref)
        except errors.RayTaskError as error:
            return Ended(trial, 1, elapsed_s, str(error), self._log(task.piece, str(error)))
        except errors.RayError as error:  # the node or its process was lost more often than Ray tries again
            return Ended(trial, -9, elapsed_s, str(error), self._log(task.piece, str(error)))
        notes = (*task.notes, *self._notes(trial, answer))
        log = self._log(task.piece, answer.words)
        if answer.parcel is not None and answer.parcel.files:
            unpack(answer.parcel, task.piece.folder)
        reached = standing(dataclasses.replace(task.piece, until=task.piece.until or 10**18)).state
        part_only = answer.status == self.node_reached and reached is None
        if part_only and not self.interruptions:
            self.tasks[trial] = dataclasses.replace(task, ref=self._submit(task.piece), notes=notes)
            return None
        return Ended(trial, answer.status, elapsed_s, answer.words, log, notes)

    @property
    def node_reached(self) -> int:
        from holdfast.studies.worker import STATUS

        return STATUS[REACHED]

    def _notes(self, trial: int, answer: Any) -> list[str]:
        notes = []
        nodes = self.ray.get(self.board.began_on.remote(trial))
        if len(nodes) > 1:
            notes.append(f"trial {trial} was lost with node {nodes[-2]} and went on at {nodes[-1]} from its checkpoint")
        if answer.skew and answer.node not in self.told:
            self.told.add(answer.node)
            notes.append(f"node {answer.node} differs: {', '.join(answer.skew)}; bytes may differ too")
        return notes

    def _log(self, piece: Piece, words: str) -> str:
        path = self.folder.path / LOGS / f"{piece.run}.log"
        try:
            path.parent.mkdir(exist_ok=True)
            with path.open("a") as file:
                file.write(words)
        except OSError as error:
            raise RunFolderError(f"{path} cannot be written: {error.strerror}") from error
        return str(path.relative_to(self.folder.path))

    # --- the end -----------------------------------------------------------------------------------------------------

    def interrupt(self, number: int) -> None:
        """The first time all save and stop, the second time they are killed."""
        self.interruptions += 1
        if self.interruptions == 1:
            self.ray.get(self.board.stop_all.remote())
            return
        for task in self.tasks.values():
            self.ray.cancel(task.ref, force=True)

    def cpu_shares(self) -> dict[int, float]:
        return {}

    def close(self) -> None:
        if not self.was_connected:
            self.ray.shutdown()


# --- connecting ------------------------------------------------------------------------------------------------------


def import_ray(on: str) -> Any:
    """Ray, told before it loads what it reads only then; one that is started here stays on loopback."""
    if on == HERE:
        os.environ.setdefault(ONLY_LOOPBACK, "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # no task here asks for a GPU
    try:
        import ray
    except ImportError as error:
        raise MissingPackage("--on ray needs Ray: pip install 'holdfast[studies]'") from error
    return ray


def connect(ray: Any, on: str) -> None:
    """Start a Ray here, or join one; ClusterError within ten seconds if it does not answer."""
    quiet = {"log_to_driver": False, "logging_level": "error"}
    if on == HERE:
        ray.init(address="local", num_cpus=cores(), include_dashboard=False, **quiet)
        return
    if on != "auto":
        _knock(on)
    failed: list[BaseException] = []

    def join() -> None:
        try:
            ray.init(address=on, **quiet)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=join, daemon=True)
    thread.start()
    thread.join(LONGEST_CONNECT_S)
    if failed or thread.is_alive():
        reason = str(failed[0]).splitlines()[0] if failed and str(failed[0]) else f"silent for {LONGEST_CONNECT_S:g} s"
        raise ClusterError(f"--on {on}: no Ray cluster answers ({reason}); ray start --head begins one")


def _knock(address: str) -> None:
    """Is anything listening there?"""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not host or not port.isdecimal():
        raise ConfigError([f"--on {address}: local, ray, auto, HOST:PORT or ray://HOST:PORT"])
    try:
        with contextlib.closing(socket.create_connection((host, int(port)), timeout=4.0)):
            pass
    except OSError as error:
        raise ClusterError(f"--on {address}: no Ray cluster answers ({error}); ray start --head begins one") from error


def _shared(folder: StudyFolder, storage: str) -> Path:
    """The runs' folder on storage that all nodes see; the study's own folder links to it."""
    place = (Path(storage) / folder.name / "runs").resolve()
    try:
        place.mkdir(parents=True, exist_ok=True)
        folder.path.mkdir(parents=True, exist_ok=True)
        if not folder.runs.exists():
            folder.runs.symlink_to(place)
    except OSError as error:
        raise RunFolderError(f"--storage {storage}: {error.strerror or error}") from error
    if folder.runs.resolve() != place:
        raise ConfigError(
            [f"--storage {storage}: the runs of study {folder.name} are in {folder.runs.resolve()} already"]
        )
    return place
