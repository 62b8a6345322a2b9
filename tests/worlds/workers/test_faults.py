"""Faults with real processes: whatever a worker does, the world goes on and nothing stays behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from holdfast.kit.errors import WorkerFailed
from holdfast.worlds.workers import markers as marker_file
from holdfast.worlds.workers.drill import draw_tickets
from tests.worlds.workers.places import DRILL, living, markers, signal_worker, world, zeros

LIMITS = {"import_s": 60.0, "build_s": 60.0, "reset_s": 60.0, "step_s": 60.0, "close_s": 60.0}
SHORT = 1.5


def drill(tmp_path: Path, place: str, fault: str, tickets: int = 1) -> dict[str, str]:
    folder = tmp_path / "tickets"
    draw_tickets(folder, tickets)
    return {"tickets": str(folder), "place": place, "fault": fault}


def killed(tmp_path: Path) -> list[str]:
    return [line["reason"] for line in markers(tmp_path) if line["marker"] == "killed"]


HANGS = dict.fromkeys(("hang", "stop", "stubborn"), "hung in step for 1.5 s")
SEEN_AT_ONCE = {
    "exit": "ended with status 3 in step",
    "kill": "was killed by SIGKILL in step",
    "raise": "RuntimeError: the drill raised this",
    "rubbish": "it sent what no worker says",
    "nan": f"NonFinite: {DRILL}: the observation is nan at index [0]",
    "nan_reward": f"NonFinite: {DRILL}: the reward is nan",
    "shape": "ValueError: the observation has shape (3,), the space says (2,)",
    "values": "WorldError: step() returned 2 values; it must return 5 values, or 4 in the old form",
}


@pytest.mark.parametrize(("reasons", "step_s"), [(HANGS, SHORT), (SEEN_AT_ONCE, 60.0)])
def test_a_worker_that_fails_in_a_step_is_replaced_and_its_episode_cut(
    tmp_path: Path, reasons: dict[str, str], step_s: float
) -> None:
    """One fault after the other in one world, which starts both lanes anew for each."""
    limits = {**LIMITS, "step_s": step_s, "respawns": 20}
    with world(tmp_path, kwargs=drill(tmp_path, "step", "", tickets=0), **limits) as made:
        for fault in reasons:
            made.reset()
            made.step(zeros(made))
            first = made.player.obs[:, 0].copy()
            draw_tickets(tmp_path / "tickets", 1, fault)
            made.step(zeros(made))
            lane = int(np.flatnonzero(made.lost)[0])
            assert made.truncated.tolist() == made.lost.tolist() and made.lost.sum() == 1
            assert not made.terminated.any()
            assert made.player.final_obs[lane, 0].tolist() == first[lane].tolist()  # the last good one
            assert (made.player.reward[lane, 0], made.player.obs[lane, 0, 0]) == (0.0, 0.0)
            table = made.finished()
            numbers = [table[name].tolist() for name in ("lane", "end_worker", "return")]
            assert numbers == [[lane], [1], [1]]
            assert (made.player.obs[1 - lane, 0, 0], made.clock.t[1 - lane]) == (2.0, 2)  # the other lane plays on
            for _ in range(10):
                made.step(zeros(made))
            assert not made.lost.any() and made.player.obs[:, 0, 0].tolist() in ([0.0, 2.0], [2.0, 0.0])
    assert killed(tmp_path) == list(reasons.values())
    assert living(tmp_path) == []


@pytest.mark.parametrize("place", ["build", "reset"])
@pytest.mark.parametrize("fault", ["hang", "exit"])
def test_a_worker_that_fails_while_it_starts_gives_the_baton_back(tmp_path: Path, place: str, fault: str) -> None:
    limit = {"build": {"build_s": SHORT}, "reset": {"reset_s": SHORT}}[place] if fault == "hang" else {}
    options = {**LIMITS, **limit, "start_parallel": 1}
    with world(tmp_path, kwargs=drill(tmp_path, place, fault), **options) as made:
        made.reset()
        made.step(zeros(made))
        assert made.player.obs[:, 0, 0].tolist() == [1.0, 1.0]
    assert len(killed(tmp_path)) == 1
    backs = [line.get("reason") for line in markers(tmp_path) if line["marker"] == "baton_back"]
    assert backs.count("taken back from a lost worker") == 1 and len(backs) == 3
    assert living(tmp_path) == []


@pytest.mark.parametrize("fault", ["hang", "exit"])
def test_a_worker_that_fails_at_import_is_started_again(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_tickets(tmp_path / "tickets", 1)
    (tmp_path / "bad_import.py").write_text(
        textwrap.dedent(f"""
        from holdfast.worlds.workers.drill import Drill, go_wrong, has_ticket
        if has_ticket({str(tmp_path / "tickets")!r}):
            go_wrong({fault!r})
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    limits = {**LIMITS, "import_s": 2.5 if fault == "hang" else 60.0}
    with world(tmp_path, "bad_import:Drill", lanes=1, **limits) as made:
        made.reset()
    assert "bad_import" not in sys.modules  # the parent imports no environment
    assert len(killed(tmp_path)) >= 1
    assert living(tmp_path) == []


