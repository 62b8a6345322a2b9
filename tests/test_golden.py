"""Golden bytes: the same tree twice is equal, a changed byte is found and told, the map of names explains renames."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TOOL = str(ROOT / "benchmarks" / "golden.py")
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two records of this tree, made at the same time."""
    places = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    running = [
        subprocess.Popen([sys.executable, TOOL, "record", str(ROOT), str(place), "--only", "template"])
        for place in places
    ]
    assert [process.wait(timeout=240) for process in running] == [0, 0]
    return places


@pytest.fixture
def changed(records: tuple[Path, Path], tmp_path: Path) -> Callable[[Change], Path]:
    """A copy of a record, with a change."""

    def make(change: Change) -> Path:
        shutil.copytree(records[0], tmp_path / "changed")
        path = tmp_path / "changed" / "template.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
        return path.parent

    return make


def compared(one: Path, other: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, TOOL, "compare", str(one), str(other), *words], capture_output=True)
    return done.returncode, (done.stdout + done.stderr).decode()


def test_the_same_tree_twice_is_equal(records: tuple[Path, Path]) -> None:
    record = json.loads((records[0] / "template.json").read_text())
    assert len(record["metrics"]) == 24 and len(record["arrays"]) > 20 and "final" in record["evals"]
    assert [event["event"] for event in record["events"]][-1] == "finished"
    status, said = compared(*records)
    assert status == 0 and said.endswith("equal\n") and "differ" not in said


def break_a_byte(record: dict[str, Any]) -> None:
    record["arrays"]["world/episode_key"]["sha256"] = 64 * "0"


def break_a_metric(record: dict[str, Any]) -> None:
    record["metrics"][6]["episodes"] += 1


def break_an_event(record: dict[str, Any]) -> None:
    del record["events"][1]


def break_an_evaluation(record: dict[str, Any]) -> None:
    record["evals"]["final"]["policies"]["learned"]["summary"]["mean"] *= 1.0 + 1e-15


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (break_a_byte, "template, arrays: world/episode_key: U64[256]"),
        (break_a_metric, "template, metrics: row 7: episodes: "),
        (break_an_event, "template, events: event 2: "),
        (break_an_evaluation, "template, evals: final.policies.learned.summary.mean: "),
    ],
)
def test_a_difference_is_found_and_told(
    records: tuple[Path, Path], changed: Callable[[Change], Path], change: Change, said: str
) -> None:
    status, told = compared(records[1], changed(change))
    assert status == 1 and said in told and told.endswith("NOT equal\n")


MAP = """
[metrics]
"learner.*.entropy" = "update.*.entropy_bonus"
[events]
"started" = "begun"
[fields]
"evaluation.score.*" = "evaluation.result.*"
[arrays]
'^world/' = "state/lanes/"
[texts]
"finished" = "done"
[dropped]
metrics = ["*.kl"]
[added]
metrics = ["update.norm"]
"""


def rename(record: dict[str, Any]) -> None:
    for row in record["metrics"]:
        row["update.player.entropy_bonus"] = row.pop("learner.player.entropy")
        row["update.norm"] = 1.0
    for event in record["events"]:
        if event["event"] == "started":
            event["event"] = "begun"
        if event["event"] == "evaluation":
            event["result"] = event.pop("score")
    record["arrays"] = {
        name.replace("world/", "state/lanes/", 1) if name.startswith("world/") else name: array
        for name, array in record["arrays"].items()
    }
    record["facts"]["result"]["outcome"] = "done"


def test_the_map_explains_what_was_renamed(
    records: tuple[Path, Path], changed: Callable[[Change], Path], tmp_path: Path
) -> None:
    names = tmp_path / "names.toml"
    names.write_text(MAP)
    other = changed(rename)
    status, told = compared(records[0], other, "--names", str(names))
    assert status == 0, told
    assert "renamed" not in told  # every array was found by its name
    status, told = compared(records[0], other)
    assert status == 1 and "arrays renamed, same bytes" in told
    assert "learner.player.entropy = " in told and "is gone" in told and "'started' -> 'begun'" in told
    names.write_text(f"{MAP}\n[metric]\n")
    assert compared(records[0], other, "--names", str(names))[0] == 2  # a table that would explain nothing


def test_a_map_that_was_not_needed_does_no_harm(records: tuple[Path, Path], tmp_path: Path) -> None:
    """Both sides may be older than what it tells of."""
    names = tmp_path / "names.toml"
    names.write_text(MAP)
    status, told = compared(*records, "--names", str(names))
    assert status == 0, told


def test_a_kind_that_was_changed_is_named(records: tuple[Path, Path], changed: Callable[[Change], Path]) -> None:
    status, told = compared(records[0], changed(lambda record: record["asked"]["options"].update({"run.seed": "2"})))
    assert status == 1 and "template, metrics: these are runs with other options" in told


def test_a_value_that_moved_is_the_same_and_one_that_changed_is_not(
    records: tuple[Path, Path], changed: Callable[[Change], Path]
) -> None:
    def move(record: dict[str, Any]) -> None:
        record["facts"]["progress"] = record["facts"]["state"].pop("counts")

    other = changed(move)
    status, told = compared(records[0], other)
    assert status == 0 and "values moved, the same" in told
    path = other / "template.json"
    content = json.loads(path.read_text())
    content["facts"]["progress"]["episodes"] += 1
    path.write_text(json.dumps(content))
    status, told = compared(records[0], other)
    assert status == 1 and "facts: state.counts.episodes = " in told


def test_a_wrong_kind_or_folder_is_refused(tmp_path: Path) -> None:
    for words in (
        ["record", ".", str(tmp_path / "out"), "--only", "templat"],
        ["record", str(tmp_path), str(tmp_path)],
    ):
        done = subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.startswith("golden: ")


def test_an_installed_package_never_stands_in_for_a_tree(tmp_path: Path) -> None:
    (tmp_path / "src" / "holdfast").mkdir(parents=True)
    words = [sys.executable, TOOL, "record", str(tmp_path), str(tmp_path / "out"), "--only", "template"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1 and "template: exit status 4" in done.stderr and "imported from" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_stopped_tool_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither files nor a run that goes on."""
    words = [sys.executable, TOOL, "record", str(ROOT), str(tmp_path / "out"), "--only", "template"]
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(words, env={**os.environ, "TMPDIR": str(tmp_path / "temporary")})
    found = deadline(lambda: list(tmp_path.glob("temporary/*/work/runs/template/metrics.jsonl")), 120)
    assert found, "the run did not begin"
    process.terminate()
    assert process.wait(timeout=60) == 143
    assert list((tmp_path / "temporary").iterdir()) == [] and list((tmp_path / "out").iterdir()) == []


def deadline(look: Callable[[], list[Path]], seconds: float) -> list[Path]:
    """What a look finds, as soon as it finds something."""
    until = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.005)
    return found
