"""What a study is: files that read back, options read by their kind, and every mistake told before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.presets import read_toml
from holdfast.kit.errors import ConfigError, UnknownName
from holdfast.studies.checks import resolved
from holdfast.studies.options import parse_choices, parse_seeds, seeds_text, words_of
from holdfast.studies.plan import Goal, Plan, PopulationPlan, Range, SearchPlan, as_toml, extended, plan_of, read_plan
from holdfast.studies.study import Study, new_trials
from holdfast.studies.trials import TrialLog
from tests.conftest import Command

SEARCH = {"trials": 8, "space": {"learner.lr": {"low": 1e-4, "high": 1e-2, "log": True}}}
POPULATION = {"members": 4, "generation": 4, "space": {"learner.lr": {"low": 1e-4, "high": 1e-2}}}
EVALUATED = {"run.iterations": 12, "evaluation.every": 2}


@given(st.sets(st.integers(0, 60), min_size=1))
def test_seeds_are_written_as_they_are_read(seeds: set[int]) -> None:
    assert set(parse_seeds(seeds_text(seeds))) == seeds
    assert seeds_text([3, 1, 2, 7, 9, 10]) == "1-3,7,9-10"


names = st.sampled_from(["learner.lr", "run.iterations", 'a "name" of.its-own'])
values = st.one_of(
    st.integers(-9, 9), st.floats(-1e9, 1e9), st.booleans(), st.text(max_size=5), st.lists(st.integers())
)


@given(st.dictionaries(names, values), st.dictionaries(names, st.lists(values, min_size=1)))
def test_a_plan_reads_back_from_its_file(options: dict[str, Any], grid: dict[str, list[Any]]) -> None:
    import tomllib

    search = SearchPlan(9, {"learner.lr": Range(1e-4, 1e-2, True), "learner.epochs": Range(choices=(1, 2))}, batch=2)
    population = PopulationPlan(3, 5, {"learner.clip": Range(0.1, 0.3)}, Goal("min", "length"))
    for parts in ({}, {"search": search, "seeds": (1,)}, {"population": population, "seeds": (4,)}):
        plan = Plan("x", ("fish", "gym:A-v1"), options=options, grid=grid, **parts)
        assert plan_of(tomllib.loads(as_toml(plan)), "here", "other") == plan


def test_a_grid_is_typed_by_its_options_kinds() -> None:
    assert parse_choices(["learner.lr=1e-3,3e-4", "policy.hidden=64,64;128"], "--grid") == {
        "learner.lr": ["1e-3", "3e-4"],
        "policy.hidden": ["64,64", "128"],
    }
    plan = resolved(Plan("x", ("template",), grid={"learner.lr": ["1e-3"], "policy.hidden": ["64,64", "128"]}))
    assert plan.grid == {"learner.lr": [1e-3], "policy.hidden": [[64, 64], [128]]}
    assert words_of({"policy.hidden": [64, 64], "run.stop_score": "none"}) == [
        "--policy.hidden=64,64",
        "--run.stop_score=none",
    ]


def plan(**changes: Any) -> Plan:
    return plan_of({"targets": ["template"], **changes}, "study", "x")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"grid": {"learner.lrr": [1, 2]}}, "no option learner.lrr for template (did you mean learner.lr?)"),
        ({"grid": {"learner.lr": []}}, "learner.lr has no values"),
        ({"grid": {"learner.lr": ["a"]}}, "learner.lr = 'a' is not float"),
        ({"grid": {"learner.lr": [1, 1.0]}}, "has a value twice"),
        ({"grid": {"learner.lr": [-1]}}, "must be at least 0"),
        ({"grid": {"run.seed": [1, 2]}}, "run.seed is set by the study: use --seeds"),
        ({"grid": {"learner.minibatch": [100, 2048]}}, "does not divide"),
        ({"options": {"learner.lr": 1e-3}, "grid": {"learner.lr": [1e-3]}}, "keep one of the two"),
        ({"targets": ["template", "template"]}, "a target is given twice"),
        ({"targets": []}, "a study needs targets"),
        ({"tragets": ["x"]}, "no key tragets (did you mean targets?)"),
        ({"seeds": "1-"}, "written as 1-10"),
        ({"search": SEARCH, "grid": {"learner.epochs": [1, 2]}}, "do not go together"),
        ({"search": {**SEARCH, "trials": 0}}, "--trials N, 1 or more"),
        ({"search": {**SEARCH, "sampler": "magic"}}, "one of tpe, random, grid, cmaes"),
        ({"search": {**SEARCH, "sampler": "grid"}}, "learner.lr has a range: list its values"),
        ({"search": {**SEARCH, "trials": 5, "prune": "median"}}, "acts after 5 trials"),
        ({"search": {**SEARCH, "goal": "best"}}, "written as max:score"),
        ({"search": {**SEARCH, "space": {"learner.lr": {"low": 1}}}}, "needs {low, high}"),
        ({"search": {**SEARCH, "space": {"learner.lr": {"low": 1.0, "high": 0.1}}}}, "must be below high"),
        ({"search": {**SEARCH, "space": {"policy.core": {"low": 1, "high": 2}}}}, "policy.core = 1 is not one of"),
        ({"search": SEARCH, "seeds": "1-3"}, "runs each trial with one seed"),
        ({"population": {**POPULATION, "members": 1}, "options": EVALUATED}, "at least 2 members"),
        ({"population": {**POPULATION, "generation": 3}, "options": EVALUATED}, "it must divide the generation"),
        ({"population": {**POPULATION, "generation": 12}, "options": EVALUATED}, "no exchange"),
        (
            {"population": {**POPULATION, "space": {"learner.epochs": [1, 2]}}, "options": EVALUATED},
            "learner.epochs cannot change while a run goes on",
        ),
    ],
)
def test_every_mistake_is_told_before_anything_starts(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        resolved(plan(**changes))
    assert said in str(raised.value)


def test_free_options_and_rates_may_change_in_a_population() -> None:
    space = {"learner.entropy": {"low": 0.0, "high": 0.1}, "evaluation.episodes": [8, 16]}
    assert resolved(plan(population={**POPULATION, "space": space}, options=EVALUATED)).population is not None


def test_more_seeds_and_trials_extend_a_study_and_nothing_else_may_differ() -> None:
    old = plan(seeds="1-3", threads=1)
    assert extended(old, plan(seeds="2-5")).seeds == (1, 2, 3, 4, 5)
    with pytest.raises(ConfigError, match="begun otherwise: options was"):
        extended(old, plan(seeds="1-3", options={"learner.lr": 0.1}))
    with pytest.raises(ConfigError, match="targets was"):
        extended(old, plan(targets=["fish"]))
    searched = plan(search={**SEARCH, "batch": 2})
    assert extended(searched, plan(search={**SEARCH, "trials": 20})).search == SearchPlan(
        20, searched.search.space if searched.search else {}, batch=2
    )
    points = {"sampler": "grid", "space": {"learner.lr": [0.1, 0.2]}}
    begun = plan(search={**points, "trials": 2, "batch": 2})
    assert extended(begun, plan(search=points)) == begun  # the file says neither how many nor in which batches
    with pytest.raises(ConfigError, match="is fewer"):
        extended(searched, plan(search={**SEARCH, "trials": 2}))


def test_trials_keep_their_numbers_when_seeds_are_added(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "trials.jsonl")
    grid = {"learner.lr": [0.1, 0.2]}
    log.trials = {trial.trial: trial for trial in new_trials(plan(seeds="1-2", grid=grid), log)}
    assert [(trial.options["learner.lr"], trial.seed) for trial in log.ordered] == [
        (0.1, 1),
        (0.1, 2),
        (0.2, 1),
        (0.2, 2),
    ]
    more = new_trials(plan(seeds="1-3", grid=grid), log)
    assert [(trial.trial, trial.options["learner.lr"], trial.seed) for trial in more] == [(5, 0.1, 3), (6, 0.2, 3)]


def test_the_study_files_of_the_repository_are_right() -> None:
    files = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
    assert files
    for file in files:
        resolved(read_plan(file))
        assert "targets" in read_toml(file)


def test_a_study_without_a_target_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no study 'x'"):
        Study("x", root=tmp_path)
    with pytest.raises(ConfigError, match="plain folder name"):
        Study("../x", target="template", root=tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["template", "--jobs", "0"], "--jobs 0: must be at least 1"),
        (["template", "--grid", "learner.lr"], "written --grid section.key=VALUE,VALUE"),
        (["template", "--storage", "x"], "--storage has no effect without --on ray"),
        (["nothing"], "no preset 'nothing'"),
    ],
)
def test_bad_input_leaves_nothing_behind(tmp_path: Path, holdfast: Command, words: list[str], said: str) -> None:
    done = holdfast("study", *words)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "studies").exists()
