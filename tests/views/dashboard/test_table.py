"""The table of runs: how each stands, kept up to date; filters, groups and what options matter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from holdfast.runs.folder import RunFolder
from holdfast.runs.snapshot import Watcher
from holdfast.views.dashboard.compare import differences, explained, groups_of, importance, lineage, ranks
from holdfast.views.dashboard.curves import Curve
from holdfast.views.dashboard.filters import FilterError, fits, read_filter
from holdfast.views.dashboard.folds import fold, iqm
from holdfast.views.dashboard.index import RunIndex
from holdfast.views.dashboard.overlay import folded
from holdfast.views.run_list import describe
from tests.conftest import finished_run
from tests.views.dashboard.made_runs import append, beat, description, go_on, make_run, sweep, utc


def looked(root: Path) -> RunIndex:
    index = RunIndex({"": root})
    index.refresh()
    return index


def gone_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


# --- how a run stands ------------------------------------------------------------------------------------------------


def test_a_real_run_reads_as_in_the_other_views(tmp_path: Path) -> None:
    run, result = finished_run(tmp_path)
    row = looked(tmp_path).entries[run.name].row
    other = describe(RunFolder(run.folder))
    watched = Watcher(run.folder).look()
    assert row["status"] == other["status"] == watched.status == "finished"
    assert (row["iteration"], row["iterations"]) == (other["iteration"], other["iterations"])
    assert row["agent_steps"] == result.counts.agent_steps and row["world"] == "template"
    assert (row["score"], row["low"], row["high"]) == result.scores["learned"][:3] and row["final"]


def test_statuses(tmp_path: Path) -> None:
    base = description()
    make_run(tmp_path / "running", live=True, facts=base)
    make_run(tmp_path / "killed", live=True, facts=base)
    beat(tmp_path / "killed", 40, live=True, pid=gone_pid())
    make_run(tmp_path / "silent", live=True, facts=base)
    far = {"host": "elsewhere", "pid": 1, "phase": "world", "every_s": 30.0}
    append(tmp_path / "silent" / "heartbeat.jsonl", {"time": utc(time.time() - 3600), **far})
    make_run(tmp_path / "stuck", live=True, facts=base)
    append(tmp_path / "stuck" / "heartbeat.jsonl", {"time": utc(time.time()), "idle_s": 9e3, **far})
    make_run(tmp_path / "interrupted", live=True, facts=base)
    append(tmp_path / "interrupted" / "events.jsonl", {"event": "interrupted", "signal": 2})
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "run.json").write_text('{"config": ')
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "run.json").write_text(json.dumps(base))
    held = RunFolder(tmp_path / "early")
    held.lock()
    (tmp_path / "idle").mkdir()
    (tmp_path / "idle" / "run.json").write_text(json.dumps(base))
    found = {name: entry.row["status"] for name, entry in looked(tmp_path).entries.items()}
    held.unlock()
    assert found == {
        "running": "running", "killed": "killed", "silent": "stalled", "stuck": "stalled", "half": "unreadable",
        "interrupted": "interrupted", "early": "starting", "idle": "never started",
    }  # fmt: skip


def test_news_names_only_what_changed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_run(tmp_path / name, live=True, planned=100)
    index = looked(tmp_path)
    before = index.version
    index.refresh()
    assert index.changed_since(before) == []
    go_on(tmp_path / "a", 41)
    index.refresh(time.time() + 1)
    assert [entry.id for entry in index.changed_since(before)] == ["a"]
    assert index.entries["a"].row["iteration"] == 41
    make_run(tmp_path / "deep" / "er" / "c")
    for _ in range(2):
        index.refresh(time.time() + 1)
    assert index.get("deep/er/c") is not None
    before = index.version
    for path in sorted((tmp_path / "deep").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / "deep").rmdir()
    index.refresh(time.time() + 2)
    assert index.get("deep/er/c") is None and index.removed_since(before) == ["deep/er/c"]


def test_a_folder_that_becomes_a_run_is_found(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    index = looked(tmp_path)
    assert not index.entries
    (tmp_path / "later" / "run.json").write_text(json.dumps(description()))
    index.refresh()
    index.refresh()
    assert list(index.entries) == ["later"]


def test_links_pipes_and_other_versions_do_no_harm(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    make_run(outside / "secret")
    root.mkdir()
    (root / "linked").symlink_to(outside / "secret")
    (root / "deep").symlink_to(outside)
    make_run(root / "piped", live=True)
    for name in ("metrics.jsonl", "events.jsonl", "heartbeat.jsonl", "timing.jsonl"):
        (root / "piped" / name).unlink()
        os.mkfifo(root / "piped" / name)
    os.mkfifo(root / "piped" / "lock")
    (root / "other").mkdir()
    odd = {"format": 99, "config": {"run": [], "world": "x", "metrics": {"stall_s": "soon"}}, "created": 5}
    (root / "other" / "run.json").write_text(json.dumps(odd))
    (root / "other" / "events.jsonl").write_text('{"event": "started"}\n{"event": 7}\n[]\n{"event": "finished"')
    (root / "other" / "result.json").write_text('{"scores": {"learned": {"mean": "high"}}}')
    begun = time.monotonic()
    index = looked(root)
    assert time.monotonic() - begun < 5
    assert set(index.entries) == {"piped", "other"}
    assert index.entries["other"].row["status"] == "killed"


def test_a_root_that_vanishes_is_noticed(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a")
    index = looked(tmp_path / "runs")
    assert index.is_there
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    index.refresh()
    assert not index.is_there and index.entries["a"].row["status"] == "finished"  # as it last was
    (tmp_path / "elsewhere").rename(tmp_path / "runs")
    index.refresh()
    assert index.is_there and index.get("a") is not None


# --- filters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("", {"lr1", "lr2", "live"}),
        ("lr", {"lr1", "lr2"}),
        ("status=running", {"live"}),
        ("learner.lr>5e-4 status=finished", {"lr2"}),
        ("-learner.lr>5e-4", {"lr1"}),
        ("seed=2", {"lr2"}),
        ("epochs>=4 -live", {"lr1", "lr2"}),
        ("score<0.8", {"lr1"}),
        ('id~"LR"', {"lr1", "lr2"}),
        ("tag=good", {"lr1"}),
        ("nothing-has-this", set()),
    ],
)
def test_filters(tmp_path: Path, text: str, fitting: set[str]) -> None:
    make_run(tmp_path / "lr1", score=0.7, **{"learner.lr": "1e-4"})
    make_run(tmp_path / "lr2", score=0.9, seed=2, **{"learner.lr": "1e-3"})
    make_run(tmp_path / "live", live=True)
    (tmp_path / "lr1" / "notes.json").write_text('{"tags": ["good"], "notes": "a note"}')
    index = looked(tmp_path)
    options = {f"{s}.{key}" for entry in index.entries.values() for s, o in entry.facts["config"].items() for key in o}
    terms = read_filter(text, options)
    assert {name for name, entry in index.entries.items() if fits(terms, entry.row, entry.facts)} == fitting


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("lerner.lr>1", "did you mean learner.lr"),
        ("learner.lr>fast", "not a number"),
        ("lr=1", "could be learner.lr, rnd.lr"),
        ("x" * 3000, "characters"),
    ],
)
def test_a_filter_that_makes_no_sense_is_explained(text: str, problem: str) -> None:
    with pytest.raises(FilterError, match=problem):
        read_filter(text, ["learner.lr", "rnd.lr", "learner.epochs"])


@given(st.text(max_size=60))
def test_no_filter_text_breaks_it(text: str) -> None:
    row = {**dict.fromkeys(("id", "preset", "world", "status"), ""), "tags": []}
    with suppress(FilterError):
        fits(read_filter(text, ["learner.lr"]), row, {})


# --- groups and statistics -------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40))
def test_iqm_is_the_trimmed_mean(values: list[float]) -> None:
    if len(values) % 4 == 0:
        assert iqm(np.array(values)) == pytest.approx(stats.trim_mean(values, 0.25), abs=1e-9)
    assert min(values) - 1e-9 <= iqm(np.array(values)) <= max(values) + 1e-9


def test_folds_do_not_depend_on_order_and_say_when_seeds_are_few() -> None:
    assert fold([1.0, 2.0, 4.0]) == fold([4.0, 1.0, 2.0])
    assert fold([1.0, 2.0, 4.0]).is_few and not fold([1.0] * 5).is_few
    wide = fold(np.random.default_rng(1).normal(0, 1, 20).tolist())
    assert wide.low < wide.iqm < wide.high


def test_groups_fold_seeds_and_nothing_else(tmp_path: Path) -> None:
    list(sweep(tmp_path, seeds=3))
    index = looked(tmp_path)
    entries = list(index.entries.values())
    groups = groups_of(entries)
    assert len(groups) == 6 and {len(group["runs"]) for group in groups} == {3}
    assert all(len({name.rpartition("-s")[0] for name in group["runs"]}) == 1 for group in groups)
    assert len(groups_of(entries, "learner.lr")) == 3
    assert {one["name"] for one in differences(entries)} == {"learner.lr", "learner.minibatch"}
    ranked = importance(entries)
    assert ranked[0]["name"] == "learner.lr" and ranked[0]["share"] > 0.8 > ranked[1]["share"] + 0.5


def test_what_an_option_explains() -> None:
    scores = np.array([1.0, 1.0, 2.0, 2.0])
    assert explained(["a", "a", "b", "b"], scores) == pytest.approx(1.0)
    assert explained(["a", "b", "a", "b"], scores) == 0.0
    np.testing.assert_array_equal(ranks(np.array([3.0, 1.0, 1.0])), stats.rankdata([3, 1, 1]) - 1)


def test_folded_curves_lie_where_all_runs_have_been() -> None:
    x = np.arange(10.0)
    curves = [Curve("a", x, x, 10), Curve("b", x[:6], x[:6] + 2, 6), Curve("c", x + 1, x + 1, 10)]
    middle, low, high = folded("key", curves)
    assert (middle.x[0], middle.x[-1]) == (1.0, 5.0)
    assert (low.y <= middle.y).all() and (middle.y <= high.y).all()
    assert folded("key", []) == []


def test_lineage_names_copies_and_first_weights(tmp_path: Path) -> None:
    parent = make_run(tmp_path / "parent", rows=12)
    told = json.loads((parent / "run.json").read_text())
    came = {"run": "parent", "id": told["id"], "iteration": 10, "changes": {"learner.lr": [0.003, 0.001]}}
    make_run(tmp_path / "copy", rows=12, facts={**told, "id": "1" * 32, "lineage": [came]})
    make_run(tmp_path / "odd", rows=12, facts={**told, "id": "2" * 32, "lineage": ["x"]})
    make_run(tmp_path / "init", rows=12, **{"run.init": str(parent)})
    found = {one["run"]: one for one in lineage(list(looked(tmp_path).entries.values()))}
    assert set(found) == {"copy", "init"} and {one["parent"] for one in found.values()} == {"parent"}
    assert found["copy"]["words"] == "at iteration 10, with learner.lr 0.001"


def test_groups_are_told_apart_by_their_options(tmp_path: Path) -> None:
    for name, rate in (("0001", "1e-3"), ("0002", "1e-3"), ("0003", "2e-3")):
        make_run(tmp_path / name, rows=12, seed=int(name), **{"learner.lr": rate, "metrics.monitor_s": f"{int(name)}"})
    groups = groups_of(list(looked(tmp_path).entries.values()))
    assert sorted((group["label"], len(group["runs"])) for group in groups) == [
        ("template lr=0.001", 2),
        ("template lr=0.002", 1),
    ]
