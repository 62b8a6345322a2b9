"""`Study`: seeds, a grid, a search or a population of runs of one or more targets, kept in a folder and gone on with.

    table = Study("rates", target="template", seeds=range(1, 11), grid={"learner.lr": [1e-3, 3e-3]}).run(jobs=2)

Done again, it goes on: with what an interruption or a crash left, and with what a longer list of seeds adds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.kit.errors import ConfigError
from holdfast.studies.comparison import Comparison, compare
from holdfast.studies.engine import Engine, Interrupted, Silent, Stop, StudyWatch
from holdfast.studies.executor import Executor, How, cores
from holdfast.studies.folder import StudyFolder
from holdfast.studies.kernels import Kernels
from holdfast.studies.local import Local
from holdfast.studies.piece import exists
from holdfast.studies.plan import Plan, extended, plan_of, read_plan
from holdfast.studies.trials import DONE, FAILED, LOST, PRUNED, RUNNING, WAITING, Trial, TrialLog, run_name


@dataclass(frozen=True)
class StudyTable:
    """Every trial of a study and what came of it."""

    name: str
    folder: Path
    measure: str
    direction: str
    trials: list[Trial]
    notes: list[str]
    exit_status: int = 0

    def count(self, *states: str) -> int:
        return sum(trial.state in states for trial in self.trials)

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best score; of equals the first."""
        done = [trial for trial in self.trials if trial.state == DONE and trial.score is not None]
        sign = 1.0 if self.direction == "max" else -1.0
        return max(done, key=lambda trial: (sign * (trial.score or 0.0), -trial.trial), default=None)

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "folder": str(self.folder),
            "measure": self.measure,
            "trials": [dataclasses.asdict(trial) for trial in self.trials],
            "notes": self.notes,
            "exit_status": self.exit_status,
        }


class Study:
    """Many runs that answer one question, in `ROOT/NAME`.

    `target`: what `holdfast train` takes, or several of them. `options` hold for every run; `grid` maps options to
    lists of values; each combination is run with every seed. `search` and `population` are tables as in a study file.
    A study of that name that exists is gone on with, if it is the same but for more seeds or trials.
    """

    def __init__(
        self,
        name: str,
        target: str | Sequence[str] | None = None,
        seeds: Iterable[int] | None = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
        options: Mapping[str, Any] | None = None,
        search: Mapping[str, Any] | None = None,
        population: Mapping[str, Any] | None = None,
        root: str | Path = "studies",
    ) -> None:
        self.folder = StudyFolder(name, root)
        self.asked: Plan | None = None
        if target is None:
            given = {"seeds": seeds, "grid": grid, "options": options, "search": search, "population": population}
            if any(value is not None for value in given.values()):
                raise ConfigError(["a study needs a target: without one, Study(name) goes on with one that exists"])
            self.folder.plan()
            return
        table: dict[str, Any] = {"targets": [target] if isinstance(target, str) else list(target)}
        table |= {"seeds": list(seeds)} if seeds is not None else {}
        table |= {"grid": {key: list(values) for key, values in grid.items()}} if grid is not None else {}
        parts = {"options": options, "search": search, "population": population}
        table |= {key: dict(value) for key, value in parts.items() if value is not None}
        self.asked = plan_of(table, f"study {name}", name)

    @classmethod
    def of_plan(cls, plan: Plan, root: str | Path = "studies") -> Study:
        """A study as a plan describes it."""
        study = cls.__new__(cls)
        study.folder, study.asked = StudyFolder(plan.name, root), plan
        return study

    @classmethod
    def from_file(cls, path: str | Path, root: str | Path = "studies") -> Study:
        """A study as a file describes it; its name is the file's unless it says another."""
        return cls.of_plan(read_plan(Path(path)), root)

    def table(self) -> StudyTable:
        """Where it stands, from its folder alone."""
        return _table(self.folder, self.folder.plan(), self.folder.read_trials(), [])

    def compare(self, by: str | Sequence[str] = (), measure: str = "", threshold: float | None = None) -> Comparison:
        """The finished runs, grouped by their configuration or by the options in `by`."""
        return compare([self.folder.path], by, measure or self.folder.plan().goal.measure, threshold)

    def run(self, jobs: int | None = None, watch: StudyWatch | None = None, **how: Any) -> StudyTable:
        """Run what is not over yet, and return the table. `how`: on, storage, piece, strict, retry_failed.

        The table's `exit_status` is 0, 1 if a trial failed, or 130 and 143 if a signal came and all runs were saved.
        """
        return self.drive(How(jobs=jobs, **how), watch or Silent())

    def drive(self, how: How, watch: StudyWatch) -> StudyTable:
        """`run`, with everything in one value."""
        if how.jobs is not None and how.jobs < 1:
            raise ConfigError([f"--jobs {how.jobs}: must be at least 1"])
        plan = self._checked(how)  # before anything is made
        executor = make_executor(self.folder, plan, how)
        log: TrialLog | None = None
        try:
            self.folder.lock()
            self._keep(plan)
            log = self.folder.open_trials()
            log.planned = plan.size
            notes = log.notes + _brought_up_to_date(self.folder, log, plan, how.retry_failed)
            for note in notes:
                watch.note(note)
            status = _work(self.folder, plan, log, executor, watch)
            return _table(self.folder, plan, log, notes, status)
        finally:
            executor.close()
            if log is not None:
                log.close()
            self.folder.unlock()

    def _checked(self, how: How) -> Plan:
        """What is run: as asked for the first time, or as begun with what was added later."""
        from holdfast.studies.checks import beginnings, changed_presets, resolved

        if not self.folder.exists:
            assert self.asked is not None
            return _filled_in(resolved(self.asked), how)
        begun = self.folder.plan()
        plan = begun if self.asked is None else extended(begun, resolved(self.asked))
        changes = changed_presets(self.folder.began(), beginnings(plan))
        if changes:
            raise ConfigError(
                [f"study {plan.name} began with another configuration, and would mix the two: {'; '.join(changes)}"]
            )
        return plan

    def _keep(self, plan: Plan) -> None:
        from holdfast.studies.checks import beginnings

        if not self.folder.exists:
            self.folder.keep_beginning(beginnings(plan))
        elif extended(self.folder.plan(), plan) != plan:
            raise ConfigError([f"study {plan.name} was changed by another driver just now: try again"])
        if not self.folder.exists or self.folder.plan() != plan:
            self.folder.keep_plan(plan)