def test_an_environment_that_hangs_in_close_is_ended(tmp_path: Path) -> None:
    with world(tmp_path, kwargs=drill(tmp_path, "close", "hang"), **{**LIMITS, "close_s": SHORT}) as made:
        made.reset()
    assert killed(tmp_path) == ["hung in close for 1.5 s"]
    assert [line["marker"] for line in markers(tmp_path)].count("closed") == 1
    assert living(tmp_path) == []


def test_a_reset_that_fails_after_an_episode_loses_no_finished_episode(tmp_path: Path) -> None:
    with world(tmp_path, kwargs={**drill(tmp_path, "reset", "exit", 0), "length": 2}, **LIMITS) as made:
        made.reset()
        made.step(zeros(made))
        draw_tickets(tmp_path / "tickets", 1)
        made.step(zeros(made))
        assert made.terminated.all() and not made.lost.any()
        table = made.finished()
        assert (table["return"].tolist(), table["end_worker"].tolist()) == ([2.0, 2.0], [0.0, 0.0])
        made.step(zeros(made))
        assert made.player.obs[:, 0, 0].tolist() == [1.0, 1.0]
    assert len(killed(tmp_path)) == 1


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGSTOP])
def test_signals_from_outside_are_survived(tmp_path: Path, which: signal.Signals) -> None:
    with world(tmp_path, **{**LIMITS, "step_s": 60.0 if which == signal.SIGKILL else SHORT}) as made:
        made.reset()
        made.step(zeros(made))
        signal_worker(made, 1, which)
        made.step(zeros(made))
        assert made.lost.tolist() == [False, True]
        made.step(zeros(made))
        assert made.player.obs[:, 0, 0].tolist() == [3.0, 1.0]
    assert living(tmp_path) == []


def test_a_flood_of_output_neither_blocks_nor_fills_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marker_file, "LONGEST_LOG", 100_000)
    with world(tmp_path, kwargs=drill(tmp_path, "step", "flood"), lanes=1, **LIMITS) as made:
        made.reset()
        made.step(zeros(made))
        assert made.player.obs[0, 0, 0] == 1.0 and not made.lost.any()
        made.crew._looked = 0.0
        made.crew._look([])
        assert made.crew.workers[0].log.stat().st_size < 1000


def test_a_worker_that_fails_too_often_ends_the_run_with_its_story(tmp_path: Path) -> None:
    tickets = drill(tmp_path, "step", "raise", tickets=9)
    with (
        pytest.raises(WorkerFailed, match=r"workers.respawns = 1 times") as told,
        world(tmp_path, lanes=1, kwargs=tickets, respawns=1, **LIMITS) as made,
    ):
        made.reset()
        for _ in range(3):
            made.step(zeros(made))
    assert told.value.exit_status == 1
    assert "attempt 2 killed step RuntimeError: the drill raised this" in str(told.value)
    assert living(tmp_path) == []


PARENT = """
import pathlib, sys, time
from tests.worlds.workers.places import world, zeros
folder = pathlib.Path(sys.argv[1])
kwargs = {"tickets": str(folder / "tickets"), "place": "step", "fault": "stubborn"}
with world(folder, lanes=2, kwargs=kwargs) as made:
    made.reset()
    print("ready", flush=True)
    made.step(zeros(made))
"""


def test_no_worker_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    """One of the two is hanging in a step and deaf to SIGTERM when it happens."""
    draw_tickets(tmp_path / "tickets", 1)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None and parent.stdout.readline() == "ready\n"
    while any((tmp_path / "tickets").iterdir()):
        time.sleep(0.02)
    assert len(living(tmp_path)) == 2
    parent.kill()
    parent.wait()
    give_up = time.monotonic() + 60.0
    while living(tmp_path) and time.monotonic() < give_up:
        time.sleep(0.02)
    assert living(tmp_path) == []
