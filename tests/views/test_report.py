"""Reports of real run folders: whole, running, interrupted, torn and hostile ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from holdfast.kit.errors import RunFolderError
from holdfast.runs.folder import create_run
from holdfast.runs.watch import Progress
from holdfast.train import train
from holdfast.views.report import page, write_report
from holdfast.views.terminal import Quiet
from holdfast.views.video import write_video
from tests.conftest import finished_run, small_config

VOID = ("meta", "img", "br", "link", "input", "hr")


class Page(HTMLParser):
    """A report as a browser sees it; tags that do not close where they must are an error."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.source = path.read_text()
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data

    def charts(self) -> list[str]:
        return [facts["aria-label"].partition(":")[0] for _, facts in self.tags if facts.get("role") == "img"]

    def references(self) -> list[str]:
        return [value for _, facts in self.tags for name, value in facts.items() if name in ("src", "href", "poster")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one finished run; tests that change it copy it first."""
    return finished_run(tmp_path_factory.mktemp("runs"), "template", **{"world.slip": "0.25"})[0].folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "first"))


def reported(folder: Path) -> Page:
    return Page(write_report(folder))


# --- a whole run -----------------------------------------------------------------------------------------------------


def test_finished_run_is_told_with_its_scores(folder: Path) -> None:
    found = reported(folder)
    final = json.loads((folder / "evals" / "final.json").read_text())["policies"]
    assert set(final) == {"learned", "random", "optimal"}
    for policy in final.values():
        assert f"{policy['summary']['mean']:.4g}".replace("-", "−") in found.text
    assert "8 held-out episodes" in found.text
    assert "the best yardstick, optimal" in found.text
    assert "first finished" in found.text
    assert "Not there" not in found.text


def test_every_curve_of_the_run_is_drawn(folder: Path) -> None:
    charts = reported(folder).charts()
    assert charts[0] == "evaluation score"
    wanted = {"length", "return", "arrived", "policy_loss", "value_loss", "entropy", "approx_kl"}
    wanted |= {"explained_variance", "lr", "agent_steps_per_s", "memory_mb"}
    assert wanted <= set(charts)


def test_options_that_differ_are_told_with_their_defaults(folder: Path) -> None:
    found = reported(folder).text
    assert re.search(r"world\.slip\s*0\.25\s*0\.0\s*(?i:probability)", found)
    assert re.search(r"rollout\.lanes\s*16\s*64\s*(?i:number of|episodes)", found)
    assert found.count("learner.gamma") == 1  # unchanged: only among all options


def test_options_are_compared_with_the_run_before_it(folder: Path) -> None:
    assert "run before it" not in reported(folder).text
    later = Path(shutil.copytree(folder, folder.with_name("second")))
    description = json.loads((later / "run.json").read_text())
    description["created"] = "2999-01-01T00:00:00"
    (later / "run.json").write_text(json.dumps(description))
    assert "The same options as in first, the run before it." in reported(later).text
    description["config"]["world"]["slip"] = 0.125
    (later / "run.json").write_text(json.dumps(description))
    found = reported(later).text
    assert re.search(r"1 options? differ from first.*world\.slip\s*0\.125\s*0\.25", found, re.DOTALL)
    assert "in second" not in (older := reported(folder).text) and "from second" not in older  # knows no newer run


def test_page_refers_to_nothing_outside(folder: Path) -> None:
    write_video(folder / "media" / "play.mp4", [np.zeros((16, 16, 3), np.uint8)] * 2)
    write_video(folder / "media" / "play.gif", [np.zeros((16, 16, 3), np.uint8)] * 2)
    found = reported(folder)
    assert len(found.references()) == 2
    assert all(re.match(r"data:(video/mp4|image/gif);base64,", each) for each in found.references())
    assert not re.search(r"https?://|@import|url\(", found.source)
    assert "link" not in [tag for tag, _ in found.tags]


def test_large_videos_are_linked_beside_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "LARGEST_EMBEDDED", 10)
    write_video(folder / "media" / "a #1.gif", [np.zeros((16, 16, 3), np.uint8)] * 2)
    (folder / "media" / ".123-half.mp4").write_bytes(b"half")
    assert reported(folder).references() == ["media/a%20%231.gif"]


def test_report_is_replaced_in_one_move(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = write_report(folder).read_bytes()
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(RunFolderError, match=r"cannot write .*report\.html: No space left"):
        write_report(folder)
    assert (folder / "report.html").read_bytes() == before
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_one_line_per_role(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path, "tests.two_roles:Pennies")
    found = reported(run.folder)
    data = [json.loads(facts["data-chart"]) for _, facts in found.tags if "data-chart" in facts]
    entropy = data[found.charts().index("entropy")]
    assert [line["name"] for line in entropy["lines"]] == ["seeker", "hider"]
    assert [len(line["y"]) for line in entropy["lines"]] == [4, 4]


# --- runs that are not whole -----------------------------------------------------------------------------------------


class StopsAt(Quiet):
    """Presses Ctrl-C in the given iteration."""

    def __init__(self, iteration: int) -> None:
        self.at = iteration

    def iteration(self, progress: Progress) -> None:
        if progress.counts.iteration == self.at:
            os.kill(os.getpid(), signal.SIGINT)


def test_run_interrupted_before_its_first_evaluation(tmp_path: Path) -> None:
    config = small_config("template", **{"run.root": str(tmp_path), "run.name": "cut", "evaluation.every": "3"})
    run = create_run(config, "template", ["test"])
    train(config, run, StopsAt(1))
    run.unlock()
    found = reported(run.folder)
    assert "cut interrupted" in found.text
    assert "the policy was not evaluated yet" in found.text
    assert "SIGINT" in found.text
    assert f"holdfast resume {run.folder}" in found.text
    assert "policy_loss" in found.charts()
    assert "evaluation score" not in found.charts()


def test_running_run_is_told_as_it_stands(tmp_path: Path) -> None:
    """A report written by the loop's own watcher, between two iterations."""
    pages: list[Page] = []

    class Reports(Quiet):
        def iteration(self, progress: Progress) -> None:
            pages.append(reported(run.folder))

    config = small_config("template", **{"run.root": str(tmp_path), "run.name": "now"})
    run = create_run(config, "template", ["test"])
    pages.append(reported(run.folder))
    train(config, run, Reports())
    run.unlock()
    assert all("now running" in each.text for each in pages)
    assert "no iteration is complete yet" in pages[0].text
    assert "the policy was not evaluated yet" in pages[1].text
    assert "8 episodes used during the run (not held out)" in pages[2].text
    assert "no evaluation on held-out episodes" in pages[4].text
    assert "iteration 4 of 4" in pages[4].text


def test_torn_last_lines_are_left_out(folder: Path) -> None:
    for name in ("metrics.jsonl", "timing.jsonl", "events.jsonl"):
        with (folder / name).open("a") as file:
            file.write('{"iteration": 5, "agent_ste')
    assert "iteration 4 of 4" in reported(folder).text


def test_run_with_nothing_but_its_description(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != "run.json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = reported(folder)
    assert found.charts() == []
    assert "never started" in found.text
    assert "Not judged yet" in found.text


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff\xfe", b'{"iteration": 4, "policies": {"learned": {"summary": 3}}}']
)
def test_unreadable_parts_are_named_not_fatal(folder: Path, content: bytes) -> None:
    for place in ("result.json", "evals/final.json", "evals/yardsticks.json"):
        (folder / place).write_bytes(content)
    odd = b'{"iteration": "x"}\n{"iteration": 9, "episode.length": NaN, "evaluation.score": true}\n'
    for place in ("metrics.jsonl", "timing.jsonl", "events.jsonl"):
        with (folder / place).open("ab") as file:
            file.write(odd + content)
    assert "no evaluation on held-out episodes" in reported(folder).text


def test_older_final_evaluation_is_told_as_such(folder: Path) -> None:
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 5, "agent_steps": 640, "episodes": 30}\n')
    assert "of iteration 4, the run is at 5" in reported(folder).text