def _filled_in(plan: Plan, how: How) -> Plan:
    """With what depends on this machine and command, so that the study stays the same elsewhere."""
    jobs = slots_of(how)
    threads = plan.options.get("rollout.threads") or plan.threads or max(1, cores() // jobs)
    search = plan.search
    if search is not None and search.batch == 0:
        search = dataclasses.replace(search, batch=jobs)
    if search is not None and search.sampler == "grid" and search.trials == 0:
        from holdfast.studies.search import grid_size

        search = dataclasses.replace(search, trials=grid_size(search))
    return dataclasses.replace(plan, threads=threads, search=search)


def slots_of(how: How) -> int:
    return how.jobs or cores()


def _work(folder: StudyFolder, plan: Plan, log: TrialLog, executor: Executor, watch: StudyWatch) -> int:
    """Every trial of the plan; the exit status."""
    kernels = Kernels(plan)
    try:
        with Stop() as stop:
            _by_kind(folder, plan, log, Engine(executor, log, watch, stop, plan.goal.measure, kernels.known))
        kernels.remember()
    except Interrupted as interrupted:
        return interrupted.exit_status
    return 1 if any(trial.state == FAILED for trial in log.ordered) else 0


def _by_kind(folder: StudyFolder, plan: Plan, log: TrialLog, engine: Engine) -> None:
    if plan.search is not None:
        from holdfast.studies.search import search

        search(folder, plan, log, engine)
    elif plan.population is not None:
        from holdfast.studies.population import evolve

        evolve(folder, plan, log, engine)
    else:
        log.write(new_trials(plan, log))
        engine.drive([folder.piece(plan, trial) for trial in log.ordered if trial.state != FAILED])


def make_executor(folder: StudyFolder, plan: Plan, how: How) -> Executor:
    if how.on == "local":
        for name, value in (("--storage", how.storage), ("--piece", how.piece), ("--strict", how.strict)):
            if value:
                raise ConfigError([f"{name} has no effect without --on ray: remove it"])
        return Local(folder.path, slots_of(how))
    from holdfast.studies.cluster import Cluster

    return Cluster(folder, plan, how)


def new_trials(plan: Plan, log: TrialLog) -> list[Trial]:
    """Those of the plan that the log does not have, numbered on: targets, then grid points, then seeds."""
    known = {trial.key for trial in log.trials.values()}
    number = max(log.trials, default=0)
    found = []
    for target in plan.targets:
        for options in plan.combinations():
            for seed in plan.seeds:
                trial = Trial(number + 1, target, options, seed, run_name(number + 1))
                if trial.key not in known:
                    found.append(trial)
                    number += 1
    return found


def _brought_up_to_date(folder: StudyFolder, log: TrialLog, plan: Plan, retry_failed: bool) -> list[str]:
    """Trials whose driver died, or whose run folder is gone, have to go on; notes on the latter."""
    changed, notes = [], []
    for trial in log.ordered:
        gone = trial.state in (DONE, PRUNED) and not exists(folder.runs / trial.run)
        if gone:
            notes.append(f"the folder of trial {trial.trial}, {trial.run}, is gone: it is run again")
            changed.append(trial.now(LOST, score=None, reason="its folder was deleted"))
        elif trial.state == RUNNING:
            changed.append(trial.now(LOST, reason="its driver ended"))
        elif trial.state == FAILED and retry_failed:
            changed.append(trial.now(WAITING, tries=0, reason="", traceback=""))
    failed = [trial for trial in log.ordered if trial.state == FAILED]
    if failed and not retry_failed:
        notes.append(f"{len(failed)} failed earlier and stay so; --retry-failed tries them again")
    log.write(changed)
    return notes


def _table(folder: StudyFolder, plan: Plan, log: TrialLog, notes: list[str], status: int = 0) -> StudyTable:
    goal = plan.goal
    return StudyTable(plan.name, folder.path, goal.measure, goal.direction, log.ordered, notes, status)
