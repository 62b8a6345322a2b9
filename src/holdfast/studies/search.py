"""A search by Optuna (ask and tell), in batches: all trials of a batch are asked for before any is told.

`trials.jsonl` and the runs are what counts; Optuna's journal is written anew from them whenever a driver begins, so
that a search that was interrupted goes on as if it had not been. Each ask has a sampler seeded by the study's seed and
the trial's number, and trials are told in the order of their numbers: the same study with the same jobs is the same
search.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

from holdfast.kit.errors import ConfigError, MissingPackage
from holdfast.kit.rng import numpy_generator
from holdfast.studies.engine import Engine
from holdfast.studies.folder import StudyFolder
from holdfast.studies.piece import PRUNED_FILE, Bounds, curve_of, medians_of, read_table
from holdfast.studies.plan import Plan, Range, SearchPlan
from holdfast.studies.trials import DONE, FAILED, PRUNED, Trial, TrialLog, run_name

JOURNAL = "optuna.journal"


def search(folder: StudyFolder, plan: Plan, log: TrialLog, engine: Engine) -> None:
    """Batch after batch, from wherever an earlier driver left off."""
    found = plan.search
    assert found is not None
    optuna = OptunaStudy(folder, plan, found)
    for batch in range(math.ceil(found.trials / found.batch)):
        numbers = range(batch * found.batch + 1, min((batch + 1) * found.batch, found.trials) + 1)
        asked = [optuna.ask(number, log) for number in numbers]
        log.write([trial for trial in asked if trial.trial not in log.trials])
        bounds = _bounds(folder, found, log, numbers.start)
        pieces = [
            folder.piece(plan, log.trials[number], bounds=bounds)
            for number in numbers
            if log.trials[number].state != FAILED
        ]
        engine.drive(pieces)
        for number in numbers:
            optuna.tell(log.trials[number])


def _bounds(folder: StudyFolder, found: SearchPlan, log: TrialLog, first: int) -> Bounds | None:
    """From the completed trials of earlier batches alone: nothing depends on which of a batch is faster."""
    if found.prune == "none":
        return None
    earlier = [trial for trial in log.ordered if trial.trial < first and trial.state == DONE]
    medians = medians_of([curve_of(folder.runs / trial.run, found.goal.measure) for trial in earlier])
    return Bounds(found.goal.direction, found.goal.measure, medians) if medians else None


def grid_size(found: SearchPlan) -> int:
    return math.prod(len(span.choices) for span in found.space.values())


def import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingPackage("a search needs Optuna: pip install 'holdfast[studies]'") from error
    return optuna


class OptunaStudy:
    """Optuna's study of ours, with our numbers."""

    def __init__(self, folder: StudyFolder, plan: Plan, found: SearchPlan) -> None:
        self.optuna, self.folder, self.plan, self.found = import_optuna(), folder, plan, found
        self.optuna.logging.set_verbosity(self.optuna.logging.WARNING)
        self.points = list(_points(found)) if found.sampler == "grid" else []
        if found.sampler == "grid" and found.trials > len(self.points):
            raise ConfigError([f"--trials {found.trials}: the grid has {len(self.points)} points"])
        self.distributions = {name: self._distribution(span) for name, span in found.space.items()}
        self.trials: dict[int, Any] = {}
        self.study = self.optuna.create_study(
            study_name=plan.name,
            direction="maximize" if found.goal.direction == "max" else "minimize",
            storage=self._journal(),
            sampler=self._sampler(1),
        )

    def _journal(self) -> Any:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        path = self.folder.path / JOURNAL
        path.unlink(missing_ok=True)
        return JournalStorage(JournalFileBackend(str(path)))

    def _distribution(self, span: Range) -> Any:
        kinds = self.optuna.distributions
        if span.choices:
            values = tuple(tuple(value) if isinstance(value, list) else value for value in span.choices)
            return kinds.CategoricalDistribution(values)
        kind = kinds.IntDistribution if isinstance(span.low, int) else kinds.FloatDistribution
        return kind(span.low, span.high, log=span.log)

    def _sampler(self, number: int) -> Any:
        seed = int(numpy_generator(self.plan.seed, f"s{number}").integers(2**31))
        samplers = self.optuna.samplers
        if self.found.sampler == "cmaes":
            try:
                import cmaes  # noqa: F401
            except ImportError as error:
                raise MissingPackage("--search cmaes needs the package cmaes: pip install cmaes") from error
            return samplers.CmaEsSampler(seed=seed)
        return samplers.TPESampler(seed=seed) if self.found.sampler == "tpe" else samplers.RandomSampler(seed=seed)

    def ask(self, number: int, log: TrialLog) -> Trial:
        """The trial of this number; the options of one that is known are asked for again, and must be the same."""
        if number in log.trials and self.found.sampler != "cmaes":
            known = log.trials[number]
            self.trials[number] = self._known(known)
            return known
        if self.points:
            self.study.enqueue_trial(self.points[number - 1])
        self.study.sampler = self._sampler(number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that lists are no categories is about storages that we do not use
            asked = self.study.ask(self.distributions)
        self.trials[number] = asked.number
        options = {name: self._plain(name, value) for name, value in asked.params.items()}
        if number in log.trials and log.trials[number].options != options:
            raise ConfigError(
                [f"trial {number} was {log.trials[number].options} and would now be {options}: another cmaes?"]
            )
        return log.trials.get(number) or Trial(
            number, self.plan.targets[0], options, self.plan.seeds[0], run_name(number)
        )

    def _plain(self, name: str, value: Any) -> Any:
        span = self.found.space[name]
        if not span.choices:
            return value
        return next(
            choice for choice in span.choices if (tuple(choice) if isinstance(choice, list) else choice) == value
        )

    def _known(self, trial: Trial) -> int:
        """A trial that was asked for by an earlier driver, still to be told."""
        params = {name: tuple(v) if isinstance(v, list) else v for name, v in trial.options.items()}
        running = self.optuna.trial.TrialState.RUNNING
        self.study.add_trial(
            self.optuna.trial.create_trial(state=running, params=params, distributions=self.distributions)
        )
        return int(self.study.get_trials(deepcopy=False)[-1].number)

    def tell(self, trial: Trial) -> None:
        """What came of it: its evaluations, then its end."""
        states = self.optuna.trial.TrialState
        number = self.trials[trial.trial]
        if trial.state == FAILED:
            self.study.tell(number, state=states.FAIL)
            return
        run = self.folder.runs / trial.run
        asked = self.optuna.trial.Trial(self.study, self.study.get_trials(deepcopy=False)[number]._trial_id)
        last = read_table(run / PRUNED_FILE).get("iteration")
        for iteration, value in curve_of(run, self.found.goal.measure).items():
            if last is None or iteration <= last:
                asked.report(value, iteration)
        if trial.state == PRUNED:
            self.study.tell(number, state=states.PRUNED)
        elif trial.state == DONE:
            self.study.tell(number, trial.score)


def _points(found: SearchPlan) -> list[dict[str, Any]]:
    names = list(found.space)
    return [
        dict(zip(names, point, strict=True)) for point in itertools.product(*(found.space[n].choices for n in names))
    ]
