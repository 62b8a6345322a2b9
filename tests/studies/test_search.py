"""Searches: the same with the same jobs however often interrupted, pruned as Optuna would, told in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.studies.engine import Engine, Silent, Stop
from holdfast.studies.executor import Ended
from holdfast.studies.folder import StudyFolder
from holdfast.studies.piece import Bounds, Piece, medians_of, standing
from holdfast.studies.plan import Plan, Range, SearchPlan
from holdfast.studies.search import JOURNAL, search
from holdfast.studies.study import Study
from holdfast.studies.trials import DONE, PRUNED, TrialLog
from tests.studies.recorded import write_run
from tests.studies.small import SMALL, scores

optuna = pytest.importorskip("optuna")
SPACE = {
    "learner.lr": Range(1e-4, 1e-1, log=True),
    "learner.epochs": Range(1, 8),
    "policy.activation": Range(choices=("tanh", "relu")),
}


class Pretend:
    """An executor whose runs are over at once, with a score known from their options."""

    slots, compiles_here = 3, True

    def __init__(self, dies_after: int = 10**9) -> None:
        self.begun: list[Piece] = []
        self.count, self.dies_after = 0, dies_after

    def start(self, piece: Piece) -> str:
        self.count += 1
        if self.count > self.dies_after:
            raise KeyboardInterrupt  # the driver dies
        lr, epochs = piece.options["learner.lr"], piece.options["learner.epochs"]
        end = -abs(lr - 0.01) - 0.01 * abs(epochs - 4)
        curve = (end - 0.2, end - 0.1, end)
        write_run(piece.folder, piece.seed, end, curve, learner__lr=lr)
        ended = piece.bounds.verdict(dict(zip((10, 20, 30), curve, strict=True))) if piece.bounds else None
        if ended:
            (piece.folder / "pruned.json").write_text(json.dumps(ended))
        self.begun.append(piece)
        return ""

    def ended(self) -> list[Ended]:
        begun, self.begun = self.begun, []
        return [Ended(piece.trial, 0, 1.0) for piece in reversed(begun)]  # not in their order

    def interrupt(self, number: int) -> None: ...
    def cpu_shares(self) -> dict[int, float]:
        return {}

    def close(self) -> None: ...


def searched(root: Path, *deaths: int, **changes: Any) -> TrialLog:
    """The search, its driver dying after so many starts, and then gone on with."""
    plan = Plan("s", ("template",), seeds=(1,), search=SearchPlan(16, SPACE, batch=3, **changes))
    folder = StudyFolder("s", root)
    folder.path.mkdir(parents=True, exist_ok=True)
    for dies_after in (*deaths, 10**9):
        log = folder.open_trials()
        try:
            search(folder, plan, log, Engine(Pretend(dies_after), log, Silent(), Stop(), "score", True))
        except KeyboardInterrupt:
            for trial in log.ordered:
                if trial.state == "running":
                    log.write([trial.now("lost")])
        log.close()
    return log


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_an_interrupted_search_is_the_same_search(tmp_path: Path, sampler: str) -> None:
    whole = searched(tmp_path / "a", sampler=sampler, prune="median")
    broken = searched(tmp_path / "b", 2, 4, 1, sampler=sampler, prune="median")
    assert scores(whole.ordered) == scores(broken.ordered) and len(whole.trials) == 16
    assert {trial.state for trial in whole.ordered} == {DONE, PRUNED}
    best = max(trial.score for trial in whole.ordered if trial.score is not None)
    assert best > -0.05


def test_optunas_journal_holds_the_same_trials_told_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    log = searched(tmp_path, prune="median")
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "s" / JOURNAL)))
    trials = optuna.load_study(study_name="s", storage=storage).trials
    for ours, theirs in zip(log.ordered, trials, strict=True):
        assert ours.options == theirs.params
        assert theirs.state.name == ("PRUNED" if ours.state == PRUNED else "COMPLETE")
        if ours.state == DONE:
            assert theirs.value == ours.score and list(theirs.intermediate_values) == [10, 20, 30]
    ends = [trial.datetime_complete for trial in trials]
    assert ends == sorted(ends)


def test_a_grid_search_tries_every_point_once(tmp_path: Path) -> None:
    space = {"learner.lr": Range(choices=(0.1, 0.2)), "learner.epochs": Range(choices=(1, 2, 3))}
    plan = Plan("s", ("template",), seeds=(1,), search=SearchPlan(6, space, sampler="grid", batch=4))
    folder = StudyFolder("s", tmp_path)
    folder.path.mkdir()
    log = folder.open_trials()
    search(folder, plan, log, Engine(Pretend(), log, Silent(), Stop(), "score", True))
    points = [tuple(trial.options.values()) for trial in log.ordered]
    assert points == [(lr, epochs) for lr in (0.1, 0.2) for epochs in (1, 2, 3)]


@pytest.mark.parametrize("direction", ["max", "min"])
def test_the_rule_that_prunes_is_optunas_median_pruner(direction: str) -> None:
    """On random curves: our verdicts from earlier trials' medians, and Optuna's `should_prune` on the same trials."""
    import numpy as np

    chance = np.random.default_rng(2)
    study = optuna.create_study(
        direction="maximize" if direction == "max" else "minimize", pruner=optuna.pruners.MedianPruner()
    )
    curves: list[dict[int, float]] = []
    pruned = 0
    for _ in range(40):
        curve = {at: round(float(chance.normal()), 2) for at in (10, 20, 30) if chance.random() < 0.9}
        trial, said = study.ask(), None
        for at, value in curve.items():
            trial.report(value, at)
            if said is None and trial.should_prune():
                said = at
        ours = Bounds(direction, "score", medians_of(curves)).verdict(curve)
        assert (ours["iteration"] if ours else None) == said
        pruned += said is not None
        study.tell(trial, state=optuna.trial.TrialState.PRUNED) if said else study.tell(trial, 0.0)
        if said is None:
            curves.append(curve)
    assert 5 < pruned < 35


def test_a_real_run_is_pruned_at_its_evaluation_and_says_at_what(tmp_path: Path) -> None:
    import subprocess

    piece = Piece(1, "template", SMALL, 1, str(tmp_path), "0001", 1, bounds=Bounds("max", "length", {"2": 1e9}))
    assert subprocess.run(piece.command(), capture_output=True).returncode == 11
    assert standing(piece).state == PRUNED and "at iteration 2: best length" in standing(piece).reason
    assert (piece.folder / "checkpoints/latest").read_text().strip() == "000002"
    (piece.folder / "pruned.json").unlink()  # it died before it could say so: it says it again, and learns no further
    assert subprocess.run(piece.command(), capture_output=True).returncode == 11
    assert (piece.folder / "checkpoints/latest").read_text().strip() == "000002"


def test_without_optuna_a_search_is_refused_with_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from holdfast.kit.errors import MissingPackage

    monkeypatch.setitem(sys.modules, "optuna", None)
    found = {"trials": 2, "space": {"learner.lr": [0.1, 0.2]}}
    with pytest.raises(MissingPackage, match=r"pip install 'holdfast\[studies\]'"):
        Study("s", target="template", search=found, options=SMALL, root=tmp_path).run(jobs=1)