def test_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"run\.json"):
        write_report(tmp_path)


# --- hostile content -------------------------------------------------------------------------------------------------

HOSTILE = "</script></style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def hostile(folder: Path) -> Path:
    """The run under a name, with settings, columns and events that try to become markup."""
    description = json.loads((folder / "run.json").read_text())
    description["config"]["world"] = {"name": HOSTILE, HOSTILE: HOSTILE, "half": "\ud800"}
    description |= dict.fromkeys(("preset", "git", "created", "holdfast"), HOSTILE)
    description |= {"command": [HOSTILE], "versions": {HOSTILE: HOSTILE}, "changes": [HOSTILE]}
    (folder / "run.json").write_text(json.dumps(description))
    row = {"iteration": 5, f"episode.{HOSTILE}": 1, f"learner.{HOSTILE}.{HOSTILE}": 2, f"evaluation.{HOSTILE}": 3}
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({**row, "evaluation.score": 1}) + "\n")
    with (folder / "events.jsonl").open("a") as file:
        file.write(json.dumps({"event": HOSTILE, "time": HOSTILE, "iteration": HOSTILE, HOSTILE: [HOSTILE]}) + "\n")
    final = json.loads((folder / "evals" / "final.json").read_text())
    final["policies"][HOSTILE] = final["policies"]["random"]
    (folder / "evals" / "final.json").write_text(json.dumps({**final, "score": HOSTILE}))
    return folder.rename(folder.with_name("<script>alert('name')<&script>"))


def test_names_and_settings_never_become_markup(folder: Path) -> None:
    found = reported(hostile(folder))
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert [tag for tag, _ in found.tags].count("img") == 0
    assert found.source.count("<script>") == found.source.count("</script>") == 1
    assert not [name for _, facts in found.tags for name in facts if name.startswith("on")]
    assert HOSTILE in found.text
    policy = next(facts["content"] for _, facts in found.tags if facts.get("http-equiv") == "Content-Security-Policy")
    assert "script-src 'sha256-" in policy and "default-src 'none'" in policy
