"""Populations: exchanges are a pure function of scores and seed, copies are exact, lineage is kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from holdfast.kit.errors import ConfigError, RunExists
from holdfast.kit.rng import numpy_generator
from holdfast.runs.reopen import config_of
from holdfast.studies.fork import fork
from holdfast.studies.plan import Goal, Plan, PopulationPlan, Range
from holdfast.studies.population import drawn, exchanges, first_members
from holdfast.studies.study import Study
from holdfast.train import resume
from holdfast.views.terminal import Quiet
from tests.conftest import finished_run
from tests.studies.small import SMALL, run_bytes, scores
from tests.test_resume import stopped_run

SPACE = {"learner.lr": Range(1e-4, 1e-2, log=True), "evaluation.episodes": Range(choices=(4, 8, 16))}


def test_the_worst_fifth_is_replaced_by_copies_of_the_best_with_options_perturbed() -> None:
    plan = PopulationPlan(10, 5, SPACE)
    options = {number: {"learner.lr": 1e-3, "evaluation.episodes": 8} for number in range(1, 11)}
    found_lr = set()
    for seed in range(200):
        found = exchanges({n: float(n) for n in options}, options, plan, numpy_generator(seed, "p1"))
        assert [exchange.loser for exchange in found] == [2, 1] and {e.winner for e in found} <= {9, 10}
        for exchange in found:
            assert 1e-4 <= exchange.options["learner.lr"] <= 1e-2
            assert exchange.options["evaluation.episodes"] in (4, 8, 16)
            found_lr.add(exchange.options["learner.lr"])
    assert {1e-3 * 0.8, 1e-3 * 1.25} <= found_lr and len(found_lr) > 50  # the rest are drawn anew
    again = [exchanges({n: float(n) for n in options}, options, plan, numpy_generator(3, "p1")) for _ in range(2)]
    assert again[0] == again[1]


def test_the_goal_turns_ranks_failed_members_and_equals_are_left_alone() -> None:
    options = {number: {"learner.lr": 1e-3} for number in range(1, 6)}
    plan = PopulationPlan(5, 5, {"learner.lr": SPACE["learner.lr"]}, Goal("min", "length"))
    (one,) = exchanges({1: 5.0, 2: None, 3: 4.0, 4: 1.0, 5: 2.0}, options, plan, numpy_generator(1, "p1"))
    assert (one.loser, one.winner) == (1, 4)
    assert exchanges(dict.fromkeys(options, 1.0), options, plan, numpy_generator(1, "p1")) == []


def test_members_begin_within_the_space_and_differ() -> None:
    plan = Plan("x", ("template",), seeds=(5,), population=PopulationPlan(8, 5, SPACE))
    assert plan.population is not None
    members = first_members(plan, plan.population)
    rates = [member.options["learner.lr"] for member in members.values()]
    assert len(set(rates)) == 8 and all(1e-4 <= rate <= 1e-2 for rate in rates)
    assert [member.seed for member in members.values()] == list(range(5, 13))
    assert {drawn(Range(2, 5), numpy_generator(seed, "x")) for seed in range(50)} == {2, 3, 4, 5}


def test_a_fork_without_changes_ends_with_the_same_bytes_and_with_another_rate_it_does_not(tmp_path: Path) -> None:
    whole, _ = finished_run(tmp_path, **{"run.iterations": "5"})
    run, config = stopped_run(tmp_path, "template", 3, **{"run.iterations": "5"})
    same = fork(run.folder, tmp_path / "same", {})
    other = fork(run.folder, tmp_path / "other", {"learner.lr": 0.01, "checkpoint.keep": 2})
    with pytest.raises(RunExists, match="run same exists"):
        fork(run.folder, tmp_path / "same", {})
    with pytest.raises(ConfigError, match=r"learner\.epochs cannot change in a fork"):
        fork(run.folder, tmp_path / "third", {"learner.epochs": 2})
    for one in (same, other, run):
        resume(config_of(one), one, Quiet())
    assert run_bytes(same.folder) == run_bytes(whole.folder) == run_bytes(run.folder)
    assert run_bytes(other.folder) != run_bytes(whole.folder)
    assert config_of(other).learner.lr == 0.01 and config_of(other).run.name == "other"
    (origin,) = other.describe()["lineage"]
    assert origin["run"] == run.name and origin["iteration"] == 3 and origin["id"] == run.describe()["id"]
    assert origin["changes"] == {"learner.lr": [0.003, 0.01], "checkpoint.keep": [3, 2]}
    assert config.learner.lr == config_of(run).learner.lr  # the parent stays as it was


def test_the_same_population_has_the_same_bytes_also_when_it_is_gone_on_with(tmp_path: Path) -> None:
    population = {"members": 2, "generation": 2, "space": {"learner.lr": {"low": 1e-5, "high": 1e-1, "log": True}}}
    tables = []
    for name in ("one", "two"):
        study = Study("p", target="template", population=population, options=SMALL, root=tmp_path / name)
        if name == "two":  # the driver died right after the exchange, before the second generation
            shutil.copytree(tmp_path / "one/p", tmp_path / "two/p")
            for run in (tmp_path / "two/p/runs").iterdir():
                if "g01" in run.name or not list((tmp_path / "two/p/runs").glob(f"{run.name[:3]}-g01")):
                    shutil.rmtree(run)
        tables.append(study.run(jobs=2))
    assert scores(tables[0].trials) == scores(tables[1].trials)
    for trial in tables[0].trials:
        assert run_bytes(tmp_path / "one/p/runs" / trial.run) == run_bytes(tmp_path / "two/p/runs" / trial.run)
    copies = [trial for trial in tables[0].trials if trial.generation]
    assert len(copies) == 1
    lineage = json.loads((tmp_path / "one/p/runs" / copies[0].run / "run.json").read_text())["lineage"]
    assert lineage[0]["iteration"] == 2 and "learner.lr" in lineage[0]["changes"]
